"""Mazes: text and files there and back; paths against every simple path; generated mazes."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import UInt8

from serrm.puzzles import maze as module
from serrm.puzzles.maze import (
    CHARACTERS,
    GOAL,
    PATH,
    SPACE,
    START,
    WALL,
    num_steps,
    parse_maze,
    shortest_path,
)
from tests.references import generate_mazes

Maze = UInt8[np.ndarray, " I"]
Way = tuple[int, ...]


@given(st.integers(1, 7).flatmap(lambda side: st.text(CHARACTERS, min_size=side**2, max_size=side**2)))
def test_text_becomes_tokens_and_text_again(text: str) -> None:
    tokens = parse_maze(text)
    assert module.format_maze(tokens) == text
    assert [CHARACTERS[token - 1] for token in tokens] == list(text)


def test_a_table_is_read_as_written(tmp_path: Path) -> None:
    puzzles = generate_mazes(7, 20, np.random.default_rng(0), 8)
    module.write_csv(tmp_path / "mazes.csv", puzzles)
    for before, after in zip(puzzles, module.read_csv(tmp_path / "mazes.csv"), strict=True):
        assert np.array_equal(before.question, after.question)
        assert np.array_equal(before.answer, after.answer)
        assert (before.side, before.source, before.rating) == (after.side, after.source, after.rating)


def read_row(row: str, path: Path) -> None:
    path.write_text(f"source,question,answer,rating\nmade,S  G,SooG,2\n{row}\n")
    with pytest.raises(ValueError, match=rf"^{path}:3: ") as error:
        list(module.read_csv(path))
    assert "\n" not in str(error.value)
    raise error.value


@pytest.mark.parametrize(
    ("read", "text"),
    [
        *((lambda text, path: parse_maze(text), text) for text in ("# S.", "##\n#", "€ ##", "#####", "")),
        *(
            (lambda text, path: module.check_questions(parse_maze(text)[None]), text)
            for text in ("SS G", "S oG")
        ),
        *((lambda text, path: shortest_path(parse_maze(text)), text) for text in ("SS G", "S   ")),
        *(
            (read_row, row)
            for row in ("made,S  G,SooG", "made,S  G#,SooG#,2", "made,S  G,S,2", "made,S   ,SooG,2")
        ),
        *((read_row, row) for row in ("made,S# G,SooG,2", "made,S  G,SooG,2.5")),
    ],
)
def test_malformed_mazes_are_refused(read: Callable[[str, Path], object], text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        read(text, tmp_path / "mazes.csv")


# Paths.


@st.composite
def questions(draw: st.DrawFn) -> Maze:
    side = draw(st.integers(2, 4))
    cells = draw(st.lists(st.sampled_from([WALL, SPACE, SPACE]), min_size=side**2, max_size=side**2))
    start, goal = draw(st.permutations(range(side**2)))[:2]
    maze = np.array(cells, dtype=np.uint8)
    maze[start], maze[goal] = START, GOAL
    return maze


def neighbours(cell: int, side: int) -> Iterator[int]:
    """Down, left, right, up."""
    row, column = divmod(cell, side)
    for next_row, next_column in ((row + 1, column), (row, column - 1), (row, column + 1), (row - 1, column)):
        if 0 <= next_row < side and 0 <= next_column < side:
            yield next_row * side + next_column


def simple_ways(maze: Maze) -> list[Way]:
    """Every simple path from start to goal, in the order of trying down, left, right, up at every cell."""
    side, goal = module.side_of(maze), int(np.argmax(maze == GOAL))
    ways: list[Way] = []

    def walk(way: Way) -> None:
        if way[-1] == goal:
            ways.append(way)
            return
        for cell in neighbours(way[-1], side):
            if maze[cell] != WALL and cell not in way:
                walk((*way, cell))

    walk((int(np.argmax(maze == START)),))
    return ways


def touches_itself(way: Way, side: int) -> bool:
    """Whether two cells are neighbours that do not follow each other."""
    return any(second in neighbours(first, side) for i, first in enumerate(way) for second in way[i + 2 :])


def marked(maze: Maze, way: Way) -> Maze:
    answer = maze.copy()
    answer[list(way[1:-1])] = PATH
    return answer


@given(questions(), st.data())
def test_answers_are_judged_as_by_trying_every_simple_path(question: Maze, data: st.DataObject) -> None:
    side, ways = module.side_of(question), simple_ways(question)
    answer = marked(question, data.draw(st.sampled_from(ways))) if ways else question.copy()
    for _ in range(data.draw(st.integers(0, 2))):
        answer[data.draw(st.integers(0, len(answer) - 1))] = data.draw(st.integers(0, 5))
    same = [
        way for way in ways if not touches_itself(way, side) and np.array_equal(marked(question, way), answer)
    ]
    assert module.is_valid_path(question, answer) == bool(same)
    least = min(map(len, ways), default=0)
    assert module.is_shortest_path(question, answer) == any(len(way) == least for way in same)


@given(questions())
def test_the_label_is_the_first_of_the_shortest_ways(maze: Maze) -> None:
    ways = simple_ways(maze)
    lengths, label = [len(way) for way in ways], shortest_path(maze)
    assert module.has_unique_shortest_path(maze) == (lengths.count(min(lengths, default=0)) == 1)
    if label is None:
        assert ways == [] and module.shortest_length(maze) is None
        return
    # `min` takes the first of equals, and the ways come in the order down, left, right, up.
    shortest = min(ways, key=len)
    assert np.array_equal(label, marked(maze, shortest))
    assert (
        num_steps(label) == module.shortest_length(maze) == module.shortest_length(label) == len(shortest) - 1
    )


# Generation.


@given(st.integers(3, 12), st.data(), st.integers(0, 2**32))
def test_the_label_is_the_only_path_and_long_enough(side: int, data: st.DataObject, seed: int) -> None:
    min_path = data.draw(st.integers(2, side // 2 * 2 + 1))
    for puzzle in generate_mazes(side, 3, np.random.default_rng(seed), min_path):
        assert module.has_unique_shortest_path(puzzle.question)
        assert module.is_shortest_path(puzzle.question, puzzle.answer)
        assert (puzzle.side, puzzle.rating) == (side, num_steps(puzzle.answer))
        assert num_steps(puzzle.answer) + 1 >= min_path


def test_no_maze_is_a_transform_of_another() -> None:
    # There are few mazes of 5×5, so that repeats occur and are passed over.
    mazes = generate_mazes(5, 300, np.random.default_rng(0), 4)
    assert len({module.canonical(maze.question, 5) for maze in mazes}) == 300


@given(st.integers(2, 15), st.integers(0, 2**32))
def test_walls_leave_all_rooms_in_one_tree(side: int, seed: int) -> None:
    is_free = module.tree_cells(side, np.random.default_rng(seed))
    board = module.pack(is_free, side)
    assert np.array_equal(module.unpack(sum(module.waves(board & -board, board, side)), side), is_free)
    grid = is_free.reshape(side, side)
    assert grid[::2, ::2].all() and not grid[1::2, 1::2].any()
    num_links = (grid[1:] & grid[:-1]).sum() + (grid[:, 1:] & grid[:, :-1]).sum()
    assert num_links == grid.sum() - 1


def test_giving_up_is_an_error_and_not_an_endless_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ATTEMPTS", 50)
    with pytest.raises(ValueError, match="5x5 maze with 18 cells"):
        next(module.iterate_mazes(5, np.random.default_rng(0), 18))
    with pytest.raises(ValueError, match="different mazes of 3x3"):
        generate_mazes(3, 100, np.random.default_rng(0), 2)
