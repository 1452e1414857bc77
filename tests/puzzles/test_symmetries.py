"""Symmetries of grids: the eight transforms and the permutations of colours are undone by their inverses."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from serrm.puzzles.arc.colours import inverse as inverse_colours
from serrm.puzzles.arc.colours import recoloured
from serrm.puzzles.dihedral import NUM_TRANSFORMS, cell_order, inverse, transformed

sides = st.integers(1, 6)
transforms = st.integers(0, NUM_TRANSFORMS - 1)
permutations = st.permutations(range(10)).map(lambda colours: np.array(colours, dtype=np.uint8))


@given(sides, sides, transforms)
def test_every_transform_is_undone_by_its_inverse(num_rows: int, num_columns: int, transform: int) -> None:
    grid = np.arange(num_rows * num_columns).reshape(num_rows, num_columns)
    image = transformed(grid, transform)
    assert np.array_equal(transformed(image, inverse(transform)), grid)


@given(sides, sides, transforms)
def test_the_order_of_cells_is_the_transform(num_rows: int, num_columns: int, transform: int) -> None:
    grid = np.random.default_rng(0).integers(0, 10, (num_rows, num_columns))
    image = transformed(grid, transform)
    order = cell_order(num_rows, num_columns, transform)
    assert np.array_equal(grid.reshape(-1)[order].reshape(image.shape), image)


def test_the_images_of_an_uneven_grid_are_eight() -> None:
    grid = np.arange(9).reshape(3, 3)
    assert len({transformed(grid, k).tobytes() for k in range(NUM_TRANSFORMS)}) == NUM_TRANSFORMS
    assert np.array_equal(transformed(grid, 0), grid)


@given(permutations, st.integers(0, 2**32))
def test_every_permutation_is_undone_by_its_inverse(
    permutation: np.ndarray[tuple[int], np.dtype[np.uint8]], seed: int
) -> None:
    grid = np.random.default_rng(seed).integers(0, 10, (4, 7), dtype=np.uint8)
    image = recoloured(grid, permutation)
    assert np.array_equal(recoloured(image, inverse_colours(permutation)), grid)
    assert all(image[cell] == permutation[grid[cell]] for cell in np.ndindex(*grid.shape))
    assert np.array_equal(inverse_colours(inverse_colours(permutation)), permutation)
