"""The leakage audit of an ARC set: which pairs may be trained on, and what `audit.json` says about it.

The pairs to be scored, the test pairs of evaluation puzzles (or of those held out), are held against all others, and
ARC-AGI-1 against ARC-AGI-2. A trained image of one is dropped even where it is a demonstration of the very puzzle: 7
puzzles of ARC-AGI-1 have a test pair that a transform and a recolouring make of a demonstration.

An image is what the 8 dihedral transforms and the 10! permutations of colours make of a pair, question and
answer alike. Pairs that are images of each other have one canonical form, so comparing the forms of the tests
with those of the trained pairs decides the question for all images at once. All 10! and not only the 9! that
keep the background, which the augmentations are: a symbol-equivariant model that has seen a pair has seen
all its recolourings, and what differs up to more symmetries differs up to fewer. Translation moves a grid on
its canvas and leaves it as it is. Paper: section "ARC-AGI", data; the audit is ours.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from serrm.puzzles.arc import COLLECTIONS, Grid, NamedPairs, Pair, PairName
from serrm.puzzles.dihedral import NUM_TRANSFORMS, transformed

Entries = dict[str, Any]  # of audit.json


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


def audit_pairs(pairs: NamedPairs, forms: Forms, *, drops: bool = True) -> tuple[set[PairName], Entries]:
    """The pairs to train on, and the findings.

    Those are all but the pairs to be scored and their images. Pairs that only have a question in common with
    one to be scored stay, and are listed.

    Args:
        forms: the canonical forms of these pairs and maybe of others.
        drops: whether the images are kept from training, or reported only.
    """
    tests, others = split_scored({name: forms[name] for name in pairs})
    leaks = find_matches(tests, others)
    dropped = {leak.trained for leak in leaks if drops}
    trained = {name: form for name, form in others.items() if name not in dropped}
    assert not drops or not find_matches(tests, trained), "an image of a pair to be scored is trained on"
    asked, known = split_scored(canonical_forms(pairs, question))
    equal_questions = find_matches(asked, {name: known[name] for name in trained})
    return set(trained), {
        "num_puzzles": count_puzzles(pairs),
        "num_test_pairs": len(tests),
        "num_trained_pairs": len(trained),
        "num_dropped_pairs": len(dropped),
        # One entry for each test pair and trained pair that were images of each other.
        "leaks": [_describe(leak, pairs, whole) for leak in leaks],
        "puzzles_without_trained_pairs": sorted(puzzles_of(pairs) - puzzles_of(trained)),
        "equal_questions": [_describe(match, pairs, question) for match in equal_questions],
    }


def audit_overlap(arc_agi_1: Forms, arc_agi_2: Forms) -> Entries:
    """What the two ARC-AGIs have in common.

    The last two entries are the pairs of one that are scored and, as they are or as images, trained on for the
    other: a model trained for the one must not be scored on them.
    """
    tests_1, trained_1 = split_scored(arc_agi_1)
    tests_2, trained_2 = split_scored(arc_agi_2)
    return {
        "overlaps": find_overlaps(arc_agi_1, arc_agi_2),
        "num_arc_agi_1_tests_trained_for_arc_agi_2": _num_matched(tests_1, trained_2),
        "num_arc_agi_2_tests_trained_for_arc_agi_1": _num_matched(tests_2, trained_1),
    }


def find_overlaps(first: Forms, second: Forms) -> list[Entries]:
    """What each collection of one set has in common with each of another, but for ConceptARC, which is in both.

    A shared pair is one of the first collection with an image in the second; the last two entries count the puzzles
    of either that have one.
    """
    entries = []
    for (one, forms), (other, others) in product(_by_collection(first), _by_collection(second)):
        shared = {*forms.values()} & {*others.values()}
        pairs, images = ([name for name, form in each.items() if form in shared] for each in (forms, others))
        entries.append(
            {
                "arc_agi_1": one,
                "arc_agi_2": other,
                "num_equal_names": len(puzzles_of(forms) & puzzles_of(others)),
                "num_shared_pairs": len(pairs),
                "num_puzzles_first": len(puzzles_of(pairs)),
                "num_puzzles_second": len(puzzles_of(images)),
            }
        )
    return entries


def _by_collection(forms: Forms) -> list[tuple[str, Forms]]:
    names = dict.fromkeys(name.collection for name in forms if name.collection != "concept")
    return [(each, {name: form for name, form in forms.items() if name.collection == each}) for each in names]


def split_scored(forms: Forms) -> tuple[Forms, Forms]:
    """The pairs to be scored, and the others."""
    tests = {name: form for name, form in forms.items() if name.is_evaluated}
    return tests, {name: form for name, form in forms.items() if not name.is_evaluated}


def _num_matched(tests: Forms, trained: Forms) -> int:
    return len({match.test for match in find_matches(tests, trained)})


def count_puzzles(pairs: Iterable[PairName]) -> dict[str, int]:
    """How many puzzles of each collection the pairs belong to; none of ConceptARC where it is not packaged.

    Those held out are counted where there are any.
    """
    counts = Counter(collection for _, collection in {(name.puzzle, name.collection) for name in pairs})
    return {collection: counts[collection] for collection in dict.fromkeys([*COLLECTIONS, *sorted(counts)])}


def _describe(match: Match, pairs: NamedPairs, compared: Compared) -> Entries:
    """The two pairs, and whether they agree as they are, without a transform or recolouring."""
    is_identical = all(map(np.array_equal, compared(pairs[match.test]), compared(pairs[match.trained])))
    names = {"test": match.test._asdict(), "trained": match.trained._asdict()}
    return names | {"is_identical": is_identical}
