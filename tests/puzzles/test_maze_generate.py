"""Generated mazes: shortest labels of the wanted length, all different, in walls that are scattered or a tree."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import UInt8

from serrm.puzzles.dihedral import NUM_TRANSFORMS, cell_order
from serrm.puzzles.maze import generate
from serrm.puzzles.maze.flood import flooded, pack, unpack, waves
from serrm.puzzles.maze.generate import iterate_mazes
from serrm.puzzles.maze.grid import START
from serrm.puzzles.maze.paths import (
    has_unique_shortest_path,
    is_shortest_path,
    shortest_length,
    shortest_path,
)
from serrm.puzzles.maze.tree import tree_cells
from tests.references import generate_mazes


def mazes_of(side: int, num: int, min_path: int, seed: int = 0) -> UInt8[np.ndarray, "N I"]:
    puzzles = generate_mazes(side, num, np.random.default_rng(seed), min_path)
    return np.stack([puzzle.question for puzzle in puzzles])


@given(st.integers(3, 12), st.data(), st.integers(0, 2**32))
def test_labels_are_shortest_and_long_enough(side: int, data: st.DataObject, seed: int) -> None:
    min_path = data.draw(st.integers(2, 2 * side - 1))
    for puzzle in generate_mazes(side, 3, np.random.default_rng(seed), min_path):
        assert is_shortest_path(puzzle.question, puzzle.answer)
        label = shortest_path(puzzle.question)
        assert label is not None
        assert np.array_equal(label, puzzle.answer)
        # Cells with start and goal: one more than steps.
        assert np.count_nonzero(puzzle.answer >= START) == shortest_length(puzzle.question) + 1 >= min_path
        assert (puzzle.side, puzzle.rating) == (side, shortest_length(puzzle.question))


def test_no_maze_is_an_image_of_another() -> None:
    # There are few mazes of 3×3, so that repeats occur and are passed over.
    mazes = mazes_of(3, 150, 4)
    orders = [cell_order(3, 3, transform) for transform in range(NUM_TRANSFORMS)]
    images = [{maze[order].tobytes() for order in orders} for maze in mazes]
    assert not any(first & second for first, second in itertools.combinations(images, 2))


def test_start_and_goal_are_drawn_evenly_from_all_pairs_far_enough_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One fixed set of walls: of an empty 3×3 grid the pairs with 3 steps are a corner and the middle of a far side.
    monkeypatch.setattr(generate, "WALL_SHARES", (0.0, 0.0))
    rng = np.random.default_rng(0)
    counts = np.zeros((9, 9), dtype=int)
    for _ in range(1_600):
        start, goal = generate._draw_ends(pack(np.ones(9, dtype=bool), 3), 3, rng, 3) or (0, 0)
        counts[start, goal] += 1
    rows, columns = np.divmod(np.arange(9), 3)
    steps = np.abs(rows[:, None] - rows) + np.abs(columns[:, None] - columns)
    assert (counts[steps < 3] == 0).all()
    # 16 ordered pairs of 3 steps and 4 of 4, 80 draws each: standard deviation 8.7.
    assert np.abs(counts[steps >= 3] - 80).max() < 5 * 8.7


@given(st.integers(2, 9), st.integers(1, 12), st.integers(0, 2**32))
def test_no_pair_is_missed_where_one_is_found(side: int, min_steps: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    free = pack(rng.random(side**2) >= rng.uniform(0.3, 0.5), side)
    for region in generate._regions(free, side, 1):
        cells = [1 << bit for bit in range(region.bit_length()) if region >> bit & 1]
        far = [cell for cell in cells if len(list(waves(cell, region, side))) > min_steps]
        outer = list(generate._outer_cells(region, side, min_steps))
        assert not outer or set(far) <= set(outer)
        assert flooded(cells[0], free, side) == region
        assert unpack(region, side).sum() == len(cells)


@given(st.integers(2, 15), st.integers(0, 2**32))
def test_walls_of_a_tree_leave_all_rooms_in_one_tree(side: int, seed: int) -> None:
    is_free = tree_cells(side, np.random.default_rng(seed))
    board = pack(is_free, side)
    assert np.array_equal(unpack(flooded(board & -board, board, side), side), is_free)
    grid = is_free.reshape(side, side)
    assert grid[::2, ::2].all() and not grid[1::2, 1::2].any()
    num_links = (grid[1:] & grid[:-1]).sum() + (grid[:, 1:] & grid[:, :-1]).sum()
    assert num_links == grid.sum() - 1


@given(st.integers(5, 10), st.integers(0, 2**32))
def test_paths_between_walls_of_a_tree_are_unique(side: int, seed: int) -> None:
    for puzzle in generate_mazes(side, 3, np.random.default_rng(seed), 5, "tree"):
        assert has_unique_shortest_path(puzzle.question)
        assert is_shortest_path(puzzle.question, puzzle.answer)


def test_giving_up_is_an_error_and_not_an_endless_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "MAX_ATTEMPTS", 50)
    with pytest.raises(ValueError, match="no 5x5 maze with 25 cells on its path in 50 attempts"):
        next(iterate_mazes(5, np.random.default_rng(0), 25))
    with pytest.raises(ValueError, match=r"found only .* different mazes of 2x2, path 2"):
        generate_mazes(2, 100, np.random.default_rng(0), 2)
