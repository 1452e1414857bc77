"""The canonical form: the same for every image, and for nothing else."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import UInt8

from serrm.datasets.arc_audit import canonical_form
from serrm.puzzles.arc.colours import recoloured
from serrm.puzzles.arc.grid import Grid
from serrm.puzzles.dihedral import NUM_TRANSFORMS, transformed

permutations = st.permutations(range(10)).map(lambda colours: np.array(colours, dtype=np.uint8))
seeds = st.integers(0, 2**32)
transforms = st.integers(0, NUM_TRANSFORMS - 1)


def make_grid(rng: np.random.Generator, most: int, num_colours: int) -> Grid:
    shape = (int(rng.integers(1, most + 1)), int(rng.integers(1, most + 1)))
    return rng.integers(0, num_colours, shape, dtype=np.uint8)


def image(grid: Grid, transform: int, permutation: UInt8[np.ndarray, "10"]) -> Grid:
    return recoloured(np.ascontiguousarray(transformed(grid, transform)), permutation)


@given(seeds, transforms, permutations)
def test_every_image_of_a_pair_has_its_form(
    seed: int, transform: int, permutation: UInt8[np.ndarray, "10"]
) -> None:
    rng = np.random.default_rng(seed)
    pair = [make_grid(rng, 5, 10), make_grid(rng, 5, 10)]
    images = [image(grid, transform, permutation) for grid in pair]
    assert canonical_form(images) == canonical_form(pair)


def are_images(first: list[Grid], second: list[Grid]) -> bool:
    """Slow and obvious: some transform and some one-to-one renaming of colours makes the one of the other."""
    for transform in range(NUM_TRANSFORMS):
        turned = [transformed(grid, transform) for grid in first]
        if [grid.shape for grid in turned] == [grid.shape for grid in second]:
            cells = zip(
                (int(colour) for grid in turned for colour in grid.flat),
                (int(colour) for grid in second for colour in grid.flat),
                strict=True,
            )
            renamings = set(cells)
            if len({old for old, _ in renamings}) == len(renamings) == len({new for _, new in renamings}):
                return True
    return False


@given(seeds)
def test_two_pairs_have_one_form_only_if_they_are_images(seed: int) -> None:
    # Grids so small that many of them are images of each other.
    rng = np.random.default_rng(seed)
    pairs = [[make_grid(rng, 2, 3), make_grid(rng, 2, 2)] for _ in range(5)]
    forms = [canonical_form(pair) for pair in pairs]
    for one, other in combinations(range(len(pairs)), 2):
        assert (forms[one] == forms[other]) == are_images(pairs[one], pairs[other])
