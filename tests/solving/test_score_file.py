"""Scores of any file: the same as the stage's for the same puzzles, in any order and mixture."""

import json
from collections.abc import Callable
from dataclasses import replace
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
from serrm.puzzles.sudoku.rules import BLANK
from serrm.puzzles.tables import write_table
from serrm.puzzles.task import Criterion
from serrm.puzzles.tasks import TASKS, grid_task
from serrm.scoring.schema import ScoredSet
from serrm.solving.score_file import as_dict, score_file
from tests.conftest import CLUES, MakePath
from tests.drawn import CPU
from tests.oracle import make_oracle

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
    assert list(sets) == ["4x4", "6x6", "9x9"]
    for side in NUM:
        own = [puzzle for puzzle in puzzles if puzzle.side == side]
        questions = np.stack([puzzle.question for puzzle in own])
        answers = np.stack([puzzle.answer for puzzle in own if puzzle.answer is not None])
        arrays = PuzzleArrays(f"{side}x{side}", side, questions, answers, "sudoku")
        expected = score_set(Predictor(load_model(checkpoint, CPU), 8), arrays, (1, 2, 4))
        assert isinstance(expected, ScoredSet) and expected.num_puzzles == NUM[side]
        assert as_dict(expected).items() <= sets[f"{side}x{side}"].items()


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_order_and_batches_change_nothing(score: Scorer, puzzles: list[Puzzle], batch_size: int) -> None:
    assert score(puzzles)["sets"] == score(puzzles[::-1], batch_size=batch_size)["sets"]


def test_missing_answers_are_computed(
    score: Scorer, checkpoint: Path, puzzles: list[Puzzle], tmp_path: Path
) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"{SUDOKU_TEXT.format(puzzle.question)}\n" for puzzle in puzzles))
    with_answers, without = score(puzzles)["sets"], score_file(checkpoint, lines, steps=2, device=CPU)
    for name, entry in without["sets"].items():
        assert entry["num_answers_computed"] == entry["num_puzzles"]
        assert {**entry, "num_answers_computed": 0} == with_answers[name]


def test_puzzles_without_solution_are_left_out_and_counted(score: Scorer, puzzles: list[Puzzle]) -> None:
    blank = np.full(81, BLANK, np.uint8)
    question = blank.copy()
    question[:2] = 6
    unsolvable = [Puzzle(question, None)] * 2
    sets = score([unsolvable[0], *puzzles, unsolvable[1]])["sets"]
    assert sets["9x9"]["num_without_solution"] == 2
    sets["9x9"]["num_without_solution"] = 0
    assert sets == score(puzzles)["sets"]
    with pytest.raises(ValueError, match="nothing to score: no puzzle with a blank cell and a solution"):
        score(unsolvable)


def test_a_missing_answer_is_not_called_a_missing_solution(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TASKS, "sudoku", replace(grid_task("sudoku"), solutions=None))
    file = tmp_path / "puzzles.txt"
    file.write_text("1.3.341.2..3.321\n")
    with pytest.raises(ValueError, match=r"puzzles\.txt:1: no answer\b"):
        score_file(checkpoint, file, steps=1, device=CPU)


def holds_always(questions: Any, answers: Any) -> Any:
    return np.full(len(questions), True)


@pytest.mark.parametrize("criteria", [{}, {"blank": Criterion(holds_always, "Any", "any answer")}])
def test_another_solution_than_the_answer_counts_and_is_said(
    criteria: dict[str, Criterion], checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TASKS, "sudoku", replace(grid_task("sudoku"), criteria=criteria))

    def knows(loaded: Any) -> Any:
        make_oracle(loaded.model, lambda question, _: 1)
        return loaded

    load = load_model
    monkeypatch.setattr("serrm.solving.score_file.load_model", lambda *where: knows(load(*where)))
    file = tmp_path / "puzzles.csv"
    solutions = [*grid_task("sudoku").solutions(SUDOKU_TEXT.read("1.3.34.........."), {})]
    rows = "".join(f"1.3.34..........,{SUDOKU_TEXT.format(each)}\n" for each in solutions)
    file.write_text(f"question,answer\n{rows}")
    entry = score_file(checkpoint, file, steps=1, device=CPU)["sets"]["4x4"]
    assert entry["num_other_solutions"] == {"1": len(solutions) - 1}
    assert entry["steps"]["1"]["fsr"] == 1


def test_a_size_that_the_model_cannot_take_is_said(
    score: Scorer, write_untrained: MakePath, puzzles: list[Puzzle]
) -> None:
    untied = write_untrained(model={"symbols": "untied"})
    sets = score([*puzzles, replace(puzzles[0], answer=None)], checkpoint=untied)["sets"]
    assert [entry["status"] for entry in sets.values()] == [*["cannot_extrapolate"] * 2, "scored"]
    with pytest.raises(ValueError, match=r"\b11\b"):
        score([puzzle for puzzle in puzzles if puzzle.side == 4], checkpoint=untied)


def test_the_command_prints_and_writes_the_scores_or_nothing(
    checkpoint: Path, score: Scorer, puzzles: list[Puzzle], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores, file, target = score(puzzles), tmp_path / "puzzles.csv", tmp_path / "new" / "scores.json"
    command = ["evaluate", "--checkpoint", str(checkpoint), "--puzzles", str(file), "--json", str(target)]
    assert main([*command, "--steps", "2", "--device", "cpu"]) == 0
    assert json.loads(target.read_text()) == scores
    gpa = scores["sets"]["9x9"]["steps"]["2"]["gpa"]
    printed = capsys.readouterr().out
    assert f"{100 * gpa:.2f} (" in printed and "\x1b" not in printed
    target.unlink()
    file.write_text(file.read_text() + "x,12,,\n")
    assert main(command) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {file}:16: ") and "'12'" in error and error.count("\n") == 1
    assert not list(target.parent.iterdir())
