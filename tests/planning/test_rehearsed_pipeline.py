"""The jobs of a rehearsal are the commands of dvc.yaml, in an order that its files allow."""

from pathlib import Path

import pytest

from serrm.config import pipeline_commands, read_params
from serrm.grid_file import grid_sections
from serrm.planning.miniature import selected
from serrm.planning.pipeline import jobs

ROOT = Path(__file__).parents[2]
PARAMS = selected(read_params(ROOT / "params.yaml"), "ci", ["sudoku-*", "maze-trm-s0"])


def test_every_stage_of_every_cell_is_a_job() -> None:
    made = jobs(pipeline_commands(ROOT / "dvc.yaml"), grid_sections(PARAMS))
    assert len(made) == 2 + 3 * 2 + 2 * 4
    train = next(job for job in made if job.stage == "train")
    assert train.of == "sudoku-hrm-s0"
    assert " ".join(train.arguments) == "train --profile ci --task sudoku --model hrm --seed 0"


def test_a_job_waits_for_its_own_task_and_cell() -> None:
    made = jobs(pipeline_commands(ROOT / "dvc.yaml"), grid_sections(PARAMS))
    evaluate = next(job for job in made if (job.stage, job.of) == ("evaluate", "maze-trm-s0"))
    before = [(made[number].stage, made[number].of) for number in evaluate.after]
    assert before == [
        ("resolve", "ci"),
        ("download", "maze"),
        ("augment", "maze"),
        ("build_arrays", "maze"),
        ("train", "maze-trm-s0"),
    ]
    assert len(made[-1].after) == len(made) - 1  # tables need all


def test_a_command_that_runs_no_stage_is_refused() -> None:
    with pytest.raises(ValueError, match="the command of odd is not python -m stages …: rm -rf"):
        jobs({"odd": ("${active}", "rm -rf ${item.profile}")}, grid_sections(PARAMS))
