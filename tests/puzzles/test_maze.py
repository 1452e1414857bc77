"""Mazes: text and files there and back; paths against every simple path; generated mazes."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import UInt8

from serrm.puzzles.maze import data as maze_data
from serrm.puzzles.maze import rules as maze_rules
from serrm.puzzles.maze.data import TEXT as MAZE_TEXT
from serrm.puzzles.raw import Puzzle
from serrm.puzzles.tables import write_table
from tests.references import generate_mazes, is_shortest_path, is_valid_path

Maze = UInt8[np.ndarray, " I"]
Way = tuple[int, ...]


@pytest.mark.parametrize("text", ["# S.", "##\n#", "€ ##", "#####", "", "SS G", "S oG", "S   "])
def test_malformed_mazes_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        MAZE_TEXT.checked(Puzzle(MAZE_TEXT.read(text), None))


@pytest.mark.parametrize("text", ["SooG#", "S##G", "SSoG"])
def test_answers_of_other_mazes_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        MAZE_TEXT.checked(Puzzle(MAZE_TEXT.read("S# G"), MAZE_TEXT.read(text)))


# Paths.


@st.composite
def questions(draw: st.DrawFn) -> Maze:
    side = draw(st.integers(2, 4))
    cells = draw(
        st.lists(
            st.sampled_from([maze_rules.WALL, maze_rules.SPACE, maze_rules.SPACE]),
            min_size=side**2,
            max_size=side**2,
        )
    )
    start, goal = draw(st.permutations(range(side**2)))[:2]
    maze = np.array(cells, dtype=np.uint8)
    maze[start], maze[goal] = maze_rules.START, maze_rules.GOAL
    return maze


def neighbours(cell: int, side: int) -> Iterator[int]:
    """Down, left, right, up."""
    row, column = divmod(cell, side)
    for next_row, next_column in ((row + 1, column), (row, column - 1), (row, column + 1), (row - 1, column)):
        if 0 <= next_row < side and 0 <= next_column < side:
            yield next_row * side + next_column


def simple_ways(maze: Maze) -> list[Way]:
    """Every simple path from start to goal, in the order of trying down, left, right, up at every cell."""
    side, goal = maze_rules.side_of(maze), int(np.argmax(maze == maze_rules.GOAL))
    ways: list[Way] = []

    def walk(way: Way) -> None:
        if way[-1] == goal:
            ways.append(way)
            return
        for cell in neighbours(way[-1], side):
            if maze[cell] != maze_rules.WALL and cell not in way:
                walk((*way, cell))

    walk((int(np.argmax(maze == maze_rules.START)),))
    return ways


def touches_itself(way: Way, side: int) -> bool:
    """Whether two cells are neighbours that do not follow each other."""
    return any(second in neighbours(first, side) for i, first in enumerate(way) for second in way[i + 2 :])


def marked(maze: Maze, way: Way) -> Maze:
    answer = maze.copy()
    answer[list(way[1:-1])] = maze_rules.PATH
    return answer


@given(questions(), st.data())
def test_answers_are_judged_as_by_trying_every_simple_path(question: Maze, data: st.DataObject) -> None:
    side, ways = maze_rules.side_of(question), simple_ways(question)
    answer = marked(question, data.draw(st.sampled_from(ways))) if ways else question.copy()
    for _ in range(data.draw(st.integers(0, 2))):
        answer[data.draw(st.integers(0, len(answer) - 1))] = data.draw(st.integers(0, 5))
    same = [
        way for way in ways if not touches_itself(way, side) and np.array_equal(marked(question, way), answer)
    ]
    assert is_valid_path(question, answer) == bool(same)
    least = min(map(len, ways), default=0)
    assert is_shortest_path(question, answer) == any(len(way) == least for way in same)


@given(questions())
def test_the_label_is_the_first_of_the_shortest_ways(maze: Maze) -> None:
    ways = simple_ways(maze)
    lengths, label = [len(way) for way in ways], maze_rules.shortest_path(maze)
    assert maze_rules.has_unique_shortest_path(maze) == (lengths.count(min(lengths, default=0)) == 1)
    if label is None:
        assert ways == []
        return
    # `min` takes the first of equals, and the ways come in the order down, left, right, up.
    shortest = min(ways, key=len)
    assert np.array_equal(label, marked(maze, shortest))
    assert maze_rules.num_steps(label) == len(shortest) - 1


# Generation.


@given(st.integers(3, 12), st.data(), st.integers(0, 2**32))
def test_the_label_is_the_path_in_a_tree_and_long_enough(side: int, data: st.DataObject, seed: int) -> None:
    min_path = data.draw(st.integers(2, side // 2 * 2 + 1))
    for puzzle in generate_mazes(side, 3, np.random.default_rng(seed), min_path):
        is_free = (puzzle.question != maze_rules.WALL).reshape(side, side)
        num_links = (is_free[1:] & is_free[:-1]).sum() + (is_free[:, 1:] & is_free[:, :-1]).sum()
        assert is_free[::2, ::2].all() and not is_free[1::2, 1::2].any()
        assert num_links == is_free.sum() - 1
        board = maze_rules.pack(is_free.ravel(), side)
        assert sum(maze_rules.waves(board & -board, board, side)) == board, "all cells are connected"
        assert maze_rules.has_unique_shortest_path(puzzle.question)
        assert is_shortest_path(puzzle.question, puzzle.answer)
        assert (puzzle.side, puzzle.rating) == (side, maze_rules.num_steps(puzzle.answer))
        assert maze_rules.num_steps(puzzle.answer) + 1 >= min_path


def test_no_maze_is_a_transform_of_another() -> None:
    # There are few mazes of 5×5, so that repeats occur and are passed over.
    mazes = generate_mazes(5, 300, np.random.default_rng(0), 4)
    assert len({maze_data.canonical(maze.question, 5) for maze in mazes}) == 300


def test_too_many_attempts_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maze_data, "MAX_ATTEMPTS", 50)
    with pytest.raises(ValueError, match="5x5 maze with 18 cells"):
        next(maze_data.iterate_mazes(5, np.random.default_rng(0), 18))
    with pytest.raises(ValueError, match="different mazes of 3x3"):
        generate_mazes(3, 100, np.random.default_rng(0), 2)


# Windows.


def windows(**changes: int) -> maze_data.Windows:
    return maze_data.Windows(**{"side": 7, "min_steps": 6, "num_per_maze": 3, "num_held_out": 1, **changes})


def test_windows_are_parts_of_their_maze_with_a_path_long_enough() -> None:
    for number, maze in enumerate(generate_mazes(11, 5, np.random.default_rng(0), min_path=2)):
        cells = (maze.question == maze_rules.WALL).reshape(11, 11)
        places = {
            cells[row : row + 7, column : column + 7].tobytes() for row in range(5) for column in range(5)
        }
        drawn = maze_data.draw_windows(maze, windows(), np.random.default_rng(number))
        assert len(drawn) == 3
        for window in drawn:
            assert (window.question == maze_rules.WALL).tobytes() in places
            assert window.answer is not None and maze_rules.num_steps(window.answer) == window.rating >= 6
            assert np.array_equal(maze_rules.shortest_path(window.question), window.answer)


def test_a_maze_without_such_windows_is_an_error_that_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    (maze,) = generate_mazes(11, 1, np.random.default_rng(0), min_path=2)
    monkeypatch.setattr(maze_data, "MAX_ATTEMPTS", 50)
    with pytest.raises(ValueError, match="only 0 windows of 7x7, path 48 steps in 50 attempts"):
        maze_data.draw_windows(maze, windows(min_steps=48), np.random.default_rng(0))


def test_windows_are_refused_from_other_mazes_than_the_published(tmp_path: Path) -> None:
    folder = tmp_path / maze_data.FOLDER_HARD
    folder.mkdir()
    write_table(MAZE_TEXT, folder / "train.csv", generate_mazes(11, 2, np.random.default_rng(0), min_path=2))
    source = maze_data.MirrorMaze(kind="mirror", root=tmp_path, windows=windows())
    with pytest.raises(ValueError, match="1000 mazes of 30x30, not from 2 with sides of 11 to 11"):
        maze_data.make(source, tmp_path, seed=0)
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
