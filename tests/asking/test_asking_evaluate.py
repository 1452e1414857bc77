"""Scores of a language model: the paper's counting, each puzzle asked once, and nothing finished ever lost."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from serrm.asking import client
from serrm.asking.evaluate import evaluate_language_model, language_model_metrics
from serrm.asking.prompts import format_rows, sudoku_prompt
from serrm.asking.questions import draw_sets
from serrm.puzzles.sudoku.parse import Puzzle
from serrm.scoring.intervals import rates
from serrm.scoring.metrics import SudokuTally
from tests.chat_server import Act, ChatServer, answer_of, fails, make_puzzles, right, says, serving

COUNTS = ("num_answered", "num_malformed", "num_refused", "num_error", "num_timeout")


@pytest.fixture(scope="module")
def puzzles() -> list[Puzzle]:
    return make_puzzles(s4=6, s9=4, s16=1)


@pytest.fixture
def server(puzzles: list[Puzzle], no_pauses: None) -> Iterator[ChatServer]:
    with serving(right(puzzles)) as held:
        yield held


@pytest.fixture
def ask(server: ChatServer, puzzles: list[Puzzle], tmp_path: Path) -> Callable[..., dict[str, Any]]:
    def run(**changes: Any) -> dict[str, Any]:
        settings = server.settings(**changes)
        return evaluate_language_model(draw_sets(puzzles, settings), settings, tmp_path / "replies.jsonl")

    return run


def counts(entry: dict[str, Any]) -> tuple[int, ...]:
    return tuple(entry[name] for name in COUNTS)


def instead(server: ChatServer, puzzle: Puzzle, act: Act) -> None:
    """Another reply to one puzzle."""
    before, prompt = server.behave, sudoku_prompt(puzzle.question)
    server.behave = lambda asked: act if asked == prompt else before(asked)


def test_answered_puzzles_score_as_every_other_model(
    ask: Callable[..., dict[str, Any]], server: ChatServer, puzzles: list[Puzzle]
) -> None:
    """Some answers have one wrong cell; FSR and GPA are those of the tally that scores our models."""
    tally = SudokuTally()
    for number, puzzle in enumerate(p for p in puzzles if p.side == 9):
        grid = answer_of(puzzle).copy()
        if number % 2:
            place = int(np.argmin(puzzle.question))
            grid[place] = grid[place] % 9 + 1
        instead(server, puzzle, says(format_rows(grid)))
        tally.add(*(part[None] + np.uint8(1) for part in (puzzle.question, grid, answer_of(puzzle))))
    entry = ask()["9x9"]
    expected = {name: value for name, value in tally.scores().items() if name != "gpa_guess"}
    assert {name: entry["scores"][name] for name in expected} == expected
    assert entry["num_blank"] == tally.num_blank


def test_refused_and_malformed_replies_are_unsolved_and_leave_gpa_to_the_answered(
    ask: Callable[..., dict[str, Any]], server: ChatServer, puzzles: list[Puzzle]
) -> None:
    fours = [puzzle for puzzle in puzzles if puzzle.side == 4]
    others = (
        says("I'm sorry, but I can't help with that."),
        says(None),
        says("1 2 3 4, and so on."),
        says("", finish_reason="length"),
    )
    for puzzle, act in zip(fours, others, strict=False):
        instead(server, puzzle, act)
    sets = ask()
    assert [(name, counts(entry)) for name, entry in sets.items()] == [
        ("4x4", (2, 2, 2, 0, 0)),
        ("9x9", (4, 0, 0, 0, 0)),
        ("16x16", (1, 0, 0, 0, 0)),
    ]
    num_blank = sum(int(np.sum(puzzle.question == 0)) for puzzle in fours[4:])
    assert (sets["4x4"]["num_puzzles"], sets["4x4"]["num_blank"]) == (6, num_blank)
    assert sets["4x4"]["scores"] == rates({"fsr": (2, 6), "gpa_answered": (num_blank, num_blank)})
    assert sets["9x9"]["scores"]["gpa"] == 1.0


def test_no_response_is_left_out_and_asked_again(
    ask: Callable[..., dict[str, Any]],
    server: ChatServer,
    puzzles: list[Puzzle],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client, "NUM_RETRIES", 1)
    normal = server.behave
    nines = [puzzle for puzzle in puzzles if puzzle.side == 9]
    instead(server, nines[0], fails(500))
    instead(server, nines[1], Act(b"{"))
    instead(server, nines[2], Act(says("").body, delay=2.0))
    entry = ask(timeout=0.4)["9x9"]
    assert counts(entry) == (1, 0, 0, 2, 1)
    assert (entry["num_puzzles"], entry["scores"]["fsr"]) == (1, 1.0)
    server.behave, num_before = normal, len(server.prompts)
    assert counts(ask()["9x9"]) == (4, 0, 0, 0, 0)
    assert sorted(server.prompts[num_before:]) == sorted(sudoku_prompt(p.question) for p in nines[:3])


def test_a_larger_draw_asks_only_what_is_new(ask: Callable[..., dict[str, Any]], server: ChatServer) -> None:
    assert ask(num_puzzles={"4x4": 2, "9x9": 1, "16x16": 0}).keys() == {"4x4", "9x9"}
    assert len(server.prompts) == 3
    assert ask(num_puzzles=3)["4x4"]["num_puzzles"] == 3
    assert ask(num_puzzles=3)["9x9"]["num_puzzles"] == 3  # nothing is left to ask
    assert len(server.prompts) == len(set(server.prompts)) == 3 + 3 + 1


def test_missing_answers_are_computed_and_unsolvable_puzzles_left_out(
    server: ChatServer, puzzles: list[Puzzle], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    unsolvable = np.zeros(81, np.uint8)
    unsolvable[:2] = 5
    asked = [Puzzle(unsolvable, None, 9), *(replace(p, answer=None) for p in puzzles if p.side == 9)]
    settings = server.settings()
    entry = evaluate_language_model(draw_sets(asked, settings), settings, tmp_path / "r.jsonl")["9x9"]
    assert (entry["num_puzzles"], entry["scores"]["fsr"]) == (4, 1.0)
    assert "9x9: 1 drawn puzzles have no solution" in caplog.text
    with pytest.raises(ValueError, match="no puzzle to ask"):
        draw_sets(asked[:1], settings)


def test_the_metric_file_says_how_the_model_was_asked(
    ask: Callable[..., dict[str, Any]], server: ChatServer, puzzles: list[Puzzle]
) -> None:
    instead(server, puzzles[0], says("I can't."))
    sets = ask()
    settings = server.settings(key_variable="SOME_KEY", extra={"reasoning_effort": "high"})
    metrics = language_model_metrics("tester_20b", "cpu", settings, sets)
    assert json.loads(json.dumps(metrics)) == metrics
    assert metrics["sets"] == sets
    assert metrics["model_info"]["family"] == "language_model"
    assert "SOME_KEY" not in json.dumps(metrics)
    how, *came = metrics["notes"]
    assert how == "asked over a chat API as tester, temperature 0.0, reasoning_effort high"
    assert came[0] == (
        "4×4: of 6 puzzles 5 answered, 0 malformed, 1 refused; GPA of the answered only: 100.00 ({:.2f}–100.00)"
    ).format(100 * sets["4x4"]["scores"]["gpa_answered_lo"])
    assert came[1] == "9×9: of 4 puzzles 4 answered, 0 malformed, 0 refused"
    sets["9x9"]["num_timeout"] = 1
    with pytest.raises(ValueError, match="9x9: no response to 1 puzzles"):
        language_model_metrics("tester_20b", "cpu", settings, sets)
