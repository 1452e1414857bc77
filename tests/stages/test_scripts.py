"""`python -m serrm.running` with a stand-in for DVC: shares of the machine, failures, signals and exit codes."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from serrm.core import resources
from serrm.core.project import find_root
from serrm.core.resources import Gpus, usable_cpus, usable_gpus, usable_memory
from serrm.running import side_by_side
from serrm.running.commands import Commands, environment_of
from serrm.running.side_by_side import Pipeline, Share, reproduce_run

ROOT = Path(__file__).parents[2]
RUNS = ["maze-hrm-s0", "maze-trm-s0", "maze-se_rrm-s0", "sudoku-trm-s0"]


class Recorder(Commands):
    """Notes the targets and environments in place of running DVC, which fails for some targets."""

    def __init__(self, root: Path, *failing: str) -> None:
        self.root, self.signal, self.failing = root, 0, failing
        self.calls: list[tuple[tuple[str, ...], dict[str, str]]] = []

    def repro(self, environment: Any, *targets: str) -> int:
        self.calls.append((targets, dict(environment)))
        return 255 if any(name in " ".join(targets) for name in self.failing) else 0


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with profile ci and no score."""
    (tmp_path / "params.yaml").write_text((ROOT / "profiles" / "ci.yaml").read_text())
    (tmp_path / "machine.yaml").write_text("{}")
    for name in ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def pipeline(
    project: Path, monkeypatch: pytest.MonkeyPatch, share: Share, *failing: str
) -> tuple[Pipeline, Recorder]:
    """The pipeline with the stand-in, in which `serrm forecast` names RUNS."""
    recorder = Recorder(project, *failing)
    monkeypatch.setattr(side_by_side, "Commands", lambda _: recorder)
    monkeypatch.setattr(side_by_side, "score_line", lambda *_: "scored")
    monkeypatch.setattr(side_by_side, "read_evaluation", lambda _: None)
    monkeypatch.setattr(
        Pipeline, "serrm", lambda _, *arguments: "\n".join(RUNS) * (arguments[0] == "forecast")
    )
    return Pipeline(project, share, project / "threads"), recorder


def share(jobs: int, *gpus: str, cpus: int = 8, device: str = "auto") -> Share:
    return Share(jobs, cpus, 64 * 10**9, Gpus(gpus), device)


