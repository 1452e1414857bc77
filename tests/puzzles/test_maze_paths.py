"""Paths on small mazes against slow, obvious references: every simple path, one by one, and scipy's distances."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import UInt8
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path as scipy_distances

from serrm.puzzles.maze.flood import cell_bit, flooded, pack, unpack, waves
from serrm.puzzles.maze.grid import GOAL, PATH, SPACE, START, WALL, parse_maze, side_of
from serrm.puzzles.maze.paths import (
    has_unique_shortest_path,
    is_shortest_path,
    is_valid_path,
    num_steps,
    shortest_length,
    shortest_path,
)

Maze = UInt8[np.ndarray, " I"]
Way = tuple[int, ...]


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


def test_a_question_without_goal_is_refused() -> None:
    maze = parse_maze("S   ")
    for judge in (shortest_length, shortest_path, has_unique_shortest_path):
        with pytest.raises(ValueError, match="needs one start and one goal"):
            judge(maze)
    with pytest.raises(ValueError, match="needs one start and one goal"):
        is_valid_path(maze, maze)


@given(questions(max_side=8))
def test_boards_hold_what_was_packed_and_floods_stay_in_the_grid(maze: Maze) -> None:
    side = side_of(maze)
    is_free = maze != WALL
    board = pack(is_free, side)
    assert np.array_equal(unpack(board, side), is_free)
    start = int(np.argmax(maze == START))
    assert np.flatnonzero(unpack(cell_bit(start, side), side)).tolist() == [start]
    levels = list(waves(cell_bit(start, side), board, side))
    reached = flooded(cell_bit(start, side), board, side)
    # The waves are disjoint and cover what is reached; nothing leaves the free cells.
    assert sum(levels) == reached == reached & board
    assert sum(level.bit_count() for level in levels) == reached.bit_count()
