"""The shell scripts with a stand-in for DVC: which GPU a run gets, and which exit codes they pass on."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


def one_run(folder: Path, dvc: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/one_run with this shell script in place of DVC."""
    (folder / "dvc").write_text(f"#!/bin/sh\n{dvc}\n")
    (folder / "dvc").chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", **variables}
    command = [str(SCRIPTS / "one_run"), "maze-trm-s0"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("gpus", "slot", "expected"),
    [("0,3", "0", "0"), ("0,3", "1", "3"), ("0,3", "2", "0"), ("", "1", "unset")],
)
def test_runs_share_the_gpus(gpus: str, slot: str, expected: str, tmp_path: Path) -> None:
    done = one_run(tmp_path, 'echo "${CUDA_VISIBLE_DEVICES-unset}"', GPUS=gpus, SLOT=slot)
    assert (done.stdout.strip(), done.returncode) == (expected, 0)


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (255, 1), (3, 3)])
def test_a_failing_stage_does_not_end_the_other_runs(code: int, expected: int, tmp_path: Path) -> None:
    """DVC exits with 255, at which xargs starts no further command."""
    assert one_run(tmp_path, f"exit {code}").returncode == expected


def test_the_last_runs_get_the_cores_of_those_that_have_ended(tmp_path: Path) -> None:
    threads = tmp_path / "threads"
    variables = {"THREADS_FILE": str(threads), "NUM_RUNS": "4", "JOBS": "2", "CORES": "8"}
    number = []
    for _ in range(4):
        one_run(tmp_path, "exit 255", **variables)  # a failed run has ended too
        number.append(int(threads.read_text()) if threads.is_file() else None)
    assert number == [None, None, 8, 8]  # the third leaves one run; after the fourth nobody reads it
