"""`serrm ask`: from a file of puzzles to scores and a metric file, and on from where a killed run stopped."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from serrm.asking.prompts import sudoku_prompt
from serrm.cli import main
from serrm.puzzles.sudoku.cpsat import iterate_solutions
from serrm.puzzles.sudoku.grid import box_for_side
from serrm.puzzles.sudoku.parse import Puzzle, write_csv
from tests.chat_server import Act, ChatServer, fails, make_puzzles, right, says, serving

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def puzzles() -> list[Puzzle]:
    return make_puzzles(s4=8, s9=2)


@pytest.fixture
def server(
    puzzles: list[Puzzle], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_pauses: None
) -> Iterator[ChatServer]:
    """A server that knows the answers to puzzles.csv in the current folder, which is no project."""
    monkeypatch.chdir(tmp_path)
    write_csv("puzzles.csv", puzzles)
    with serving(right(puzzles)) as held:
        yield held


def arguments(server: ChatServer, *more: str) -> list[str]:
    return ["ask", "--server", server.address, "--model", "org/Tester-20B", "--puzzles", "puzzles.csv", *more]


def test_scores_are_shown_and_written(
    server: ChatServer, puzzles: list[Puzzle], capsys: pytest.CaptureFixture[str]
) -> None:
    refused = sudoku_prompt(puzzles[0].question)
    normal = server.behave
    server.behave = lambda prompt: says("I can't.") if prompt == refused else normal(prompt)
    assert main(arguments(server, "--json", "new/scores.json")) == 0
    out = capsys.readouterr().out
    rows = {line.split()[0]: line for line in out.splitlines() if line.strip()[:1].isdigit()}
    assert "87.50 (52.91 to 97.76)" in rows["4x4"]
    assert "100.00 (34.24 to 100.00)" in rows["9x9"]
    assert rows["4x4"].split()[-3:] == ["7", "0", "1"]
    assert "4x4: without a grid, counted as unsolved: 1 of 8; over all puzzles there is no GPA" in out
    sets = json.loads(Path("new/scores.json").read_text())["sets"]
    assert sets["4x4"]["scores"]["fsr"] == 7 / 8
    assert len(Path("tester_20b.replies.jsonl").read_text().splitlines()) == 10


def test_options_reach_the_server(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-1")
    more = ["--num", "1", "--temperature", "0.5", "--max-tokens", "9", "--extra", '{"seed": 4}']
    assert main(arguments(server, *more, "--key-variable", "MY_KEY", "--cache", "c.jsonl")) == 0
    assert len(server.bodies) == 2
    body = server.bodies[0]
    assert (body["model"], body["temperature"], body["max_tokens"], body["seed"]) == (
        *("org/Tester-20B", 0.5, 9),
        4,
    )
    assert server.headers[0]["authorization"] == "Bearer sk-1"
    assert "sk-1" not in Path("c.jsonl").read_text()


def assert_one_line(error: str) -> None:
    (line,) = [line for line in error.splitlines() if line.startswith("error: ")]
    assert line == error.splitlines()[-1] and "Traceback" not in error


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--server", "nonsense"], 2, "no address such as http"),
        (["--timeout", "0"], 2, "language_model.timeout: Input should be greater than 0"),
        (["--extra", "{"], 2, "'{' is not JSON"),
        (["--extra", "[1]"], 2, "language_model.extra: Input should be a valid dictionary"),
        (["--name", "?"], 2, "'?' gives no name for files"),
        (["--report", "cpu"], 1, "no params.yaml in"),
        (["--key-variable", "NOT_SET_HERE"], 1, "the environment variable NOT_SET_HERE is not set"),
        (["--cache", "damaged.jsonl"], 1, "damaged.jsonl:1: no reply"),
        (["--puzzles", "damaged.jsonl"], 1, "damaged.jsonl:"),
    ],
)
def test_what_is_wrong_is_one_line(
    server: ChatServer, capsys: pytest.CaptureFixture[str], more: list[str], code: int, message: str
) -> None:
    Path("damaged.jsonl").write_text("nonsense\n")
    assert main(arguments(server, *more)) == code
    error = capsys.readouterr().err
    assert_one_line(error)
    assert message in error
    assert server.prompts == []


def test_what_is_missing_is_named(server: ChatServer, capsys: pytest.CaptureFixture[str]) -> None:
    given = arguments(server)
    for place in range(1, len(given), 2):
        assert main(given[:place] + given[place + 2 :]) == 2
        error = capsys.readouterr().err
        assert_one_line(error)
        assert given[place] in error


@pytest.fixture
def project(server: ChatServer, tmp_path: Path, make_arrays: Callable[..., Path]) -> Path:
    """The current folder as a project with arrays of profile cpu; the server knows nothing of them."""
    (tmp_path / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    arrays = tmp_path / "data" / "arrays" / "cpu"
    arrays.mkdir(parents=True)
    (arrays / "sudoku").symlink_to(make_arrays(tests=(4, 9)))
    server.behave = lambda prompt: says("No, I can't.")
    return tmp_path


def test_a_report_asks_the_test_sets_of_its_profile(project: Path, server: ChatServer) -> None:
    given = ["ask", "--server", server.address, "--model", "gpt-oss:20b", "--report", "cpu"]
    assert main(given) == 0
    metrics = json.loads((project / "reports/cpu/metrics/sudoku-gpt_oss_20b-s0.json").read_text())
    assert (metrics["model"], metrics["profile"]) == ("gpt_oss_20b", "cpu")
    assert {name: entry["num_refused"] for name, entry in metrics["sets"].items()} == {"4x4": 5, "9x9": 5}
    assert len((project / "data/replies/gpt_oss_20b.replies.jsonl").read_text().splitlines()) == 10
    assert main([*given, "--puzzles", "puzzles.csv", "--name", "other"]) == 0
    other = json.loads((project / "reports/cpu/metrics/sudoku-other-s0.json").read_text())
    assert other["sets"]["4x4"]["num_puzzles"] == 8


def test_a_report_of_a_bad_day_is_not_written(
    project: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.behave = lambda prompt: fails(400) if "4×4" in prompt else says("I can't.")
    assert main(["ask", "--server", server.address, "--model", "m", "--report", "cpu"]) == 1
    assert "4x4: no response to 5 puzzles; no metric file" in capsys.readouterr().err
    assert not (project / "reports").exists()
    assert main(arguments(server)) == 1
    assert (
        "4x4: no response, left out: 8 errors, 0 timeouts; the next run asks again" in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("model", "profile", "message"),
    [
        ("m", "huge", "'huge' is none of ci, laptop, cpu"),
        ("se-rrm", "cpu", "'se_rrm' is a model of params.yaml"),
    ],
)
def test_a_report_is_of_a_profile_and_takes_no_model_of_the_pipeline_its_file(
    project: Path,
    server: ChatServer,
    capsys: pytest.CaptureFixture[str],
    model: str,
    profile: str,
    message: str,
) -> None:
    assert main(["ask", "--server", server.address, "--model", model, "--report", profile]) == 2
    error = capsys.readouterr().err
    assert_one_line(error)
    assert message in error and server.prompts == []


def test_a_killed_run_goes_on_where_it_stopped(server: ChatServer, puzzles: list[Puzzle]) -> None:
    """Killed without warning after some replies; the next run asks the others and only those."""
    normal, num_done, go_on = server.behave, 6, threading.Event()

    def behave(prompt: str) -> Act:
        if len(server.prompts) > num_done:
            go_on.wait(60)
        return normal(prompt)

    server.behave = behave
    command = [
        sys.executable,
        "-m",
        "serrm.cli",
        *arguments(server, "--concurrency", "1", "--cache", "c.jsonl"),
    ]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    cache, start = Path("c.jsonl"), time.monotonic()
    while not cache.exists() or cache.read_bytes().count(b"\n") < num_done:
        assert run.poll() is None and time.monotonic() - start < 60
        time.sleep(0.01)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    go_on.set()
    server.behave = normal
    known = {json.loads(line)["request"]["messages"][0]["content"] for line in cache.read_text().splitlines()}
    num_before = len(server.prompts)
    assert main(arguments(server, "--cache", "c.jsonl")) == 0
    asked = {sudoku_prompt(puzzle.question) for puzzle in puzzles}
    assert set(server.prompts[num_before:]) == asked - known
    assert len(server.prompts) - num_before == len(puzzles) - num_done


def test_an_interrupt_does_not_wait_for_replies(server: ChatServer, puzzles: list[Puzzle]) -> None:
    """The first reply comes, the second is interrupted; nothing of what was finished is lost.

    An interrupt is an exception even where CP-SAT, which has a handler of its own, has run before.
    """
    assert list(iterate_solutions(puzzles[0].question, box_for_side(4)))
    normal, go_on = server.behave, threading.Event()

    def behave(prompt: str) -> Act:
        if len(server.prompts) > 1:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            go_on.wait(60)
        return normal(prompt)

    server.behave = behave
    start = time.monotonic()
    assert main(arguments(server, "--concurrency", "1", "--cache", "c.jsonl")) == 130
    go_on.set()
    assert time.monotonic() - start < 30
    assert Path("c.jsonl").read_text().count("\n") == 1


def test_params_yaml_may_hold_the_settings(project: Path, server: ChatServer) -> None:
    params = yaml.safe_load((project / "params.yaml").read_text())
    params["language_model"] = {"address": server.address, "model": "from-params", "num_puzzles": 1}
    (project / "params.yaml").write_text(yaml.safe_dump(params))
    assert main(["ask", "--puzzles", "puzzles.csv", "--max-tokens", "5"]) == 0
    assert [(body["model"], body["max_tokens"]) for body in server.bodies] == [("from-params", 5)] * 2
