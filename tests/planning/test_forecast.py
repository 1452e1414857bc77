"""What is forecast is what is done, and what DVC calls done is not forecast."""

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from serrm.cli import main
from serrm.config import Params, read_params, read_yaml
from serrm.core.execution import Execution
from serrm.inference.evaluate import evaluate
from serrm.planning.forecast import (
    evaluation_flops,
    flops_by_run,
    rate_of,
    ready_runs,
    stages_of,
    still_to_do,
    summary,
)
from serrm.puzzles.raw import Counts
from tests.conftest import TRM_CHANGES, MakePath, run_settings, scoring
from tests.drawn import counted

ROOT = Path(__file__).parents[2]
PROFILES = sorted(path.stem for path in (ROOT / "profiles").glob("*.yaml"))
# Their stages are counted in miniature by test_rehearse.py.
LARGE = ("claims_sudoku", "claims_maze", *(name for name in PROFILES if name.startswith("factorial")))
RUN = {"data_set": "sudoku", "model": "trm", "seed": 0, "init": "random"}
MIRROR = {"kind": "mirror", "root": "."}
SEARCH = {"num_puzzles": 3, "max_steps": [1, 4], "attempt_steps": 2, "attempts": [3]}


def profile(name: str, **sections: Any) -> Params:
    return Params.model_validate({**read_yaml(ROOT / "profiles" / f"{name}.yaml"), **sections})


@pytest.mark.parametrize("family", ["se_rrm", "trm"])
def test_an_evaluation_takes_what_is_forecast(family: str, trained: MakePath, make_arrays: MakePath) -> None:
    changes = TRM_CHANGES if family == "trm" else {"model": {"layers": 1}}
    run, checkpoint, arrays = run_settings(**changes), trained(**changes), make_arrays(side=4, tests=(4, 9))

    def forecast_and_done(**changes: Any) -> tuple[int, int]:
        settings = scoring(steps=(1, 3), equivariance_pairs=4, **changes)
        done = counted(lambda: evaluate(checkpoint, arrays, settings, Execution(device="cpu", native=False)))
        return evaluation_flops(run, Counts(4, 8, {4: 5, 9: 5}), settings), done

    without, done = forecast_and_done()
    assert without == done
    most, done = forecast_and_done(test_time_compute=SEARCH)
    assert without < done <= most


@pytest.mark.parametrize(
    ("name", "data_set", "download", "puzzles", "counts"),
    [
        ("ci", "sudoku", {}, {}, Counts(9, 64, {9: 32, 4: 32, 16: 2, 25: 1})),
        ("ci", "maze", {}, {"num_train": 9}, Counts(8, 9, {8: 16})),
        ("paper", "sudoku", {}, {}, Counts(9, 1000, {9: 422_786, 4: 288, 16: 216, 25: 42})),
        ("paper", "sudoku", MIRROR, {"num_test_sizes": {}}, Counts(9, 1000, {9: 9_488})),
        ("paper", "sudoku", {}, {"scored": "held_out"}, Counts(9, 1000, {9: 512})),
        ("paper", "maze", {}, {}, Counts(30, 1000, {30: 1000})),
        ("maze_hard", "maze_22", {}, {}, Counts(22, 18_000, {22: 100})),
        ("paper", "arc_agi_1", {}, {"canvas": 20}, Counts(20, 3988, {20: 419})),
    ],
)  # fmt: skip
def test_puzzles_are_counted_before_they_exist(
    name: str, data_set: str, download: dict[str, Any], puzzles: dict[str, Any], counts: Counts
) -> None:
    params = profile(name)
    section = params.data_sets[data_set]
    section.download["source"] = section.download["source"] | download
    section.puzzles.update(puzzles)
    assert params.counts(data_set) == counts


def test_each_vote_and_kind_of_task_type_counts() -> None:
    def flops(**evaluate: Any) -> int:
        params = profile("ci")
        params.data_sets["arc_agi_1"].evaluate.update(curve_puzzles=0, equivariance_pairs=0, **evaluate)
        return stages_of(params, ROOT)["evaluate@arc_agi_1-trm-s0"].flops

    assert flops(task_types=["right", "blank", "random"]) == 3 * flops(task_types=["right"])


def test_a_row_has_the_flops_of_the_trainings_that_it_continues() -> None:
    """Rows of profile gpu_sudoku_long have 1e16, 3e16 and 1e17 FLOPs each, and every trunk counts once in the time."""
    params = profile("gpu_sudoku_long")
    rows = {run: (training, in_all) for run, _, training, in_all, _ in flops_by_run(params)}
    for budget, text in ((1e16, "1e16"), (3e16, "3e16"), (1e17, "1e17")):
        in_all = [flops for run, (_, flops) in rows.items() if f"_{text}-" in run]
        assert in_all == pytest.approx([budget] * 3, rel=0.05)
    stages = stages_of(params, ROOT)
    trained = sum(stage.flops for name, stage in stages.items() if name.startswith("train@"))
    assert trained == sum(training for training, _ in rows.values()) == pytest.approx(3 * 1.08e17, rel=0.05)


