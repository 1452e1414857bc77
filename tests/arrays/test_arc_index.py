"""Variants are different, and a pure function of their address."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.arrays.arc_index import NUM_DRAWABLE, NUM_PERMUTATIONS, draw_variants, permutations_of_ranks

names, seeds = st.text(max_size=12), st.integers(0, 2**32)


def test_ranks_count_all_permutations_in_lexicographic_order() -> None:
    permutations = permutations_of_ranks(np.arange(NUM_PERMUTATIONS))
    assert not permutations[:, 0].any(), "colour 0 stays"
    assert np.array_equal(np.sort(permutations[::97], axis=1)[:, 1:], np.tile(np.arange(1, 10), (3742, 1)))
    as_numbers = permutations.astype(np.int64) @ 10 ** np.arange(9, -1, -1)
    assert (np.diff(as_numbers) > 0).all()
    assert as_numbers[[0, -1]].tolist() == [123456789, 987654321]


@settings(max_examples=20)
@given(names, seeds)
def test_a_thousand_variants_are_different_and_the_first_eight_keep_colours(puzzle: str, seed: int) -> None:
    variants = draw_variants(puzzle, 1000, seed)
    assert len(np.unique(variants, axis=0)) == 1000
    assert variants[:8, 0].tolist() == list(range(8))
    assert (variants[:8, 1:] == np.arange(10)).all()
    assert (variants[8:, 1:] != np.arange(10)).any(axis=1).all()
    assert (np.sort(variants[:, 1:], axis=1) == np.arange(10)).all()
    assert not variants[:, 1].any(), "colour 0 stays"


@settings(max_examples=30)
@given(names, seeds, st.integers(1, 60), st.integers(0, 60))
def test_a_variant_does_not_depend_on_how_many_there_are(puzzle: str, seed: int, num: int, more: int) -> None:
    assert np.array_equal(draw_variants(puzzle, num + more, seed)[:num], draw_variants(puzzle, num, seed))


def test_the_same_variants_on_every_machine() -> None:
    # A change would make every recorded result irreproducible.
    assert draw_variants("007bbfb7", 11, 0)[8:].tolist() == [
        [6, 0, 5, 3, 7, 9, 2, 1, 4, 8, 6],
        [3, 0, 5, 2, 4, 8, 1, 6, 7, 9, 3],
        [6, 0, 1, 3, 2, 7, 6, 8, 4, 9, 5],
    ]


@pytest.mark.parametrize("num", [0, -1, NUM_DRAWABLE + 9])
def test_more_variants_than_there_are_are_refused(num: int) -> None:
    with pytest.raises(ValueError, match=f"{num} variants asked for, a puzzle has 1 to 2903040"):
        draw_variants("a", num, 0)
