"""Permutations of colours: each is undone by its inverse, and what is none is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.puzzles.arc.colours import IDENTITY, inverse, recoloured

permutations = st.permutations(range(10)).map(lambda colours: np.array(colours, dtype=np.uint8))


@given(permutations, st.integers(0, 2**32))
def test_every_permutation_is_undone_by_its_inverse(
    permutation: np.ndarray[tuple[int], np.dtype[np.uint8]], seed: int
) -> None:
    grid = np.random.default_rng(seed).integers(0, 10, (4, 7), dtype=np.uint8)
    image = recoloured(grid, permutation)
    assert np.array_equal(recoloured(image, inverse(permutation)), grid)
    assert all(image[cell] == permutation[grid[cell]] for cell in np.ndindex(*grid.shape))
    assert np.array_equal(inverse(inverse(permutation)), permutation)


def test_what_is_no_permutation_is_refused() -> None:
    twice = IDENTITY.copy()
    twice[3] = 4
    with pytest.raises(ValueError, match=r"\[0, 1, 2, 4, 4, .* is no permutation"):
        inverse(twice)
