"""`serrm show`: pictures in files and in the terminal, and one line for what went wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from serrm.cli import main
from tests.references import write_examples

SUDOKU = "1.3.341.2..3.321"
ANSWER = "1234341221434321"
PREDICTED = "1434341221434321"
TASK = {
    "train": [{"input": [[1, 2]], "output": [[2], [1]]}],
    "test": [{"input": [[6, 7, 8]], "output": [[7], [6], [9]]}],
}


@pytest.fixture
def sudokus(tmp_path: Path) -> Path:
    path = tmp_path / "puzzles.csv"
    path.write_text(f"source,question,answer,rating\na,{SUDOKU},{ANSWER},\nb,{SUDOKU},{ANSWER},2\n")
    return path


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    def tokens(text: str) -> list[int]:
        return [1 + "01234".find(character) if character != "." else 1 for character in text]

    trace = {"1": tokens(SUDOKU), "4": tokens(PREDICTED), "16": tokens(ANSWER)}
    example = {"set": "4x4", "side": 4, "name": "p1", "question": tokens(SUDOKU), "answer": tokens(ANSWER)}
    large = {"set": "9x9", "side": 9, "name": "p9", "question": [1] * 81, "answer": [2] * 81}
    large["predictions"] = dict.fromkeys(trace, [2] * 81)
    return write_examples(
        tmp_path / "sudoku-trm-s0", "sudoku", [{**example, "predictions": trace}, large]
    ).parent


@pytest.fixture
def arc(tmp_path: Path) -> Path:
    path = tmp_path / "abc123.json"
    path.write_text(json.dumps(TASK))
    return path


def shown(capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    assert main(["show", *map(str, arguments)]) == 0
    captured = capsys.readouterr()
    assert captured.err == "" and "\x1b" not in captured.out
    return captured.out


def refused(capsys: pytest.CaptureFixture[str], code: int, *arguments: Any) -> str:
    assert main(["show", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("error: ") and captured.err.count("\n") == 1
    return captured.err


def test_a_sudoku_and_its_answer_in_the_terminal(
    sudokus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answer is computed where the file has none."""
    plain = tmp_path / "plain.txt"
    plain.write_text(f"{SUDOKU}\n" * 2)
    for path in (sudokus, plain):
        assert " 1 . │ 3 .      1 2 │ 3 4 \n" in shown(capsys, path, "--number", 2, "--answer")
    assert shown(capsys, sudokus).startswith("puzzles.csv: puzzle 1\n")


def test_examples_show_how_an_answer_settled(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, examples).startswith("sudoku-trm-s0: 9x9"), "by default a puzzle of the main size"
    text = shown(capsys, examples, "--number", 1)
    assert text.startswith("sudoku-trm-s0: 4x4, p1\n")
    assert "after 16 steps" in text and "after 4 steps" not in text
    text = shown(capsys, examples, "--trace", "--number", 1)
    places = [text.index(f"after {steps} step") for steps in (1, 4, 16)]
    assert places == sorted(places)


def test_an_arc_puzzle_as_a_picture(arc: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "new" / "picture.png"
    assert shown(capsys, arc, "--out", target) == f"{target}: abc123\n"
    with Image.open(target) as image:
        assert image.width > 500
    shown(capsys, arc, "--out", target.with_suffix(".svg"))
    assert target.with_suffix(".svg").read_bytes().startswith(b"<svg")


@pytest.mark.parametrize(
    ("code", "named", "options"),
    [
        (2, "a.pdf", ["--out", "a.pdf"]),
        (2, "--puzzle", ["--puzzle", "a", "--number", 1]),
        (2, "", ["--number", 0]),
        (1, "puzzles.csv:", ["--number", 3]),
        (1, "puzzles.csv:", ["--trace"]),
    ],
)
def test_refusals(
    sudokus: Path, capsys: pytest.CaptureFixture[str], code: int, named: str, options: list[Any]
) -> None:
    assert named in refused(capsys, code, sudokus, *options)
