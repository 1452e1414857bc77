"""`serrm solve` at the command line: any input, an answer or a reason for each puzzle, and the right exit code."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from serrm.cli import main
from serrm.commands.trace import telling_steps
from serrm.inference.load import LoadedModel
from serrm.models.registry import build_model
from serrm.puzzles.sudoku.generate import generate_puzzles
from serrm.puzzles.sudoku.grid import box_for_side, is_solution
from serrm.puzzles.sudoku.text import format_grid, parse_grid
from serrm.solving.answers import Trace
from serrm.training.checkpoint import write_checkpoint
from serrm.training.settings import TrainCell
from tests.oracle import make_oracle

CLUES = {4: (6, 9), 6: (14, 20), 9: (40, 50), 16: (170, 200)}
EASY = "1.3.34...14...21"
MAZE = "S  #" + " # #" + "    " + "## G"
Cell = Callable[..., TrainCell]


@pytest.fixture(scope="module")
def cell(make_cell: Cell) -> TrainCell:
    return make_cell(model={"layers": 1, "h_cycles": 1, "l_cycles": 1})


@pytest.fixture(scope="module")
def checkpoint(cell: TrainCell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of an untrained model."""
    weights = build_model(cell.model, 11, torch.Generator().manual_seed(3)).state_dict()
    config = {"cell": cell.model_dump(mode="json"), "num_symbols": 11, "side": 9}
    target = tmp_path_factory.mktemp("runs") / "checkpoint"
    write_checkpoint(target, weights, {}, config)
    return target


@pytest.fixture
def oracle(cell: TrainCell, monkeypatch: pytest.MonkeyPatch) -> LoadedModel:
    """The command finds a model that solves every Sudoku at its third step."""
    loaded = LoadedModel(make_oracle(build_model(cell.model, 11), lambda question, _: 3), cell, {"side": 9})
    monkeypatch.setattr("serrm.solving.model.load_model", lambda folder, device: loaded)
    return loaded


@pytest.fixture(scope="module")
def puzzles() -> list[str]:
    """One of each size, and two of 9×9."""
    rng = np.random.default_rng(0)
    sizes = [*CLUES, 9]
    return [
        format_grid(p.question) for n in sizes for p in generate_puzzles(box_for_side(n), 1, rng, CLUES[n])
    ]


def pipe(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let standard input be a text."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogatepass"))))


def is_right(question: str, answer: str) -> bool:
    values, found = parse_grid(question), parse_grid(answer)
    keeps = all(given in (0, said) for given, said in zip(values, found, strict=True))
    return keeps and is_solution(found, box_for_side(round(len(values) ** 0.5)))


