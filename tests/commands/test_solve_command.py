"""`serrm solve` at the command line: any input, an answer or a reason for each puzzle, and the right exit code."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from serrm.cli import main
from serrm.inference.load import LoadedModel
from serrm.solving.model import packaged
from tests.oracle import is_right, make_oracle

EASY = "1.3.34...14...21"
MAZE = "S  #" + " # #" + "    " + "## G"


@pytest.fixture(scope="module")
def checkpoint(write_untrained: Callable[..., Path]) -> Path:
    return write_untrained()


@pytest.fixture
def oracle(untrained: Callable[..., LoadedModel], monkeypatch: pytest.MonkeyPatch) -> LoadedModel:
    """The command finds a model that solves every Sudoku at its third step."""
    loaded = untrained()
    make_oracle(loaded.model, lambda question, _: 3)
    monkeypatch.setattr("serrm.solving.model.load_model", lambda folder, device: loaded)
    return loaded


def pipe(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let standard input be a text."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogatepass"))))


def test_arguments_standard_input_and_files_go_together(
    oracle: LoadedModel,
    checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = tmp_path / "table.csv"
    table.write_text(f"source,question\nx,{EASY}\n")
    options = ["--checkpoint", str(checkpoint), "--format", "json"]
    pipe(monkeypatch, f"{EASY}\r\n\n{EASY}")
    assert main(["solve", str(table), "-", EASY, *options]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    places = [f"{table}:2", "standard input:1", "standard input:3", "argument 3"]
    assert [answer["place"] for answer in answers] == places
    assert all(is_right(answer["question"], answer["answer"]) for answer in answers)
    pipe(monkeypatch, EASY)
    assert main(["solve", *options]) == 0
    assert json.loads(capsys.readouterr().out)["question"] == EASY


@pytest.mark.parametrize("notation", ["csv", "json", "text"])
def test_answers_are_written_to_a_file_that_appears_whole(
    oracle: LoadedModel, checkpoint: Path, tmp_path: Path, notation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "new" / "answers"
    arguments = ["solve", EASY, 'x"y,', "--checkpoint", str(checkpoint), "--out", str(target)]
    assert main([*arguments, "--format", notation]) == 1
    assert capsys.readouterr().out == ""
    assert [path.name for path in target.parent.iterdir()] == ["answers"]
    with target.open(newline="") as file:
        rows = {
            "csv": lambda: list(csv.DictReader(file)),
            "json": lambda: [json.loads(line) for line in file],
            "text": lambda: [{"answer": line.split("\t")[0], "status": line.split("\t")[1]} for line in file],
        }[notation]()
    assert [row["status"] for row in rows] == ["verified", "malformed"]
    assert is_right(EASY, rows[0]["answer"])
    if notation != "text":
        assert [row["question"] for row in rows] == [EASY, 'x"y,']
        assert [int(row["steps"]) for row in rows] == [3, 0]
        assert rows[1]["remark"] == "no box shape for a grid of side 2"


def test_a_failure_leaves_no_file(
    oracle: LoadedModel, checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forward = oracle.model.forward

    def fails(state: Any, tokens: Any, task_vectors: Any = None) -> Any:
        if tokens.shape[1] == 36:
            raise ValueError("out of luck")
        return forward(state, tokens, task_vectors)

    oracle.model.forward = fails  # type: ignore[method-assign]
    target = tmp_path / "answers"
    arguments = ["solve", EASY, "." * 36, "--checkpoint", str(checkpoint), "--out", str(target)]
    assert main(arguments) == 1
    assert capsys.readouterr().err == "error: out of luck\n"
    assert list(tmp_path.iterdir()) == []


# Lines that are no puzzle, whatever is drawn.
BAD = st.one_of(
    st.integers(1, 80).filter(lambda num: num not in (4, 16, 36, 64)).map(lambda num: "." * num),
    st.integers(1, 900).map(lambda num: '{"question": "' + "1" * num),
    st.sampled_from([MAZE.replace("S", "G"), MAZE[1:], MAZE + MAZE, MAZE.replace("#", "##"), MAZE + "!"]),
    st.recursive(st.integers() | st.floats() | st.none(), lambda inner: st.lists(inner, max_size=3))
    .map(lambda value: json.dumps({"grid": [value]})),
    st.binary(min_size=1, max_size=12).map(lambda raw: "x" + raw.decode("latin-1")),
).map(lambda line: "".join(line.splitlines()))  # fmt: skip


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(BAD, min_size=10, max_size=14), st.randoms(use_true_random=False))
def test_bad_lines_are_told_and_good_ones_answered(
    oracle: LoadedModel,
    checkpoint: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    bad: list[str],
    random: Any,
) -> None:
    lines = [*bad, EASY, EASY]
    random.shuffle(lines)
    pipe(monkeypatch, "\n".join(lines))
    assert main(["solve", "--checkpoint", str(checkpoint), "--format", "json"]) == 1
    out, err = capsys.readouterr()
    answers = [json.loads(line) for line in out.splitlines()]
    assert "Traceback" not in out + err
    verified, others = (
        [each for each in answers if (each["status"] == "verified") == is_verified]
        for is_verified in (True, False)
    )
    places = [f"standard input:{n}" for n, line in enumerate(lines, start=1) if line == EASY]
    assert [(each["place"], each["question"]) for each in verified] == [(place, EASY) for place in places]
    assert all(is_right(EASY, each["answer"]) for each in verified)
    assert len(others) >= len(bad) and {each["status"] for each in others} == {"malformed"}
    assert all(each["remark"] and not each["answer"] for each in others)


def test_a_bad_argument_is_one_line_on_any_terminal(
    oracle: LoadedModel, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for notation in ("text", "csv", "json"):
        arguments = ["solve", "\udcff", "ä…", EASY, "--checkpoint", str(checkpoint), "--format", notation]
        assert main(arguments) == 1
        out, err = capsys.readouterr()
        assert out.count("malformed") == 2
        assert out.count("verified") == 1
        assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments", [["--max-steps", "0"], ["--format", "xml"], ["--trace-file", "picture.jpg"], ["--nonsense"]]
)
def test_a_usage_error_is_one_line_and_2(
    arguments: list[str], checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", EASY, "--checkpoint", str(checkpoint), *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1


@pytest.mark.parametrize("name", packaged())
def test_a_packaged_checkpoint_has_a_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["solve", EASY, "--checkpoint", name, "--precision", "bfloat16", "--guesses", "50"]
    assert main([*arguments, "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "verified" and is_right(EASY, answer["answer"])


def test_without_puzzles_a_terminal_is_no_input(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert main(["solve", "--checkpoint", str(checkpoint)]) == 2
    assert "give a puzzle or a file, or pipe puzzles in" in capsys.readouterr().err
    pipe(monkeypatch, "\n  \n# nothing\n")
    assert main(["solve", "--checkpoint", str(checkpoint)]) == 1
    assert capsys.readouterr().err == "error: no puzzle in the input\n"


def test_a_trace_in_the_terminal(
    oracle: LoadedModel, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", EASY, "bad", "--checkpoint", str(checkpoint), "--trace"]) == 1
    out = capsys.readouterr().out
    assert "argument 1" in out
    assert "question" in out and "after 1 step" in out and "after 3 steps" in out
    assert "after 2 steps" not in out, "nothing changed there"
    assert out.splitlines()[-2].split("\t")[1] == "verified"


@pytest.mark.parametrize("suffix", [".png", ".gif"])
def test_a_trace_as_a_picture(
    oracle: LoadedModel, checkpoint: Path, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / f"trace{suffix}"
    assert main(["solve", EASY, EASY, "--checkpoint", str(checkpoint), "--trace-file", str(target)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
    with Image.open(target) as image:
        assert image.width > 100 and image.height > 100
        frames = getattr(image, "n_frames", 1)
        assert frames == (3 if suffix == ".gif" else 1)  # the question, and after 1 and 3 steps
    assert "after 1 step" not in capsys.readouterr().out


@pytest.mark.slow
def test_whoever_reads_may_stop(checkpoint: Path, tmp_path: Path) -> None:
    file = tmp_path / "many.txt"
    file.write_text(f"{EASY}\n" * 20_000)
    command = [sys.executable, "-m", "serrm.cli", "solve", str(file), "--checkpoint", str(checkpoint)]
    with subprocess.Popen(
        [*command, "--max-steps", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(120) == 1
        assert process.stderr.read() == ""
