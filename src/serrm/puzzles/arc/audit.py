"""The leakage audit: is a test pair of an evaluation puzzle, or an image of it, among the trained pairs?

An image is what the 8 dihedral transforms and the 10! permutations of colours make of a pair, question and
answer alike. Pairs that are images of each other have one canonical form, so comparing the forms of the tests
with those of the trained pairs decides the question for all images at once. All 10! and not only the 9! that
keep the background, which the augmentations are: a symbol-equivariant model that has seen a pair has seen
all its recolourings, and what differs up to more symmetries differs up to fewer. Translation moves a grid on
its canvas and leaves it as it is. Paper: section "ARC-AGI", data; the audit is ours.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from serrm.puzzles.arc.grid import Grid, NamedPairs, Pair, PairName
from serrm.puzzles.dihedral import NUM_TRANSFORMS, transformed


def canonical_form(grids: Sequence[Grid]) -> bytes:
    """Equal for two sequences of grids exactly if one transform and recolouring makes the one of the other.

    Each of the 8 images is recoloured in the order of first appearance over all its grids, row by row, which
    is the same for all 10! recolourings of it; the form is the least of the 8.
    """
    return min(_relabelled([transformed(grid, k) for grid in grids]) for k in range(NUM_TRANSFORMS))


def _relabelled(grids: Sequence[Grid]) -> bytes:
    """Sizes and cells of the grids with colours numbered as they appear."""
    cells = b"".join(grid.tobytes() for grid in grids)
    order = sorted(set(cells), key=cells.find)
    table = bytearray(256)
    for label, colour in enumerate(order):
        table[colour] = label
    return bytes(side for grid in grids for side in grid.shape) + cells.translate(table)


Compared = Callable[[Pair], tuple[Grid, ...]]
"""What of two pairs is compared: `whole` or `question`."""


def whole(pair: Pair) -> tuple[Grid, ...]:
    """Question and answer, what must not be trained on."""
    return pair.question, pair.answer


def question(pair: Pair) -> tuple[Grid, ...]:
    """The question alone, which puzzles with different rules may share."""
    return (pair.question,)


Forms = dict[PairName, bytes]


def canonical_forms(pairs: NamedPairs, compared: Compared = whole) -> Forms:
    """The canonical form of what is compared of each pair."""
    return {name: canonical_form(compared(pair)) for name, pair in pairs.items()}


class Match(NamedTuple):
    """A pair to be scored, and a trained one of the same canonical form."""

    test: PairName
    trained: PairName


def find_matches(tests: Forms, trained: Forms) -> list[Match]:
    """Every test with every trained pair that is an image of it, in the order of the tests."""
    names: dict[bytes, list[PairName]] = defaultdict(list)
    for name, form in trained.items():
        names[form].append(name)
    return [Match(test, name) for test, form in tests.items() for name in names.get(form, [])]


def puzzles_of(names: Iterable[PairName]) -> set[str]:
    """The puzzles that pairs belong to."""
    return {name.puzzle for name in names}
