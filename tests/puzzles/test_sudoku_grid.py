"""Box shapes, units, and the rules against a slow, obvious reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.puzzles.sudoku.grid import (
    Box,
    box_for_side,
    is_consistent,
    is_solution,
)

BOXES = [Box(2, 2), Box(2, 3), Box(3, 2), Box(3, 3), Box(2, 4), Box(4, 4), Box(5, 5)]


def build_pattern(box: Box) -> np.ndarray:
    """A full grid by shifting the first row: by a box's width from row to row, by one from band to band."""
    n = box.side
    rows, cols = np.divmod(np.arange(n * n), n)
    return np.asarray((rows % box.rows * box.cols + rows // box.rows + cols) % n + 1, dtype=np.uint8)


def is_consistent_slowly(grid: np.ndarray, box: Box) -> bool:
    """Compare every pair of cells."""
    n = box.side
    places = [(i // n, i % n, i // n // box.rows, i % n // box.cols, int(grid[i])) for i in range(n * n)]
    for a, (row, col, band, stack, value) in enumerate(places):
        for other_row, other_col, other_band, other_stack, other_value in places[:a]:
            is_peer = row == other_row or col == other_col or (band, stack) == (other_band, other_stack)
            if value == other_value != 0 and is_peer:
                return False
    return True


@pytest.mark.parametrize(("n", "box"), [(4, (2, 2)), (6, (2, 3)), (9, (3, 3)), (16, (4, 4)), (25, (5, 5))])
def test_default_box_shapes(n: int, box: tuple[int, int]) -> None:
    assert box_for_side(n) == Box(*box)


@pytest.mark.parametrize("n", [-3, 0, 1, 2, 7, 13])
def test_sides_without_a_box_shape_are_named(n: int) -> None:
    with pytest.raises(ValueError, match=f"side {n}$"):
        box_for_side(n)


@given(
    box=st.sampled_from(BOXES[:4]),
    num_blanks=st.integers(0, 60),
    num_changes=st.integers(0, 3),
    seed=st.integers(0, 2**32),
)
def test_consistency_agrees_with_comparing_all_pairs(
    box: Box, num_blanks: int, num_changes: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    grid = build_pattern(box)
    grid[rng.permutation(box.num_cells)[:num_blanks]] = 0
    grid[rng.permutation(box.num_cells)[:num_changes]] = rng.integers(1, box.side + 1)
    assert is_consistent(grid, box) == is_consistent_slowly(grid, box)
    assert is_solution(grid, box) == (is_consistent_slowly(grid, box) and bool(grid.all()))


def test_a_grid_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="81 cells, not 16"):
        is_consistent(np.zeros(16, dtype=np.uint8), Box(3, 3))
    with pytest.raises(ValueError, match="0x4"):
        Box(0, 4)
