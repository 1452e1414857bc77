"""A training copied to another machine, taken further there by `python -m serrm.training`, and copied back."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from serrm.training.interrupt import EXIT_RESUMABLE
from tests.training.running import ONE_STEP, MakeCell, assert_same_checkpoint, interrupted, run


def go_on(away: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (settings,) = (away / "scratch").glob("*/settings.json")
    places = map(str, (settings, away / "arrays", away / "run"))
    command = [sys.executable, "-m", "serrm.training", *places, "--device", "cpu", *options]
    return subprocess.run(
        [*command, "--scratch", str(away / "scratch")],
        env=os.environ
        | {"OMP_NUM_THREADS": "1"},  # as the tests themselves: sums depend on the number of threads
        capture_output=True,
        text=True,
        check=False,
    )


def test_away_and_back_is_bit_identical(make_cell: MakeCell, arrays: Path, tmp_path: Path) -> None:
    cell = make_cell(train={"snapshots": 3}, model={"attention_dropout": 0.2})
    straight = run(cell, arrays, tmp_path / "straight")
    home, away = tmp_path / "home", tmp_path / "away"
    scratch = interrupted(cell, arrays, home, num_steps=2).parent
    shutil.copytree(scratch, away / "scratch" / scratch.name)
    shutil.copytree(arrays, away / "arrays", ignore=shutil.ignore_patterns("4x4"))
    shutil.rmtree(scratch)
    stopped = go_on(away, "--seconds", "1e-9")
    assert stopped.returncode == EXIT_RESUMABLE and "stopped at step 3 of 6" in stopped.stderr
    finished = go_on(away)
    assert finished.returncode == 0 and "resuming sudoku-tiny-s0 at step 3" in finished.stderr
    assert_same_checkpoint(away / "run", straight)
    shutil.copytree(away / "scratch" / scratch.name, scratch)
    # A budget in which no step could be taken: nothing is trained, every record comes again.
    records: list[object] = []
    assert_same_checkpoint(run(cell, arrays, home, ONE_STEP, records.append), straight)
    assert len(records) == 3
    (away / "arrays" / "metadata.json").unlink()
    failed = go_on(away)
    assert failed.returncode == 1 and failed.stderr.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in failed.stderr
