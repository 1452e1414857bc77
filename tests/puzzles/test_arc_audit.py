"""The canonical form: the same for every image, and for nothing else; matches and overlaps are what they say."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import UInt8

from serrm.puzzles.arc.audit import (
    Match,
    canonical_form,
    canonical_forms,
    find_matches,
    question,
)
from serrm.puzzles.arc.colours import recoloured
from serrm.puzzles.arc.grid import ArcPuzzle, Collection, Grid, Pair, PairName, named_pairs
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


def make_puzzle(name: str, collection: Collection, pairs: list[Pair]) -> ArcPuzzle:
    return ArcPuzzle(name, collection, tuple(pairs[:-1]), tuple(pairs[-1:]))


def make_pairs(num: int, seed: int) -> list[Pair]:
    """Pairs too large to be images of each other by chance."""
    rng = np.random.default_rng(seed)
    return [
        Pair(rng.integers(0, 10, (5, 6), dtype=np.uint8), rng.integers(0, 10, (4, 4), dtype=np.uint8))
        for _ in range(num)
    ]


def image_of(pair: Pair, transform: int) -> Pair:
    permutation = np.roll(np.arange(10, dtype=np.uint8), transform)
    return Pair(image(pair.question, transform, permutation), image(pair.answer, transform, permutation))


def test_matches_are_found_whatever_the_transform() -> None:
    pairs = make_pairs(10, 0)
    tests = canonical_forms(named_pairs([make_puzzle("t", "evaluation", pairs[:1])]))
    others = [image_of(pairs[0], transform) for transform in range(NUM_TRANSFORMS)]
    trained = canonical_forms(named_pairs([make_puzzle("a", "training", [*others, *pairs[1:]])]))
    (test,) = tests
    assert find_matches(tests, trained) == [
        Match(test, PairName("a", "training", "demonstration", number)) for number in range(NUM_TRANSFORMS)
    ]


def test_equal_questions_with_other_answers_only_match_as_questions() -> None:
    pairs = make_pairs(2, 1)
    tests = named_pairs([make_puzzle("t", "evaluation", [pairs[0]])])
    moved = image_of(pairs[0], 5)
    trained = named_pairs([make_puzzle("a", "training", [Pair(moved.question, pairs[1].answer)])])
    assert find_matches(canonical_forms(tests), canonical_forms(trained)) == []
    asked, known = canonical_forms(tests, question), canonical_forms(trained, question)
    assert find_matches(asked, known) == [Match(*tests, *trained)]
