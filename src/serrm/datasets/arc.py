"""The stage `choose_puzzles` of ARC-AGI: every pair of the chosen puzzles as a row of Parquet, and the leakage audit.

The stage keeps the puzzles that fit the canvas, draws a seeded subset, and marks the pairs to train on: the
demonstrations of all puzzles, and the test pairs of training and concept puzzles, except pairs that the audit finds
equivalent to a scored pair. Augmentations are applied when a batch is gathered, not here. Settings are chosen on
held-out training puzzles, which are scored instead of the evaluation puzzles; the latter are then not used at all.

Two pairs are equivalent if one of the 8 dihedral transforms and one of the 10! permutations of colours, the same for
question and answer, turn one into the other. Equivalent pairs have the same canonical form, so comparing the forms of
the tests with those of the trained pairs covers all augmentations at once. Augmentations keep the background and so use
only 9! permutations, but a symbol-equivariant model that has seen a pair has seen all its recolourings. Pairs that none
of the 10! permutations makes equal are not made equal by one of the 9! either, so nothing is missed. Translation moves
a grid on its canvas and does not change it. A trained pair is dropped even if it is a demonstration of the same puzzle:
7 puzzles of ARC-AGI-1 have a test pair that is equivalent to a demonstration. Paper: section "ARC-AGI", data; it has
no audit.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from serrm.core.files import new_directory, write_json
from serrm.core.randomness import Purpose, keyed_rng
from serrm.puzzles.arc.data import VERSIONS, ArcSubsetSettings, Version, read_raw, read_rules
from serrm.puzzles.arc.grids import COLLECTIONS, SCORED, NamedPairs, PairName, RuleFacts, canonical_form

logger = logging.getLogger(__name__)

PARTS = ("question", "answer")
PAIRS = "pairs.parquet"
AUDIT = "audit.json"

Forms = dict[PairName, bytes]
Match = tuple[PairName, PairName]  # a scored pair, and a trained pair of the same canonical form
Entries = dict[str, Any]  # of audit.json


def write_arc_sets(raw: Path, target: Path, settings: ArcSubsetSettings, version: Version) -> None:
    """Write `pairs.parquet` and `audit.json` of one ARC-AGI to the directory `target`.

    `raw` is the directory that the `download` stage wrote, with or without ConceptARC. The seed decides all draws; a
    larger draw with the same seed contains a smaller one. ValueError if a file is malformed or there are fewer puzzles
    than requested; nothing is left behind.
    """
    published = {number: read_raw(raw, number) for number in VERSIONS}
    forms = {number: canonical_forms(pairs) for number, pairs in published.items()}
    fitting = fitting_pairs(published[version], settings.canvas)
    is_held_out = settings.scored == "held_out"
    used = hold_out(fitting, settings, close_to_evaluation(forms.values())) if is_held_out else fitting
    pairs = draw_puzzles(used, settings)
    held_out = {name: pair for name, pair in pairs.items() if name.collection == "held_out"}
    # Held-out pairs have a new collection in their names, so `forms` does not have them.
    trained, findings = audit_pairs(
        pairs, forms[version] | canonical_forms(held_out), drops=settings.audit == "drop"
    )
    report = {
        "version": version,
        "canvas": settings.canvas,
        "seed": settings.seed,
        "num_published": count_puzzles(forms[version]),
        "num_fitting": count_puzzles(fitting),
        **findings,
        **audit_overlap(forms[1], forms[2]),
    }
    with new_directory(target) as directory:
        write_pairs(directory / PAIRS, pairs, trained, read_rules(raw))
        write_json(directory / AUDIT, report)
    nums = report["num_puzzles"], report["num_dropped_pairs"]
    logger.info("%s: puzzles %s, dropped pairs %d", target, *nums)


def fitting_pairs(pairs: NamedPairs, canvas: int) -> NamedPairs:
    """Select the pairs of puzzles whose grids all fit on the canvas."""
    too_large = puzzles_of(
        name for name, pair in pairs.items() if max(pair.question.shape + pair.answer.shape) > canvas
    )
    return {name: pair for name, pair in pairs.items() if name.puzzle not in too_large}


def draw_puzzles(pairs: NamedPairs, settings: ArcSubsetSettings) -> NamedPairs:
    """Draw subsets of the training and concept puzzles and of the scored puzzles, and return their pairs in order."""
    puzzles = dict.fromkeys((name.puzzle, name.collection in SCORED) for name in pairs)
    train = [name for name, is_scored in puzzles if not is_scored]
    test = [name for name, is_scored in puzzles if is_scored]
    drawn = {
        *_draw(train, settings.num_train, settings.seed, 0, "training and concept"),
        *_draw(test, settings.num_test, settings.seed, 1, "evaluation"),
    }
    return {name: pair for name, pair in pairs.items() if name.puzzle in drawn}


def hold_out(pairs: NamedPairs, settings: ArcSubsetSettings, barred: Container[str]) -> NamedPairs:
    """Return the pairs of all but the evaluation puzzles, with `num_test` training puzzles marked as held out.

    Puzzles named in `barred` are not held out. ValueError if there are fewer than `num_test` others.
    """
    training = dict.fromkeys(name.puzzle for name in pairs if name.collection == "training")
    free = [puzzle for puzzle in training if puzzle not in barred]
    drawn = {*_draw(free, settings.num_test, settings.seed, 2, "held-out training")}
    return {
        name._replace(collection="held_out") if name.puzzle in drawn else name: pair
        for name, pair in pairs.items()
        if name.collection != "evaluation"
    }


def close_to_evaluation(forms: Iterable[Forms]) -> set[str]:
    """Name the evaluation puzzles in these sets, and all puzzles with a pair equivalent to one of theirs.

    Most evaluation puzzles of ARC-AGI-1 are training puzzles of ARC-AGI-2: settings chosen on the latter would be
    chosen on scored puzzles.
    """
    named = [(name, form) for forms_of_set in forms for name, form in forms_of_set.items()]
    evaluated = {form for name, form in named if name.collection == "evaluation"}
    return {name.puzzle for name, form in named if form in evaluated}


def _draw(puzzles: Sequence[str], num: int | None, seed: int, stream: int, kind: str) -> Sequence[str]:
    if num is None:
        return puzzles
    if num > len(puzzles):
        raise ValueError(f"{num} {kind} puzzles requested, {len(puzzles)} available")
    order = keyed_rng(seed, Purpose.SUBSET, stream).permutation(len(puzzles))
    return [puzzles[index] for index in order[:num]]


def schema() -> Any:
    """Return the pyarrow schema of `pairs.parquet`.

    `number` counts from 0 within the role, "demonstration" or "test"; grids are colours 0…9, row by row. Of generated
    puzzles `family`, `rule` and `num_parts` tell the rule; they are null for others.
    """
    import pyarrow as pa

    names = [(name, pa.string()) for name in ("puzzle", "collection", "role")]
    facts = [("number", pa.int32()), ("is_trained", pa.bool_())]
    sizes = [(f"{part}_{axis}", pa.uint8()) for part in PARTS for axis in ("rows", "cols")]
    of_rule = [("family", pa.string()), ("rule", pa.string()), ("num_parts", pa.uint8())]
    return pa.schema([*names, *facts, *sizes, *((part, pa.binary()) for part in PARTS), *of_rule])


def write_pairs(
    path: Path, pairs: NamedPairs, trained: Container[PairName], rules: Mapping[str, RuleFacts]
) -> None:
    """Write one row per pair, in the order given, with the rules of generated puzzles, by the puzzle's name."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = []
    for name, pair in pairs.items():
        row = name._asdict() | {"is_trained": name in trained}
        if facts := rules.get(name.puzzle):
            row |= facts._asdict()
        for part, grid in zip(PARTS, (pair.question, pair.answer), strict=True):
            num_rows, num_columns = grid.shape
            row |= {f"{part}_rows": num_rows, f"{part}_cols": num_columns, part: grid.tobytes()}
        rows.append(row)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema()), path)


