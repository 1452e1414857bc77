"""`serrm solve` at the command line: any input, an answer or a reason for each puzzle, and the right exit code."""

import io
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from serrm.cli import main
from serrm.inference.predict import LoadedModel
from serrm.puzzles.sudoku.data import TEXT, generate_puzzles
from serrm.solving.solve import Answer, Status
from tests.conftest import MakeModel
from tests.oracle import is_right, make_oracle

EASY = "1.3.34...14...21"
MAZE = "S  #" + " # #" + "    " + "## G"
UNSOLVABLE = "123....4........"
OTHER_TASK = "the puzzle's task is maze, but the checkpoint's task is sudoku"
GOLDEN = {
    "text": f"""argument 1\t1234341221434321\tverified\t3 steps, 0.000 s
argument 2\t\tunsupported\t\t{OTHER_TASK}
argument 3\t\tcontradictory\t\tthe clues contradict one another
""",
    "csv": f"""place,task,question,answer,status,by,steps,attempts,seconds,remark
argument 1,sudoku,{EASY},1234341221434321,verified,network,3,1,0.000,
argument 2,maze,{MAZE},,unsupported,,0,0,0.000,"{OTHER_TASK}"
argument 3,sudoku,{UNSOLVABLE},,contradictory,,0,0,0.000,the clues contradict one another
""",
}


@pytest.fixture
def oracle(untrained: MakeModel, monkeypatch: pytest.MonkeyPatch) -> LoadedModel:
    """The command finds a model that solves every Sudoku at its third step."""
    loaded = untrained()
    make_oracle(loaded.model, lambda question, _: 3)
    monkeypatch.setattr("serrm.solving.model.load_model", lambda folder, device, **_: loaded)
    return loaded


def solve(*arguments: object) -> int:
    """The exit code of the command with the packaged checkpoint, for which a test's `oracle` stands in."""
    return main(["solve", *map(str, arguments), "--checkpoint", "sudoku"])


def pipe(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let standard input be a text."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogatepass"))))


@pytest.mark.usefixtures("oracle")
def test_arguments_standard_input_and_files_go_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.csv"
    table.write_text(f"source,question\nx,{EASY}\n")
    options = ["--format", "json", "--ordered"]
    pipe(monkeypatch, f"{EASY}\r\n\n{EASY}")
    assert solve(table, "-", EASY, *options, "--out", tmp_path / "answers") == 0
    answers = [json.loads(line) for line in (tmp_path / "answers").read_text().splitlines()]
    places = [f"{table}:2", "standard input:1", "standard input:3", "argument 3"]
    assert [answer["place"] for answer in answers] == places
    assert all(is_right(answer["question"], answer["answer"]) for answer in answers)
    pipe(monkeypatch, EASY)
    assert solve(*options) == 0
    assert json.loads(capsys.readouterr().out)["question"] == EASY


