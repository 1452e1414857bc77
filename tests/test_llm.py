"""`serrm ask`: a file of puzzles through a chat API to scores, which are those of every other model."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from serrm.cli import main
from serrm.llm import draw_puzzles, find_grid, format_rows, prompt_for, score
from serrm.puzzles.raw import Puzzle
from serrm.puzzles.sudoku.data import TEXT as SUDOKU_TEXT
from serrm.puzzles.sudoku.data import generate_puzzles
from serrm.puzzles.tables import write_table
from serrm.puzzles.tasks import grid_task
from serrm.scoring.metrics import metrics_of
from serrm.scoring.tally import Tally
from tests.chat_server import ChatServer, serving


def answer_of(puzzle: Puzzle) -> np.ndarray:
    assert puzzle.answer is not None
    return puzzle.answer


@pytest.fixture(scope="module")
def puzzles() -> list[Puzzle]:
    rng = np.random.default_rng(7)
    fours = generate_puzzles(4, 8, rng, (6, 9))
    return [*fours, *generate_puzzles(9, 2, rng, (40, 50))]


@pytest.fixture
def server(puzzles: list[Puzzle], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A server that knows the answers to puzzles.csv in the current folder."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.0)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.chdir(tmp_path)
    write_table(SUDOKU_TEXT, "puzzles.csv", puzzles)
    known = {prompt_for(puzzle.question): format_rows(answer_of(puzzle)) for puzzle in puzzles}
    with serving(lambda prompt: f"Here it is.\n```\n{known[prompt]}\n```") as chat:
        yield chat


def ask(server: ChatServer, *more: str) -> int:
    return main(["ask", "--server", server.address, "--model", "m", "--puzzles", "puzzles.csv", *more])


def test_scores_are_shown_and_written_and_a_puzzle_without_a_response_is_left_out(
    server: ChatServer,
    puzzles: list[Puzzle],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    others = {prompt_for(puzzles[0].question): "I can't.", prompt_for(puzzles[5].question): 500}
    normal = server.reply
    server.reply = lambda prompt: others.get(prompt) or normal(prompt)
    monkeypatch.setenv("MY_KEY", "sk-1")
    options = ["--extra", '{"max_tokens": 9}', "--key-variable", "MY_KEY", "--concurrency", "1"]
    assert ask(server, *options, "--json", "new/scores.json") == 1
    assert "100.00 (34.24 to 100.00)" in capsys.readouterr().out
    text = Path("new/scores.json").read_text()
    entry = json.loads(text)["sets"]["4x4"]
    assert (entry["num_puzzles"], entry["num_answered"], entry["num_without_response"]) == (7, 6, 1)
    assert (entry["scores"]["fsr"], entry["scores"]["gpa_answered"], entry["replies"][0]) == (
        6 / 7,
        1.0,
        "I can't.",
    )
    assert {(body["model"], body["max_tokens"]) for body in server.bodies} == {("m", 9)}
    assert len(server.bodies) == 10 + 3, "it is tried again"
    assert server.keys == {"Bearer sk-1"} and "sk-1" not in text


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--extra", "[1]"], 2, "'[1]' is not a JSON object"),
        (["--key-variable", "NOT_SET_HERE"], 2, "NOT_SET_HERE is not set"),
        (["--puzzles", "damaged.txt"], 1, "damaged.txt:1"),
        (["--server", "http://127.0.0.1:9/v1"], 1, "http://127.0.0.1:9/v1: "),
    ],
)
def test_wrong_options_are_one_line(
    server: ChatServer, capsys: pytest.CaptureFixture[str], more: list[str], code: int, message: str
) -> None:
    Path("damaged.txt").write_text("nonsense\n")
    assert ask(server, *more) == code
    error = capsys.readouterr().err
    assert error.splitlines()[-1].startswith("error: ") and message in error
    assert "Traceback" not in error and server.bodies == []


def test_answered_puzzles_score_as_every_other_model(puzzles: list[Puzzle]) -> None:
    tally, replies = Tally(grid_task("sudoku"), metrics_of("sudoku")), []
    for number, puzzle in enumerate(puzzles[:8]):
        grid = answer_of(puzzle).copy()
        if number % 2:
            place = int(np.argmin(puzzle.question))
            grid[place] = 2 + (grid[place] - 1) % 4
        replies.append(format_rows(grid))
        tally.add(*(part[None] for part in (puzzle.question, grid, answer_of(puzzle))))
    scores, expected = score(puzzles[:8], replies)["scores"], tally.scores()
    assert 0 < expected["fsr"] < 1
    for end in ("", "_lo", "_hi"):
        assert scores[f"fsr{end}"] == expected[f"fsr{end}"]
    for end in ("", "_effective"):
        assert scores[f"gpa_answered{end}"] == expected[f"gpa{end}"]


def test_missing_answers_are_computed(puzzles: list[Puzzle], tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    write_table(SUDOKU_TEXT, file, [replace(puzzle, answer=None) for puzzle in puzzles[8:]])
    found = draw_puzzles(file, None)["9x9"]
    assert [*map(format_rows, map(answer_of, found))] == [*map(format_rows, map(answer_of, puzzles[8:]))]


ROWS = [[1, 2, 3, 4], [3, 4, 1, 2], [2, 1, 4, 3], [4, 3, 2, 1]]
LINES = [" ".join(map(str, row)) for row in ROWS]
OTHER = "\n".join(reversed(LINES))


@pytest.mark.parametrize(
    ("reply", "rows"),
    [
        ("\n".join(f"| {line.replace(' ', ' | ')} |" for line in LINES), ROWS),
        (json.dumps(ROWS), ROWS),
        (f"<think>\n{OTHER}\n</think>\n" + "\n".join(LINES), ROWS),
        (f"{OTHER}\nNo, that was wrong:\n```\n" + "\n".join(LINES) + "\n```\nEach row has 1 to 4.", ROWS),
        ("I'm sorry, but I can't help with that.", None),
        ("\n".join(LINES[:3]), None),
        ("\n".join(LINES).replace("1", "5", 1), None),
        (f"<think>\n{OTHER}", None),
    ],
)
def test_the_last_whole_grid_of_a_reply_is_read(reply: str, rows: list[list[int]] | None) -> None:
    found = find_grid(reply, 4)
    assert (None if found is None else (found.reshape(4, 4) - 1).tolist()) == rows