# The audit.


def canonical_forms(pairs: NamedPairs, parts: Sequence[str] = PARTS) -> Forms:
    """Compute the canonical form of every pair: of question and answer, or of the question alone."""
    return {name: canonical_form([getattr(pair, part) for part in parts]) for name, pair in pairs.items()}


def find_matches(tests: Forms, trained: Forms) -> list[Match]:
    """Pair every test with every trained pair that is equivalent to it, in the order of the tests."""
    names: dict[bytes, list[PairName]] = defaultdict(list)
    for name, form in trained.items():
        names[form].append(name)
    return [(test, name) for test, form in tests.items() for name in names.get(form, [])]


def audit_pairs(pairs: NamedPairs, forms: Forms, *, drops: bool = True) -> tuple[set[PairName], Entries]:
    """Return the pairs to train on, and the findings.

    The pairs to train on are all except the scored pairs and their equivalents. Pairs that share only the question with
    a scored pair stay, and are listed.

    Args:
        forms: the canonical forms of these pairs, and possibly of others.
        drops: drop the equivalents from training; otherwise they are only reported.
    """
    tests, others = split_scored({name: forms[name] for name in pairs})
    leaks = find_matches(tests, others)
    dropped = {leak for _, leak in leaks if drops}
    trained = {name: form for name, form in others.items() if name not in dropped}
    assert not drops or not find_matches(tests, trained), "an equivalent of a pair to be scored is trained on"
    test_questions, other_questions = split_scored(canonical_forms(pairs, ["question"]))
    equal_questions = find_matches(test_questions, {name: other_questions[name] for name in trained})
    return set(trained), {
        "num_puzzles": count_puzzles(pairs),
        "num_test_pairs": len(tests),
        "num_trained_pairs": len(trained),
        "num_dropped_pairs": len(dropped),
        # One entry for each test pair and trained pair that are equivalent.
        "leaks": [_describe(match, pairs, PARTS) for match in leaks],
        "puzzles_without_trained_pairs": sorted(puzzles_of(pairs) - puzzles_of(trained)),
        "equal_questions": [_describe(match, pairs, ["question"]) for match in equal_questions],
    }