@pytest.mark.parametrize("bad", ["..5", "\udcff", "ä…", '{"question": "1"', MAZE[1:], "[[1, 2]]"])
def test_a_bad_puzzle_is_one_line_before_anything_is_solved(
    tmp_path: Path, bad: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "puzzles.txt"
    file.write_text(f"{EASY}\n{bad}\n", errors="replace")
    for puzzle, place in ((bad, "argument 2"), (str(file), f"{file}:2")):
        assert solve(EASY, puzzle) == 1
        out, err = capsys.readouterr()
        assert out == "" and err.startswith(f"error: {place}") and err.count("\n") == 1


@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize("notation", GOLDEN)
def test_answers_go_to_the_terminal_or_to_a_complete_file(
    notation: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "new" / "answers"
    arguments = [EASY, MAZE, UNSOLVABLE, "--ordered", "--format", notation]
    assert solve(*arguments) == solve(*arguments, "--out", target) == 1
    assert [path.name for path in target.parent.iterdir()] == ["answers"]
    for text in (capsys.readouterr().out, target.read_text()):
        assert re.sub(r"\b0\.\d+", "0.000", text) == GOLDEN[notation]


DRAWN = " 1 2 │ 3 4 \n 3 4 │ 1 2 \n─────┼─────\n 2 1 │ 4 3 \n 4 3 │ 2 1 \n"


@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize(
    ("arguments", "begin"),
    [
        ([EASY], f"{DRAWN}verified: 3 steps, "),
        ([MAZE], f"unsupported: {OTHER_TASK}\n"),
        ([EASY, "--format", "csv"], "place,task,"),
        ([EASY, EASY], "argument 1\t"),
    ],
)
def test_on_a_terminal_one_puzzle_is_drawn_above_its_status(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], begin: str
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLORTERM", "truecolor")  # as in other tests: rich keeps what a style is in the first
    monkeypatch.setenv("TERM", "xterm")
    solve(*arguments)
    assert re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out).startswith(begin)


def test_a_terminal_is_not_an_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert solve() == 2
    assert capsys.readouterr().err.count("\n") == 1
    pipe(monkeypatch, "\n  \n# nothing\n")
    assert solve() == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.usefixtures("oracle")
def test_a_trace_is_drawn_in_the_terminal_or_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert solve(EASY, "--trace") == 0
    out = capsys.readouterr().out
    assert "question" in out and "after 1 step" in out and "after 3 steps" in out
    assert "after 2 steps" not in out, "nothing changed there"
    for suffix, num_frames in ((".png", 1), (".gif", 3)):  # the question, and after 1 and 3 steps
        target = tmp_path / f"trace{suffix}"
        assert solve(EASY, EASY, "--trace-file", target) == 0
        with Image.open(target) as image:
            assert image.width > 100 and getattr(image, "n_frames", 1) == num_frames
    assert len([*tmp_path.iterdir()]) == 2 and "after 1 step" not in capsys.readouterr().out


@pytest.mark.usefixtures("oracle")
def test_a_pipe_is_written_through_and_a_link_followed(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    assert solve(EASY, "--out", pipe) == 0
    reader.join(20)
    assert "1234341221434321" in read[0] and pipe.is_fifo()
    (tmp_path / "link").symlink_to("target")
    for _ in range(2):
        assert solve(EASY, "--out", tmp_path / "link") == 0
        assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_text().count("\n") == 1
    assert solve(EASY, "--out", "/dev/null") == 0
    assert Path("/dev/null").is_char_device()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe", "target"]


@pytest.mark.usefixtures("oracle")
def test_answers_before_an_interrupt_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def interrupted(questions: Any, *arguments: Any) -> Iterator[tuple[int, Answer]]:
        for number, question in enumerate(questions[:2]):
            yield number, Answer(question.place, "sudoku", question.text, None, Status.UNVERIFIED)
        raise KeyboardInterrupt

    monkeypatch.setattr("serrm.solving.model.solve", interrupted)
    caplog.set_level("INFO")
    assert solve(EASY, EASY, EASY, "--out", tmp_path / "answers") == 130
    assert (tmp_path / "answers").read_text().count("\n") == 2
    assert re.search(rf"\b2\b.*\b3\b.*{tmp_path / 'answers'}", caplog.text)


@pytest.mark.slow
def test_a_closed_pipe_ends_the_command(tmp_path: Path) -> None:
    file = tmp_path / "many.txt"
    file.write_text(f"{EASY}\n" * 20_000)
    options = ["--checkpoint", "sudoku", "--budget", "1", "--precision", "float32"]
    command = [sys.executable, "-m", "serrm.cli", "solve", str(file), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(120) == 1
        assert process.stderr.read() == ""


def test_the_packaged_checkpoint_solves_fresh_puzzles(capsys: pytest.CaptureFixture[str]) -> None:
    puzzles = [*generate_puzzles(9, 4, np.random.default_rng(77), (40, 45))]
    questions, answers = (
        [TEXT.format(getattr(each, part)) for each in puzzles] for part in ("question", "answer")
    )
    assert main(["solve", "--budget", "32", "--exact", *questions]) == 0
    out = capsys.readouterr().out
    assert all(answer in out for answer in answers)
