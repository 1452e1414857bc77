"""A real Slurm on this machine: the runs of a profile as an array, one of them preempted while it trains."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from serrm.project import Layout
from tests.stages.test_pipeline import OTHER, RUN, Project, built, tiny

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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def wait_for(condition: object, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, said("squeue", "-o", "%i %T %r")
        time.sleep(0.2)


def test_an_array_with_a_preempted_training(built: Project, slurm: None) -> None:
    params = tiny()
    for run in params["runs"].values():
        run["changes"] = {**run.get("changes", {}), "train.steps": 600, "train.ema": 0.875}
    built.write(params, checkpoint_seconds=1)
    assert built.run("dvc", "repro").returncode == 0
    layout = Layout("ci", built.root)
    expected = {name: scores(layout, name) for name in (RUN, OTHER)}
    shutil.rmtree(layout.runs)
    shutil.rmtree(layout.metrics)
    shutil.rmtree(built.root / ".dvc" / "cache")
    (built.root / "dvc.lock").unlink()
    assert built.run("dvc", "repro", "--glob", "build_arrays@*").returncode == 0
    (built.root / "runs.txt").write_text(built.run("serrm", "forecast", "--ready").stdout)
    submitted = built.run("sbatch", "--parsable", "--array=1-2", "--mem=0", "stages/slurm.sh")
    assert submitted.returncode == 0, submitted.stderr
    scratch = layout.scratch
    wait_for(lambda: len(list(scratch.glob("*/step_*"))) >= 2, 120)
    urgent = ["sbatch", "--parsable", "--partition=urgent", "--cpus-per-task=2", "--wrap=sleep 1"]
    assert built.run(*urgent).returncode == 0
    wait_for(lambda: not said("squeue", "--noheader"), 240)
    logs = "\n".join(path.read_text() for path in (built.root / "data").glob("slurm-*.log"))
    assert "stopped at step" in logs and "resuming" in logs, logs
    assert {name: scores(layout, name) for name in (RUN, OTHER)} == expected


def scores(layout: Layout, name: str) -> object:
    """What a metric file says of the test puzzles."""
    import json

    return json.loads((layout.metrics / f"{name}.json").read_text())["sets"]