def test_runs_share_gpus_and_threads(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_three = [share(3, "0", "3").gpu(slot) for slot in range(3)]
    assert of_three == [{"CUDA_VISIBLE_DEVICES": number} for number in ("0", "3", "0")]
    for one in (share(2), share(1, "0", "3"), share(2, "1", device="cuda:1")):
        assert one.gpu(1) == {}
    threads = [
        one.environment(project).get("OMP_NUM_THREADS") for one in (share(2), share(2, "0", "1"), share(1))
    ]
    assert threads == ["1", "4", None]
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert share(2).environment(project)["OMP_NUM_THREADS"] == "3" and not share(2).shares_cpus


def test_the_last_runs_get_the_cpus_of_those_that_have_ended(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe, recorder = pipeline(project, monkeypatch, share(2), "hrm")
    numbers, repro = [], recorder.repro

    def repro_and_note(environment: Any, *targets: str) -> int:
        file = Path(environment["THREADS_FILE"])
        numbers.append(int(file.read_text()) if file.is_file() else None)
        return repro(environment, *targets)

    monkeypatch.setattr(recorder, "repro", repro_and_note)
    monkeypatch.setattr(side_by_side, "ThreadPoolExecutor", lambda _: ThreadPoolExecutor(1))
    assert not pipe.train_and_score(), "a failed run has ended too, and stops no other"
    assert numbers == [None, None, None, 8]
    assert capsys.readouterr().out.splitlines()[-1] == "[4/4] scored"


@pytest.mark.parametrize("failing", ["nothing", "build_arrays@maze", "train@maze-trm-s0"])
def test_data_come_first_then_runs_then_tables_and_a_failure_stops_only_what_follows_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    pipe, recorder = pipeline(project, monkeypatch, share(2), failing)
    monkeypatch.setattr(side_by_side, "WARM_UP", "")
    assert pipe.run() == (failing != "nothing")
    targets = [targets for targets, _ in recorder.calls]
    assert ("build_arrays@sudoku",) in targets and ("hash_code",) in targets
    runs = {("-s", f"train@{run}", f"evaluate@{run}") for run in RUNS}
    assert runs & {*targets} == (set() if failing.startswith("build") else runs)
    if failing == "nothing":
        assert {*targets[-len(RUNS) - 1 : -1]} == runs
    assert (targets[-1] == ()) == (failing == "nothing"), "tables need all runs"


@pytest.mark.parametrize(("number", "kind"), [(signal.SIGINT, "alone"), (signal.SIGTERM, "everybody")])
def test_a_signal_lets_trainings_write_a_checkpoint(tmp_path: Path, number: int, kind: str) -> None:
    """A stand-in for DVC ends at SIGTERM at once, and its training takes a second for the checkpoint."""
    training = (
        "import signal, sys, time\n"
        "def stop(*_):\n"
        "    signal.signal(signal.SIGINT, signal.SIG_DFL); signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
        "    time.sleep(1); open('checkpoint', 'w').close(); sys.exit(75)\n"
        "signal.signal(signal.SIGINT, stop); signal.signal(signal.SIGTERM, stop)\n"
        "open('training', 'w').close(); time.sleep(60)\n"
    )
    (tmp_path / "dvc").mkdir()
    (tmp_path / "dvc" / "__init__.py").touch()
    (tmp_path / "dvc" / "__main__.py").write_text(
        "import signal, subprocess, sys\n"
        f"training = subprocess.Popen([sys.executable, '-c', {training!r}])\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "sys.exit(255 if training.wait() else 0)\n"
    )
    program = (
        "import sys; from pathlib import Path; from serrm.running import side_by_side as module\n"
        "module.mirror_meanwhile = lambda _: None\n"
        "sys.exit(module.reproduce_run(Path.cwd(), 'maze-trm-s0'))\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"}
    command = [sys.executable, "-c", program]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True)
    wait_until((tmp_path / "training").exists)
    if kind == "everybody":  # as a cluster does
        for pid in descendants(process.pid):
            os.kill(pid, number)
    process.send_signal(number)
    assert process.wait(60) == 75 and (tmp_path / "checkpoint").exists()


def wait_until(is_true: Any) -> None:
    for _ in range(600):
        if is_true():
            return
        time.sleep(0.1)
    raise AssertionError("waited for a minute")


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and those that they have started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [one for child in children for one in (*descendants(int(child)), int(child))]


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (255, 1), (3, 1)])
def test_one_run_passes_on_whether_it_failed(
    code: int, expected: int, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(project)
    monkeypatch.setattr(recorder, "repro", lambda *_: code)
    monkeypatch.setattr(side_by_side, "Commands", lambda _: recorder)
    monkeypatch.setattr(side_by_side, "mirror_meanwhile", lambda _: None)
    assert reproduce_run(project, RUNS[0]) == expected


def test_stages_are_found_whatever_the_shell_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    environment = environment_of(ROOT)
    assert "PYTHONSAFEPATH" not in environment and environment["PYTHONPATH"].startswith(str(ROOT / "src"))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux")
def test_cpus_are_those_of_the_affinity_and_the_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "CGROUPS", tmp_path)
    monkeypatch.setattr(resources, "OWN_CGROUPS", tmp_path / "own")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    assert usable_cpus() == 16
    (tmp_path / "own").write_text("0::/user/job\n")
    (tmp_path / "user" / "job").mkdir(parents=True)
    (tmp_path / "user" / "job" / "cpu.max").write_text("max 100000\n")
    (tmp_path / "user" / "cpu.max").write_text("350000 100000\n")
    (tmp_path / "user" / "memory.max").write_text("1000000\n")
    assert (usable_cpus(), usable_memory()) == (3, 1000000)
    (tmp_path / "own").write_text("4:memory:/job\n3:cpu,cpuacct:/job\n")
    for name, values in (
        ("memory", {"memory.limit_in_bytes": "2000000"}),
        ("cpu,cpuacct", {"cpu.cfs_quota_us": "200000", "cpu.cfs_period_us": "100000"}),
    ):
        (tmp_path / name / "job").mkdir(parents=True)
        for file, value in values.items():
            (tmp_path / name / "job" / file).write_text(value)
    assert (usable_cpus(), usable_memory()) == (2, 2000000)


@pytest.mark.parametrize(
    ("program", "expected"),
    [("echo 0; echo 1", ("0", "1")), ("echo no driver; exit 9", ()), (None, ())],
)
def test_gpus_are_those_that_the_driver_lists(
    program: str | None, expected: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if program:
        (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{program}\n")
        (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin" if program else str(tmp_path))
    gpus = usable_gpus("auto", {})
    assert gpus.names == expected and ("no driver" in gpus.remark) == (
        program is not None and "driver" in program
    )
    assert usable_gpus("cpu", {"CUDA_VISIBLE_DEVICES": "0"}).names == ()
    assert usable_gpus("auto", {"CUDA_VISIBLE_DEVICES": "0,3"}).names == ("0", "3")
    assert usable_gpus("auto", {"CUDA_VISIBLE_DEVICES": ""}).names == ()


def test_the_program_of_another_clone_is_refused(tmp_path: Path) -> None:
    """As in a git worktree with the environment of the main checkout."""
    (tmp_path / "params.yaml").touch()
    assert find_root(tmp_path) == tmp_path
    (tmp_path / "src" / "serrm").mkdir(parents=True)
    with pytest.raises(ValueError, match=str(tmp_path)) as refusal:
        find_root(tmp_path)
    assert str(ROOT) in str(refusal.value)
