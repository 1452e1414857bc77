"""Raw ARC files become one audited set: every pair of the chosen puzzles as a row of Parquet.

This is the work of the `augment` stage for ARC: puzzles that fit the canvas, a seeded subset of them, and for
each pair whether it is trained on. Those are the demonstrations of all puzzles and the test pairs of training
and concept puzzles, unless the audit finds one to be an image of a pair that is scored. (Transforms and colour
permutations are applied when a batch is gathered.) Settings are chosen on training puzzles held out: they are
scored in place of the evaluation puzzles, of which then nothing is used. Paper: section "ARC-AGI", data.
"""

import logging
from collections.abc import Collection as Contained
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from serrm.datasets.arc_audit import Forms, audit_overlap, audit_pairs, canonical_forms, count_puzzles
from serrm.files import write_json
from serrm.manifest import check_manifest, new_directory
from serrm.puzzles.arc import SCORED, ArcPuzzle, NamedPairs, Pair, PairName, named_pairs
from serrm.puzzles.arc_data import VERSIONS, ArcSubsetSettings, Version, read_raw
from serrm.randomness import Purpose, keyed_rng

logger = logging.getLogger(__name__)

PARTS = ("question", "answer")
PAIRS = "pairs.parquet"
AUDIT = "audit.json"


def write_arc_sets(raw: Path, target: Path, settings: ArcSubsetSettings, version: Version) -> None:
    """Write `pairs.parquet` and `audit.json` of one ARC-AGI to the directory `target`.

    `raw` is what the `download` stage wrote, with ConceptARC if it is there. The seed decides both draws; a larger
    draw of one seed holds a smaller one. ValueError if the raw files are not those of the manifest, a file is
    malformed, or there are fewer puzzles than asked for; nothing is left behind.
    """
    check_manifest(raw)
    published = {number: read_raw(raw, number) for number in VERSIONS}
    forms = {number: canonical_forms(named_pairs(puzzles)) for number, puzzles in published.items()}
    fitting = [puzzle for puzzle in published[version] if largest_side(puzzle) <= settings.canvas]
    used = fitting
    if settings.scored == "held_out":
        used = hold_out(fitting, settings, close_to_evaluation(forms.values()))
    pairs = named_pairs(draw_puzzles(used, settings))
    held_out = {name: pair for name, pair in pairs.items() if name.collection == "held_out"}
    all_forms = forms[version] | canonical_forms(held_out)
    trained, findings = audit_pairs(pairs, all_forms, drops=settings.audit == "drop")
    report = {
        "version": version,
        "canvas": settings.canvas,
        "seed": settings.seed,
        "num_published": count_puzzles(forms[version]),
        "num_fitting": count_puzzles(named_pairs(fitting)),
        **findings,
        **audit_overlap(forms[1], forms[2]),
    }
    with new_directory(target) as directory:
        write_pairs(directory / PAIRS, pairs, trained)
        write_json(directory / AUDIT, report)
    nums = report["num_puzzles"], report["num_dropped_pairs"]
    logger.info("%s: puzzles %s, dropped pairs %d", target, *nums)


def largest_side(puzzle: ArcPuzzle) -> int:
    """Rows or columns, whichever are more, of the puzzle's largest grid."""
    pairs = puzzle.demonstrations + puzzle.tests
    largest: int = max(max(grid.shape) for pair in pairs for grid in (pair.question, pair.answer))
    return largest


def draw_puzzles(puzzles: Sequence[ArcPuzzle], settings: ArcSubsetSettings) -> list[ArcPuzzle]:
    """Random subsets of the training and concept puzzles and of those to score, in their order."""
    train = [puzzle for puzzle in puzzles if puzzle.collection not in SCORED]
    test = [puzzle for puzzle in puzzles if puzzle.collection in SCORED]
    drawn = {
        *_draw(
            train, settings.num_train, keyed_rng(settings.seed, Purpose.SUBSET, 0), "training and concept"
        ),
        *_draw(test, settings.num_test, keyed_rng(settings.seed, Purpose.SUBSET, 1), "evaluation"),
    }
    return [puzzle for puzzle in puzzles if puzzle in drawn]


def hold_out(
    puzzles: Sequence[ArcPuzzle], settings: ArcSubsetSettings, barred: Contained[str]
) -> list[ArcPuzzle]:
    """The puzzles without the evaluation ones, with `num_test` of the training puzzles as held out; in their order.

    Those with a name in `barred` are not held out. ValueError if there are not that many.
    """
    free = [puzzle for puzzle in puzzles if puzzle.collection == "training" and puzzle.name not in barred]
    rng = keyed_rng(settings.seed, Purpose.SUBSET, 2)
    drawn = {puzzle.name for puzzle in _draw(free, settings.num_test, rng, "held-out training")}
    return [
        replace(puzzle, collection="held_out") if puzzle.name in drawn else puzzle
        for puzzle in puzzles
        if puzzle.collection != "evaluation"
    ]


def close_to_evaluation(forms: Iterable[Forms]) -> set[str]:
    """Puzzles that have a pair or its image, or the name, of an evaluation puzzle of any of these sets.

    Most evaluation puzzles of ARC-AGI-1 are training puzzles of ARC-AGI-2: whoever chooses on those has chosen on
    what is scored.
    """
    named = [(name, form) for of_set in forms for name, form in of_set.items()]
    evaluated = {form for name, form in named if name.collection == "evaluation"}
    return {name.puzzle for name, form in named if form in evaluated}


def _draw(
    puzzles: Sequence[ArcPuzzle], num: int | None, rng: np.random.Generator, what: str
) -> Sequence[ArcPuzzle]:
    if num is None:
        return puzzles
    if num > len(puzzles):
        raise ValueError(f"{num} {what} puzzles asked for, {len(puzzles)} there")
    return [puzzles[place] for place in rng.permutation(len(puzzles))[:num]]


def schema() -> Any:
    """pyarrow's description of the columns.

    `number` counts from 0 within the role, "demonstration" or "test"; grids are colours 0…9, row by row.
    """
    import pyarrow as pa

    names = [(name, pa.string()) for name in ("puzzle", "collection", "role")]
    facts = [("number", pa.int32()), ("is_trained", pa.bool_())]
    sizes = [(f"{part}_{axis}", pa.uint8()) for part in PARTS for axis in ("rows", "cols")]
    return pa.schema([*names, *facts, *sizes, *((part, pa.binary()) for part in PARTS)])


def write_pairs(path: Path, pairs: NamedPairs, trained: Contained[PairName]) -> None:
    """Write one row a pair, in the order given."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def row(name: PairName, pair: Pair) -> dict[str, Any]:
        facts = name._asdict() | {"is_trained": name in trained}
        for part, grid in zip(PARTS, (pair.question, pair.answer), strict=True):
            num_rows, num_columns = grid.shape
            facts |= {f"{part}_rows": num_rows, f"{part}_cols": num_columns, part: grid.tobytes()}
        return facts

    rows = [row(name, pair) for name, pair in pairs.items()]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema()), path)
