"""Mazes: text and files there and back; paths against slow, obvious references: every simple path, and scipy."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import UInt8
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path as scipy_distances

from serrm.puzzles.maze import (
    CHARACTERS,
    GOAL,
    PATH,
    SPACE,
    START,
    WALL,
    check_questions,
    format_maze,
    has_unique_shortest_path,
    is_shortest_path,
    is_valid_path,
    num_steps,
    parse_maze,
    read_csv,
    shortest_length,
    shortest_path,
    side_of,
    write_csv,
)
from tests.references import generate_mazes

Maze = UInt8[np.ndarray, " I"]
Way = tuple[int, ...]
HEADER = "source,question,answer,rating"
GOOD = "made,S  G,SooG,2"


@given(st.integers(1, 7).flatmap(lambda side: st.text(CHARACTERS, min_size=side**2, max_size=side**2)))
def test_text_becomes_tokens_and_text_again(text: str) -> None:
    tokens = parse_maze(text)
    assert format_maze(tokens) == text
    assert [CHARACTERS[token - 1] for token in tokens] == list(text)
    assert side_of(tokens) ** 2 == len(text)


def test_a_table_is_read_as_written(tmp_path: Path) -> None:
    puzzles = generate_mazes(7, 20, np.random.default_rng(0), 8)
    write_csv(tmp_path / "mazes.csv", puzzles)
    for before, after in zip(puzzles, read_csv(tmp_path / "mazes.csv"), strict=True):
        assert np.array_equal(before.question, after.question)
        assert np.array_equal(before.answer, after.answer)
        assert (before.side, before.source, before.rating) == (after.side, after.source, after.rating)


def read_row(row: str, path: Path) -> None:
    path.write_text("\n".join([HEADER, GOOD, row]) + "\n")
    with pytest.raises(ValueError, match=rf"^{path}:3: ") as error:
        list(read_csv(path))
    assert "\n" not in str(error.value)
    raise error.value


def check(text: str, path: Path) -> None:
    check_questions(np.stack([parse_maze("S# G"), parse_maze(text)]))


@pytest.mark.parametrize(
    ("read", "text"),
    [
        *((lambda text, path: parse_maze(text), text) for text in ("# S.", "##\n#", "€ ##", "#####", "")),
        *((check, text) for text in ("SS G", "S   ", "S oG")),
        *((lambda text, path: shortest_path(parse_maze(text)), text) for text in ("SS G", "S   ")),
        (read_row, "made,S  G,SooG"),
        (read_row, "made,S  G#,SooG#,2"),
        (read_row, "made,S  G,S,2"),
        (read_row, "made,S   ,SooG,2"),
        (read_row, "made,S# G,SooG,2"),
        (read_row, "made,S  G,SooG,2.5"),
    ],
)
def test_what_is_no_maze_is_refused(read: Callable[[str, Path], object], text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        read(text, tmp_path / "mazes.csv")


# Paths.


@st.composite
def questions(draw: st.DrawFn, max_side: int = 4) -> Maze:
    side = draw(st.integers(2, max_side))
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
    side, goal = side_of(maze), int(np.argmax(maze == GOAL))
    found: list[Way] = []

    def walk(way: Way) -> None:
        if way[-1] == goal:
            found.append(way)
            return
        for cell in neighbours(way[-1], side):
            if maze[cell] != WALL and cell not in way:
                walk((*way, cell))

    walk((int(np.argmax(maze == START)),))
    return found


def touches_itself(way: Way, side: int) -> bool:
    """Whether two cells are neighbours that do not follow each other."""
    return any(second in neighbours(first, side) for i, first in enumerate(way) for second in way[i + 2 :])


def marked(maze: Maze, way: Way) -> Maze:
    answer = maze.copy()
    answer[list(way[1:-1])] = PATH
    return answer


def is_path_of_reference(question: Maze, answer: Maze) -> bool:
    side = side_of(question)
    ways = (way for way in simple_ways(question) if not touches_itself(way, side))
    return any(np.array_equal(marked(question, way), answer) for way in ways)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Maze, Maze]:
    """A question with an answer that often is a path, or nearly."""
    question = draw(questions())
    ways = simple_ways(question)
    answer = marked(question, draw(st.sampled_from(ways))) if ways else question.copy()
    for _ in range(draw(st.integers(0, 2))):
        answer[draw(st.integers(0, len(answer) - 1))] = draw(st.integers(0, 5))
    return question, answer


@given(pairs())
def test_validity_agrees_with_the_reference(pair: tuple[Maze, Maze]) -> None:
    question, answer = pair
    assert is_valid_path(question, answer) == is_path_of_reference(question, answer)


@given(pairs())
def test_an_answer_is_shortest_if_no_way_is_shorter(pair: tuple[Maze, Maze]) -> None:
    question, answer = pair
    ways = simple_ways(question)
    least = min(map(len, ways), default=0)
    expected = any(len(way) == least and np.array_equal(marked(question, way), answer) for way in ways)
    assert is_shortest_path(question, answer) == expected


@given(questions(max_side=9))
def test_lengths_are_those_of_scipy(maze: Maze) -> None:
    side = side_of(maze)
    free = np.flatnonzero(maze != WALL)
    links = [(a, b) for a in free.tolist() for b in neighbours(a, side) if maze[b] != WALL]
    first, second = zip(*links, strict=True) if links else ((), ())
    graph = coo_array((np.ones(len(links)), (first, second)), shape=(side**2, side**2)).tocsr()
    start, goal = int(np.argmax(maze == START)), int(np.argmax(maze == GOAL))
    distance = scipy_distances(graph, unweighted=True, indices=start)[goal]
    assert shortest_length(maze) == (int(distance) if np.isfinite(distance) else None)


@given(questions())
def test_the_label_is_the_first_of_the_shortest_ways(maze: Maze) -> None:
    ways = simple_ways(maze)
    label = shortest_path(maze)
    if not ways:
        assert label is None
        return
    # `min` takes the first of equals, and the ways come in the order down, left, right, up.
    shortest = min(ways, key=len)
    assert label is not None
    assert np.array_equal(label, marked(maze, shortest))
    assert num_steps(label) == shortest_length(maze) == shortest_length(label) == len(shortest) - 1


@given(questions())
def test_uniqueness_agrees_with_counting(maze: Maze) -> None:
    lengths = [len(way) for way in simple_ways(maze)]
    assert has_unique_shortest_path(maze) == (lengths.count(min(lengths, default=0)) == 1)
