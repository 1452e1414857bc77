"""scripts/lease.py goes on where another machine ended, with what fits into its files."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from serrm.config import read_params, write_yaml
from serrm.core.project import Layout
from serrm.tracking.background import without_mirror
from tests.training.running import facts_of

ROOT = Path(__file__).parents[2]
PROFILE = "gpu_sudoku_long"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "lease.py"))


def test_every_part_has_runs_and_continued_trainings_come_first(
    script: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "profiles").symlink_to(ROOT / "profiles")
    stages = []
    for part in script["PARTS"]:
        left = script["Lease"](tmp_path, 0.0).stages(part)
        assert left
        stages += [f"{part.profile}/{stage}" for stage in left]
    assert len(set(stages)) == len(stages)
    for name, run in read_params(ROOT / "profiles" / f"{PROFILE}.yaml").runs.items():
        if run.init != "random":
            init = f"{PROFILE}/train@{run.init.rpartition('/')[2]}"
            assert stages.index(init) < stages.index(f"{PROFILE}/train@{name}")


@pytest.mark.slow
def test_another_machine_goes_on_without_the_slots(
    script: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (part,) = (part for part in script["PARTS"] if part.title == "SE-RRM: 1e16 FLOPs")
    for number, limit in enumerate((1e-9, None)):
        root = tmp_path / str(number)
        script["write_rehearsal"](root)
        write_yaml(root / "machine.yaml", {"device": "cpu", "threads": 1, "max_seconds": limit})
        monkeypatch.chdir(root)
        with without_mirror(root):
            lease = script["Lease"](root, 600.0, ())
            lease.unpack(tmp_path / "results")
            lease.run(part)
            assert lease.pack(tmp_path / "results") == []
        assert [*(tmp_path / "results").iterdir()] == [tmp_path / "results" / "lease.tar.0"]
        assert bool(lease.stages(part)) == (limit is not None)
    layout = Layout(PROFILE, root)
    row, trunk = (facts_of(layout.runs / f"sudoku-se_rrm_{name}-s0") for name in ("1e16", "trunk"))
    assert trunk.refilled == row.refilled == (1,) and row.steps_before == trunk.steps == 3
    assert (layout.scores / "sudoku-se_rrm_1e16-s0.json").is_file()