@pytest.mark.parametrize(
    ("name", "budget", "num"), [("gpu_sudoku_tuning", 1e15, 5), ("gpu_maze_tuning", 1.2e15, 6)]
)
def test_each_model_is_tuned_as_often_and_as_long(name: str, budget: float, num: int) -> None:
    params = profile(name)
    flops = [training for _, _, training, _, _ in flops_by_run(params)]
    assert flops == pytest.approx([budget] * len(flops), rel=0.05)
    assert set(Counter(run.model for run in params.runs.values()).values()) == {num}


A, B = ("train@sudoku-a-s0", "evaluate@sudoku-a-s0"), ("train@sudoku-b-s0", "evaluate@sudoku-b-s0")


@pytest.mark.parametrize(
    ("changed", "left"),
    [
        ("tabulate", ()),
        ("evaluate@maze-trm-s0", ("evaluate@maze-trm-s0",)),
        (A[0], (*A, *B)),
        (B[0], B),
        ("choose_puzzles@sudoku", ("choose_puzzles@sudoku", "build_arrays@sudoku", *A, *B)),
        ("hash_code", ("hash_code", *A, *B, "train@maze-trm-s0", "evaluate@maze-trm-s0")),
    ],
)
def test_changed_stages_and_all_after_them_are_left(
    changed: str, left: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = {"sudoku-a-s0": RUN, "sudoku-b-s0": {**RUN, "init": "ci/runs/sudoku-a-s0"}}
    stages = stages_of(profile("ci", runs={**runs, "maze-trm-s0": {**RUN, "data_set": "maze"}}), ROOT)
    answer = subprocess.CompletedProcess([], 0, stdout=json.dumps({changed: ["changed command"]}))
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: answer)
    assert set(still_to_do(stages, Path())) == set(left)


def test_a_project_without_dvc_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "params.yaml").write_bytes((ROOT / "profiles" / "ci.yaml").read_bytes())
    (tmp_path / "dvc.yaml").write_bytes((ROOT / "dvc.yaml").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert main(["forecast"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "dvc status failed: " in line and "--tflops" in line


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LARGE else ()) for name in PROFILES]
)
def test_every_profile_has_a_forecast(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["forecast", "--profile", name, "--tflops", "300"]) == 0
    num = len(read_params(ROOT / "profiles" / f"{name}.yaml").runs)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"profile {name}: {num} training runs") and "at 300 TFLOP/s: about " in line


def test_runs_at_a_time_share_the_time_of_the_runs_but_not_that_of_the_data() -> None:
    stages = stages_of(profile("ci", runs={f"sudoku-{name}-s0": RUN for name in "abcd"}), ROOT)

    def minutes(jobs: int) -> float:
        time = re.fullmatch(r".*about (?:(\d+) h )?(\d+) min", summary("ci", stages, 1e7, "", jobs))
        assert time
        return 60 * int(time[1] or 0) + int(time[2])

    assert minutes(2) == pytest.approx(minutes(1) / 2, rel=0.02)
    assert minutes(8) == pytest.approx(minutes(1) / 4, rel=0.02)


@pytest.mark.parametrize(
    ("load", "memory", "words"),
    [(0.0, 10**12, None), (99.5, 10**12, "99.5"), (0.0, 10**8, "micro_batch in machine.yaml")],
)
def test_a_busy_machine_and_a_run_that_cannot_fit_are_told_in_one_line(
    load: float,
    memory: int,
    words: str | None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (load, load, load))
    monkeypatch.setattr("serrm.planning.trial.usable_memory", lambda: memory)
    stages = stages_of(params := profile("ci"), ROOT)
    rate_of(params, stages, Execution(device="cpu", threads=1), None)
    lines = [record.message for record in caplog.records if record.name == "serrm.planning.trial"]
    assert len(lines) == (words is not None) and all(words in line for line in lines if words)


def test_ready_runs_wait_for_no_other_training_and_the_longest_comes_first() -> None:
    longer = {"train.steps": 500}
    params = profile(
        "ci",
        runs={
            "sudoku-trm-s0": RUN,
            "sudoku-later-s0": {**RUN, "init": "ci/runs/sudoku-trm-s0", "changes": longer},
            "sudoku-longer-s0": {**RUN, "changes": longer},
        },
    )
    stages = stages_of(params, ROOT)
    assert ready_runs(stages) == ["sudoku-longer-s0", "sudoku-trm-s0"]
    done = {name: stage for name, stage in stages.items() if name != "train@sudoku-trm-s0"}
    assert set(ready_runs(done)) == set(params.runs)
