"""ARC grids: symmetries are undone by their inverses, and canvases are read as drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import UInt8

from serrm.puzzles.arc import grids as arc
from serrm.puzzles.transforms import NUM_TRANSFORMS, inverse_transform, transformed

sides = st.integers(1, 6)
SIDE = 6


@given(sides, sides)
def test_the_eight_transforms_of_a_grid_are_undone_by_their_inverses(num_rows: int, num_columns: int) -> None:
    grid = np.arange(num_rows * num_columns).reshape(num_rows, num_columns)
    images = [transformed(grid, transform) for transform in range(NUM_TRANSFORMS)]
    assert np.array_equal(images[0], grid)
    if min(grid.shape) > 1:
        assert len({(image.shape, image.tobytes()) for image in images}) == NUM_TRANSFORMS
    for transform, image in enumerate(images):
        assert np.array_equal(transformed(image, inverse_transform(transform)), grid)


# The canvas.


@st.composite
def grids(draw: st.DrawFn) -> arc.Grid:
    rows, columns, seed = draw(st.integers(1, SIDE)), draw(st.integers(1, SIDE)), draw(st.integers(0, 2**32))
    return np.random.default_rng(seed).integers(0, arc.NUM_COLOURS, (rows, columns), dtype=np.uint8)


@given(grids(), st.data())
def test_the_border_is_below_and_beside_and_all_else_is_padding(grid: arc.Grid, data: st.DataObject) -> None:
    num_rows, num_columns = grid.shape
    top = data.draw(st.integers(0, SIDE - num_rows))
    left = data.draw(st.integers(0, SIDE - num_columns))
    canvas = arc.encode(grid, SIDE, (top, left)).reshape(SIDE, SIDE)
    for row in range(SIDE):
        for column in range(SIDE):
            r, c = row - top, column - left
            if 0 <= r < num_rows and 0 <= c < num_columns:
                expected = arc.FIRST_COLOUR + grid[r, c]
            elif (r == num_rows and 0 <= c < num_columns) or (c == num_columns and 0 <= r < num_rows):
                expected = arc.END_OF_GRID
            else:
                expected = arc.PADDING
            assert canvas[row, column] == expected


@pytest.mark.parametrize("offset", [(0, 1), (3, 0), (-1, 0), (0, -1)])
def test_a_grid_that_does_not_fit_is_refused(offset: tuple[int, int]) -> None:
    grid = np.zeros((SIDE - 2, SIDE), dtype=np.uint8)
    with pytest.raises(
        ValueError, match=rf"4 x 6 at \({offset[0]}, {offset[1]}\) is not within a canvas of 6"
    ):
        arc.encode(grid, SIDE, offset)


def largest_rectangle(tokens: UInt8[np.ndarray, " I"], side: int) -> tuple[int, int]:
    """Slow and obvious: of all rectangles at the corner with colours only the largest, of these the flattest."""
    canvas = tokens.reshape(side, side)
    best = (0, 0)
    for rows in range(1, side + 1):
        for columns in range(1, side + 1):
            part = canvas[:rows, :columns]
            if part.min() >= 2 and part.max() <= 11 and rows * columns > best[0] * best[1]:
                best = (rows, columns)
    return best


@given(st.integers(0, 2**32), st.floats(0, 0.4), st.integers(1, SIDE))
def test_any_tokens_are_read_as_the_largest_rectangle_of_colours(seed: int, share: float, side: int) -> None:
    rng = np.random.default_rng(seed)
    tokens = rng.integers(2, 12, side * side, dtype=np.uint8)
    wrong = rng.random(side * side) < share
    tokens[wrong] = rng.choice(np.array([0, 1, 12, 255], dtype=np.uint8), int(wrong.sum()))
    rows, columns = largest_rectangle(tokens, side)
    grid = arc.decode(tokens, side)
    assert grid.shape == (rows, columns)
    assert np.array_equal(grid + 2, tokens.reshape(side, side)[:rows, :columns])