def test_puzzles_of_all_sizes_are_solved(
    oracle: LoadedModel, puzzles: list[str], checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", *puzzles, "--checkpoint", str(checkpoint)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(puzzles)
    for line, puzzle in zip(lines, puzzles, strict=True):
        answer, status, steps, seconds = line.split("\t")
        assert is_right(puzzle, answer)
        assert (status, steps) == ("verified", "3 steps")
        assert float(seconds.removesuffix(" s")) > 0


def test_arguments_standard_input_and_files_go_together(
    oracle: LoadedModel,
    puzzles: list[str],
    checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = tmp_path / "table.csv"
    table.write_text(f"source,question\nx,{puzzles[0]}\n")
    options = ["--checkpoint", str(checkpoint), "--format", "json"]
    pipe(monkeypatch, f"{puzzles[1]}\r\n\n{puzzles[2]}")
    assert main(["solve", str(table), "-", EASY, *options]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["place"] for answer in answers] == [
        f"{table}:2",
        "standard input:1",
        "standard input:3",
        "argument 3",
    ]
    assert all(is_right(answer["question"], answer["answer"]) for answer in answers)
    pipe(monkeypatch, puzzles[0])
    assert main(["solve", *options]) == 0
    assert json.loads(capsys.readouterr().out)["question"] == puzzles[0]


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
    st.builds(
        lambda cells, place, sign: cells[:place] + sign + cells[place + 1 :],
        st.sampled_from([EASY, "." * 81]),
        st.integers(0, 15),
        st.characters(codec="utf-8", exclude_characters="#0123456789.", exclude_categories=("Z", "C")),
    ),
    st.integers(1, 80).filter(lambda num: num not in (4, 16, 36, 64)).map(lambda num: "." * num),
    st.integers(1, 900).map(lambda num: '{"question": "' + "1" * num),
    st.sampled_from([MAZE.replace("S", "G"), MAZE[1:], MAZE + MAZE, MAZE.replace("#", "##"), MAZE + "!"]),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=2),
        max_leaves=5,
    )
    .map(lambda value: json.dumps({"grid": [value]}))
    .filter(lambda line: not line.startswith('{"grid": ["')),
    st.binary(min_size=1, max_size=12).map(lambda raw: "x" + raw.decode("latin-1")),
).map(lambda line: "".join(line.splitlines()))


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
    places = {f"standard input:{n}": line for n, line in enumerate(lines, start=1)}
    said = {place: [each for each in answers if each["place"].startswith(place)] for place in places}
    assert len(said) == len(lines)
    right = [each for each in answers if each["status"] == "verified"]
    assert [each["question"] for each in right] == [EASY, EASY]
    assert all(is_right(EASY, each["answer"]) for each in right)
    assert [places[each["place"]] for each in right] == [EASY, EASY]
    others = [each for each in answers if each["status"] != "verified"]
    assert len(others) >= len(bad)
    assert {each["status"] for each in others} == {"malformed"}
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
    "arguments",
    [
        ["--max-steps", "0"],
        ["--restarts", "-1"],
        ["--format", "xml"],
        ["--checkpoint", "missing"],
        ["--trace-file", "picture.jpg"],
        ["--nonsense"],
    ],
)
def test_a_usage_error_is_one_line_and_2(
    arguments: list[str], checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", EASY, "--checkpoint", str(checkpoint), *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1


def test_without_puzzles_a_terminal_is_no_input(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert main(["solve", "--checkpoint", str(checkpoint)]) == 2
    assert "give a puzzle or a file, or pipe puzzles in" in capsys.readouterr().err
    pipe(monkeypatch, "\n  \n# nothing\n")
    assert main(["solve", "--checkpoint", str(checkpoint)]) == 1
    assert capsys.readouterr().err == "error: no puzzle in the input\n"


def test_the_packaged_checkpoint_is_the_default(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("serrm.solving.model.PACKAGED", tmp_path)
    assert main(["solve", EASY]) == 1
    error = capsys.readouterr().err
    assert "none of the packaged checkpoints (there are none)" in error and error.count("\n") == 1
    (tmp_path / "sudoku").symlink_to(checkpoint)
    assert main(["solve", EASY, "--max-steps", "1"]) in (0, 1)
    assert capsys.readouterr().out.count("\t") >= 3


def test_what_is_no_checkpoint_fails_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", EASY, "--checkpoint", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert "no checkpoint here" in error and error.count("\n") == 1


def test_exactly_solved_after_the_network_failed(
    checkpoint: Path, puzzles: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--checkpoint", str(checkpoint), "--max-steps", "1", "--format", "json"]
    assert main(["solve", *puzzles, *arguments]) == 1
    plain = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {answer["status"] for answer in plain} == {"unverified"}
    assert main(["solve", *puzzles, *arguments, "--exact"]) == 0
    exact = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for answer, puzzle in zip(exact, puzzles, strict=True):
        assert is_right(puzzle, answer["answer"])
        assert (answer["by"], answer["remark"]) == ("cp-sat", "solved exactly: the only solution")


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


@given(st.lists(st.integers(0, 1), min_size=1, max_size=200))
def test_steps_worth_showing(changes: list[int]) -> None:
    said = np.cumsum(changes).astype(np.uint8)
    trace = Trace("sudoku", 1, said[:1], [each[None] for each in said])
    whole, few = telling_steps(trace, None), telling_steps(trace, 12)
    assert {1, len(changes)} <= set(few) <= set(whole)
    assert len(few) <= 12
    missing = set(range(1, len(changes) + 1)) - set(whole)
    assert all(changes[step - 1] == 0 for step in missing)


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
