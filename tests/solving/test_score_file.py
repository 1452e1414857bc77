"""Scores of any file: the same as the stage's for the same puzzles, in any order and mixture."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from serrm.arrays.stream import PuzzleArrays
from serrm.cli import main
from serrm.inference.evaluate import score_set
from serrm.inference.predict import Predictor, load_model
from serrm.puzzles.raw import Puzzle
from serrm.puzzles.sudoku.data import TEXT as SUDOKU_TEXT
from serrm.puzzles.sudoku.data import generate_puzzles
from serrm.puzzles.tables import write_table
from serrm.scoring.schema import ScoredSet
from serrm.solving.score_file import as_dict, score_file
from tests.conftest import CLUES, MakePath
from tests.drawn import CPU

NUM = {4: 7, 6: 3, 9: 4}
Scorer = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def checkpoint(write_untrained: MakePath) -> Path:
    return write_untrained()


@pytest.fixture(scope="module")
def puzzles() -> list[Puzzle]:
    """Puzzles of three sizes, in random order."""
    rng = np.random.default_rng(0)
    found = [p for side in NUM for p in generate_puzzles(side, NUM[side], rng, CLUES[side])]
    return [found[index] for index in rng.permutation(len(found))]


@pytest.fixture
def score(checkpoint: Path, tmp_path: Path) -> Scorer:
    """Score puzzles as a CSV file."""

    def run(puzzles: list[Puzzle], checkpoint: Path = checkpoint, **options: Any) -> dict[str, Any]:
        write_table(SUDOKU_TEXT, tmp_path / "puzzles.csv", puzzles)
        return score_file(checkpoint, tmp_path / "puzzles.csv", **{"steps": 2, "device": CPU, **options})

    return run


def test_scores_are_those_of_the_stage(score: Scorer, checkpoint: Path, puzzles: list[Puzzle]) -> None:
    sets = score(puzzles, steps=4)["sets"]
    assert list(sets) == [f"puzzles_{side}x{side}" for side in NUM]
    for side in NUM:
        same_size = [puzzle for puzzle in puzzles if puzzle.side == side]
        questions = np.stack([puzzle.question for puzzle in same_size])
        answers = np.stack([puzzle.answer for puzzle in same_size if puzzle.answer is not None])
        arrays = PuzzleArrays(f"{side}x{side}", side, questions, answers, "sudoku")
        expected = score_set(Predictor(load_model(checkpoint, CPU), 8), arrays, (1, 2, 4))
        assert isinstance(expected, ScoredSet) and expected.num_puzzles == NUM[side]
        assert as_dict(expected) == sets[f"puzzles_{side}x{side}"]


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_order_and_batches_change_nothing(score: Scorer, puzzles: list[Puzzle], batch_size: int) -> None:
    assert score(puzzles)["sets"] == score(puzzles[::-1], batch_size=batch_size)["sets"]


def test_a_size_without_weights_is_said(
    score: Scorer, write_untrained: MakePath, puzzles: list[Puzzle]
) -> None:
    untied = write_untrained(model={"symbols": "untied"})
    sets = score(puzzles, checkpoint=untied)["sets"]
    assert [scores["status"] for scores in sets.values()] == [*["cannot_extrapolate"] * 2, "scored"]
    with pytest.raises(ValueError, match=r"\b11\b"):
        score([puzzle for puzzle in puzzles if puzzle.side == 4], checkpoint=untied)


def test_the_command_prints_and_writes_the_scores_or_nothing(
    checkpoint: Path, score: Scorer, puzzles: list[Puzzle], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores, file, target = score(puzzles), tmp_path / "puzzles.csv", tmp_path / "new" / "scores.json"
    command = ["evaluate", "--checkpoint", str(checkpoint), "--puzzles", str(file), "--json", str(target)]
    assert main([*command, "--steps", "2", "--device", "cpu"]) == 0
    assert json.loads(target.read_text()) == scores
    gpa = scores["sets"]["puzzles_9x9"]["steps"]["2"]["gpa"]
    printed = capsys.readouterr().out
    assert f"{100 * gpa:.2f} (" in printed and "\x1b" not in printed
    target.unlink()
    file.write_text(file.read_text() + "x,12,,\n")
    assert main(command) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {file}:16: ") and "'12'" in error and error.count("\n") == 1
    assert not list(target.parent.iterdir())
