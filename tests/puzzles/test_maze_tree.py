"""Mazes of tree walls: everything hangs together, without a loop, so that every path is the only one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from serrm.puzzles.maze.flood import flooded, pack, unpack
from serrm.puzzles.maze.paths import has_unique_shortest_path, is_shortest_path
from serrm.puzzles.maze.tree import tree_cells
from tests.references import generate_mazes


@given(st.integers(2, 15), st.integers(0, 2**32))
def test_free_cells_are_a_tree_of_all_rooms(side: int, seed: int) -> None:
    is_free = tree_cells(side, np.random.default_rng(seed))
    board = pack(is_free, side)
    assert np.array_equal(unpack(flooded(board & -board, board, side), side), is_free)
    grid = is_free.reshape(side, side)
    assert grid[::2, ::2].all() and not grid[1::2, 1::2].any()
    num_links = (grid[1:] & grid[:-1]).sum() + (grid[:, 1:] & grid[:, :-1]).sum()
    assert num_links == grid.sum() - 1


@given(st.integers(5, 10), st.integers(0, 2**32))
def test_paths_are_unique(side: int, seed: int) -> None:
    for puzzle in generate_mazes(side, 3, np.random.default_rng(seed), 5, "tree"):
        assert has_unique_shortest_path(puzzle.question)
        assert is_shortest_path(puzzle.question, puzzle.answer)
