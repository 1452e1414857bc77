"""Jobs run in order of what waits for them; a failed one stops what follows it, and the tables take what is left."""

import json
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from serrm.config import read_params
from serrm.planning import pool
from serrm.planning.folder import project
from serrm.planning.pipeline import Job
from serrm.planning.pool import NOT_COMPILED, Result, run_all

ROOT = Path(__file__).parents[2]
CELLS = ("sudoku-a", "sudoku-b", "maze-a")


def make_jobs(what: Mapping[str, str]) -> list[Job]:
    """Resolve, then a training and an evaluation a cell, then the tables; `what` each "stage cell" does."""

    def job(stage: str, item: Mapping[str, Any], *after: int) -> Job:
        name = f"{stage} {'-'.join(str(item[key]) for key in ('task', 'model') if key in item)}".strip()
        return Job(stage, {"profile": "ci", **item}, (name, what.get(name, "")), after)

    items = [{"task": task, "model": model, "seed": 0} for task, model in (name.split("-") for name in CELLS)]
    num = len(items)
    train = [job("train", item, 0) for item in items]
    evaluate = [job("evaluate", item, 0, 1 + number) for number, item in enumerate(items)]
    return [job("resolve", {}), *train, *evaluate, job("tabulate", {}, *range(2 * num + 1))]


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Result]]:
    """Results by "stage cell" of jobs that one stand-in runs in a folder; the file "done" has the order."""
    monkeypatch.setattr(pool, "WORKER", "tests.planning.stand_in")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "logs").mkdir()

    def run(
        what: Mapping[str, str],
        lengths: Mapping[tuple[str, str], int] | None = None,
        compiling: tuple[tuple[str, str], ...] = (),
    ) -> dict[str, Result]:
        results = run_all(make_jobs(what), 1, tmp_path, lengths or {}, compiling)
        return {each.job.arguments[0]: each for each in results}

    return run


def test_the_longest_row_of_jobs_comes_first(ran: Callable[..., dict[str, Result]], tmp_path: Path) -> None:
    ran({}, {("train", "sudoku-a-s0"): 3, ("evaluate", "sudoku-b-s0"): 9, ("train", "maze-a-s0"): 5})
    trained = [line for line in (tmp_path / "done").read_text().splitlines() if line.startswith("train")]
    assert trained == ["train sudoku-b", "train maze-a", "train sudoku-a"]


def test_a_failed_cell_stops_its_own_jobs_and_the_tables_take_the_others(
    ran: Callable[..., dict[str, Result]], tmp_path: Path
) -> None:
    results = ran({"train sudoku-b": "say", "evaluate maze-a": "fail"})
    errors = {name: each.error for name, each in results.items() if each.error is not None}
    assert errors == {
        "train sudoku-b": "this and that",
        "evaluate sudoku-b": "not run, after train of sudoku-b-s0",
        "evaluate maze-a": "exit code 1",
    }
    grid = json.loads((tmp_path / "data/config/ci/tabulate.json").read_text())
    assert grid == [{"tasks": ["sudoku"], "models": ["a"], "seeds": [0]}]


def test_nothing_is_left_to_tabulate(ran: Callable[..., dict[str, Result]]) -> None:
    results = ran({f"train {name}": "fail" for name in CELLS})
    assert results["tabulate"].error == "not run, after train of sudoku-a-s0"


def test_a_process_that_dies_fails_its_job_alone(ran: Callable[..., dict[str, Result]]) -> None:
    results = ran({"train sudoku-a": "die"})
    assert results["train sudoku-a"].error == "the process ended with exit code 3"
    assert results["evaluate maze-a"].error is None and results["tabulate"].error is None


def test_a_cell_that_is_to_compile_and_does_not_has_failed(ran: Callable[..., dict[str, Result]]) -> None:
    results = ran({"train sudoku-a": "plain", "train maze-a": "plain"}, None, (("train", "sudoku-a-s0"),))
    assert [name for name, each in results.items() if each.error == NOT_COMPILED] == ["train sudoku-a"]


def test_a_terminated_rehearsal_leaves_no_folder(tmp_path: Path) -> None:
    params, before = read_params(ROOT / "params.yaml"), signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit), project(ROOT / "stages", params, tmp_path, "params.yaml", is_kept=False):
        assert list(tmp_path.iterdir())
        os.kill(os.getpid(), signal.SIGTERM)
    assert not list(tmp_path.iterdir())
    assert signal.getsignal(signal.SIGTERM) is before
