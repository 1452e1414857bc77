"""The eight transforms: a group of eight different images, each undone by its inverse."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from serrm.puzzles.dihedral import NUM_TRANSFORMS, cell_order, inverse, transformed

sides = st.integers(1, 6)
transforms = st.integers(0, NUM_TRANSFORMS - 1)


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