def _describe(match: Match, pairs: NamedPairs, parts: Sequence[str]) -> Entries:
    """Describe the two pairs as an entry of audit.json.

    `is_identical` is true if they are equal without transform or recolouring.
    """
    test, trained = match
    is_identical = all(
        getattr(pairs[test], part).tolist() == getattr(pairs[trained], part).tolist() for part in parts
    )
    return {"test": test._asdict(), "trained": trained._asdict(), "is_identical": is_identical}


def audit_overlap(arc_agi_1: Forms, arc_agi_2: Forms) -> Entries:
    """Count the scored pairs of one ARC-AGI that are equal or equivalent to trained pairs of the other.

    A model trained for one of them must not be scored on these pairs of the other.
    """
    (tests_1, trained_1), (tests_2, trained_2) = split_scored(arc_agi_1), split_scored(arc_agi_2)
    return {
        "num_arc_agi_1_tests_trained_for_arc_agi_2": len(dict(find_matches(tests_1, trained_2))),
        "num_arc_agi_2_tests_trained_for_arc_agi_1": len(dict(find_matches(tests_2, trained_1))),
    }


def split_scored(forms: Forms) -> tuple[Forms, Forms]:
    """Return the forms of the scored pairs, and those of the others."""
    tests = {name: form for name, form in forms.items() if name.is_scored}
    return tests, {name: form for name, form in forms.items() if not name.is_scored}


def puzzles_of(names: Iterable[PairName]) -> set[str]:
    """Name the puzzles that pairs belong to."""
    return {name.puzzle for name in names}


def count_puzzles(pairs: Iterable[PairName]) -> dict[str, int]:
    """Count the puzzles per collection; `held_out` has an entry only if there are held-out puzzles."""
    counts = Counter(collection for _, collection in {(name.puzzle, name.collection) for name in pairs})
    return {collection: counts[collection] for collection in dict.fromkeys([*COLLECTIONS, *sorted(counts)])}
