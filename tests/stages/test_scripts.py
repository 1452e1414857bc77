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


def side_by_side(
    folder: Path, dvc: str, jobs: str = "2", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run scripts/side_by_side on two data sets and one run, with this shell script in place of DVC."""
    (folder / "params.yaml").write_text("data_sets: {maze: {}, sudoku: {}}\ntests: {own: {}}\n")
    stand_ins = {"dvc": dvc, "serrm": "[ $1 != forecast ] || echo maze-trm-s0"}
    for name, program in stand_ins.items():
        (folder / name).write_text(f"#!/bin/sh\n{program}\n")
        (folder / name).chmod(0o755)
    # The folder of the logger's socket: pytest's are too long.
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TMPDIR": "/tmp", **variables}
    command = [str(SCRIPTS / "side_by_side"), jobs]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_data_sets_and_runs_go_side_by_side_with_one_logger(tmp_path: Path) -> None:
    program = (
        'for _ in $(seq 600); do [ ! -S "$SERRM_LOGGER" ] || break; sleep 0.1; done\n'
        '[ ! -S "$SERRM_LOGGER" ] || echo "logger and $*"'
    )
    done = side_by_side(tmp_path, program)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.removeprefix("logger and ") for line in done.stdout.splitlines() if "logger" in line]
    targets = ("build_arrays@maze", "build_arrays@sudoku", "hash_code")
    assert set(lines[:3]) == {f"--wait-for-lock repro {target}" for target in targets}
    run = "--wait-for-lock repro -s train@maze-trm-s0 evaluate@maze-trm-s0"
    assert lines[3:] == ["repro --glob read_tests@*", run, "repro"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_without_a_logger_the_stages_go_on(jobs: str, tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)  # too long for a socket
    folder.mkdir()
    done = side_by_side(tmp_path, 'echo "$*"', jobs, TMPDIR=str(folder))
    assert done.returncode == 0 and "hash_code" in done.stdout and done.stderr == ""


def test_a_data_set_that_fails_stops_no_other_but_the_runs(tmp_path: Path) -> None:
    done = side_by_side(tmp_path, 'echo "$*"; case $* in *maze*) exit 255; esac')
    assert done.returncode == 1
    assert "build_arrays@sudoku" in done.stdout and "hash_code" in done.stdout
    assert "train@" not in done.stdout
