"""scripts/lease.py goes on where another machine ended, with what fits into its files."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from serrm.config import read_params, write_yaml
from serrm.core.project import Layout
from serrm.planning.forecast import flops_by_run
from serrm.scoring.schema import METRICS_FILE, read_profile_scores, write_evaluation
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


def test_the_best_of_each_model_on_validation_puzzles_gives_the_recipe(
    script: dict[str, Any], tmp_path: Path
) -> None:
    """The most solved puzzles choose, and the most right cells where none solves a twentieth; FLOPs stay."""
    (tmp_path / "profiles").symlink_to(ROOT / "profiles")
    lease, tuning = script["Lease"](tmp_path, 0.0), "gpu_sudoku_tuning"
    names = [*read_params(ROOT / "profiles" / f"{tuning}.yaml").runs]
    rates = dict.fromkeys(names, (0.01, 0.5)) | {
        "sudoku-hrm_rate_4e-3-s0": (0.06, 0.4),
        "sudoku-trm_mlp-s0": (0.04, 0.5),
        "sudoku-trm_rate_25e-4-s0": (0.0, 0.6),
        "sudoku-se_rrm_batch_128-s0": (0.3, 0.8),
        "sudoku-se_rrm_smoothed-s0": (0.2, 0.9),
    }
    for name, (solved, cells) in rates.items():
        assert lease.choices(PROFILE) == {}, "until all are scored"
        write_scores(Layout(tuning, tmp_path).scores / f"{name}.json", solved, cells)
    assert lease.choices(PROFILE) == {
        "hrm": {"train.learning_rate": 4e-3},
        "trm": {"train.learning_rate": 2.5e-3},
        "se_rrm": {"train.batch_size": 128, "train.learning_rate": 4e-3, "train.steps": 700},
    }
    before = read_params(ROOT / "profiles" / f"{PROFILE}.yaml")
    after = script["with_changes"](before, lease.choices(PROFILE))
    settings = after.run_settings("sudoku-se_rrm_1e16-s0").train
    assert (settings.batch_size, settings.learning_rate) == (128, 4e-3)
    for (name, *_, old, _), (_, *_, new, _) in zip(flops_by_run(before), flops_by_run(after), strict=True):
        assert new == pytest.approx(old, rel=0.01), name


def write_scores(path: Path, solved: float, cells: float) -> None:
    """Write the scores of a run with these rates on its one set; all else is of the committed profile `gpu_sudoku`."""
    evaluation = read_profile_scores(ROOT / "reports" / "gpu_sudoku" / METRICS_FILE).runs["sudoku-trm-s0"]
    scored = evaluation.sets["9x9"].model_copy(update={"steps": {16: {"fsr": solved, "gpa": cells}}})
    write_evaluation(path, evaluation.model_copy(update={"sets": {"held_out": scored}}))


@pytest.mark.slow
def test_another_machine_goes_on_without_the_slots(
    script: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (long,) = (part for part in script["PARTS"] if part.title == "Sudoku: 1e16 FLOPs")
    part = long._replace(runs=("*-se_rrm_trunk-s0", "*-se_rrm_1e16-s0"))
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
