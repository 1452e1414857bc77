"""A real Slurm on this machine: the runs of a profile as an array, one of them preempted while it trains."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from serrm.core.project import Layout
from serrm.scoring.schema import read_evaluation
from tests.servers import free_port
from tests.stages.test_pipeline import ROOT, Project, built, tiny

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
__all__ = ["built"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(map(shutil.which, PROGRAMS)) or os.geteuid() != 0, reason="needs Slurm, munge and root"
    ),
]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A Slurm of one node, this machine, with its files in a temporary folder."""
    folder, host = tmp_path_factory.mktemp("slurm"), socket.gethostname()
    for name in ("state", "spool"):
        (folder / name).mkdir()
    ports = [free_port(), free_port()]
    (folder / "slurm.conf").write_text(
        f"ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nAuthType=auth/munge\n"
        f"SlurmctldPort={ports[0]}\nSlurmdPort={ports[1]}\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nReturnToService=2\nPreemptMode=REQUEUE\n"
        "PreemptType=preempt/partition_prio\nJobAcctGatherType=jobacct_gather/none\nMinJobAge=300\n"
        f"StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool\nSlurmdPidFile={folder}/slurmd.pid\n"
        f"SlurmctldPidFile={folder}/slurmctld.pid\n"
        f"NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN\n"
        f"PartitionName=all Nodes={host} Default=YES State=UP PriorityTier=1 GraceTime=60\n"
        f"PartitionName=urgent Nodes={host} State=UP PriorityTier=2\n"
    )
    before, os.environ["SLURM_CONF"] = os.environ.get("SLURM_CONF"), str(folder / "slurm.conf")
    for path in ("/run/munge", "/var/lib/munge", "/var/log/munge"):
        Path(path).mkdir(exist_ok=True)
        shutil.chown(path, "munge", "munge")
    daemons = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command in (
            ["runuser", "-u", "munge", "--", "munged", "--foreground", "--force"],
            ["slurmctld", "-D", "-f", str(folder / "slurm.conf")],
            ["slurmd", "-D", "-f", str(folder / "slurm.conf")],
        )
    ]
    try:
        wait_for(lambda: "idle" in said("sinfo", "--noheader", "--format=%t"), 60)
        yield
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait(20)
        os.environ.pop("SLURM_CONF")
        if before is not None:
            os.environ["SLURM_CONF"] = before


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def wait_for(condition: Callable[[], object], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, said("squeue", "-o", "%i %T %r")
        time.sleep(0.2)


@pytest.mark.timeout(1800)  # of the whole profile; alone it takes eight minutes
@pytest.mark.parametrize("size", ["two runs", "the whole profile ci"])
def test_an_array_with_a_preempted_training(size: str, built: Project, slurm: None) -> None:
    params = yaml.safe_load((ROOT / "profiles" / "ci.yaml").read_text())
    if size == "two runs":
        params = tiny()
        for run in params["runs"].values():
            run["changes"] = {**run.get("changes", {}), "train.steps": 600, "train.ema": 0.875}
    built.write(params, checkpoint_seconds=1)
    built.done("dvc", "repro")
    layout = Layout("ci", built.root)
    expected = {name: scores(layout, name) for name in params["runs"]}
    for folder in (layout.runs, layout.scores, layout.scratch, built.root / ".dvc" / "cache"):
        shutil.rmtree(folder)
    for log in (built.root / "data").glob("slurm-*.log"):
        log.unlink()
    (built.root / "dvc.lock").unlink()
    built.done("dvc", "repro", "--glob", "build_arrays@*", "hash_code")
    is_preempted = False
    while runs := built.done("serrm", "forecast", "--ready"):
        (built.root / "runs.txt").write_text(runs)
        built.done("sbatch", f"--array=1-{len(runs.splitlines())}", "--mem=0", "scripts/slurm.sh")
        if not is_preempted:
            wait_for(lambda: list(layout.scratch.glob("*/step_*")), 120)
            built.done("sbatch", "--partition=urgent", "--cpus-per-task=2", "--wrap=sleep 1")
            is_preempted = True
        wait_for(lambda: not said("squeue", "--noheader"), 900)
    logs = "\n".join(path.read_text() for path in (built.root / "data").glob("slurm-*.log"))
    assert "stopped at step" in logs and "resuming" in logs, logs
    assert {name: scores(layout, name) for name in params["runs"]} == expected


def scores(layout: Layout, name: str) -> object:
    """The scores of a run on the test puzzles."""
    return read_evaluation(layout.scores / f"{name}.json").sets
