"""The first losses of a run of a committed profile, in float32: committed text that shows whether code moved them.

`python -m tests.training.first_losses PROFILE [MIRROR]` prints a file of tests/training/losses. Profiles whose puzzles
are downloaded need a MIRROR, a folder with the publishers' files (docs/data.md).
"""

import itertools
import sys
import tempfile
from pathlib import Path

import torch

from serrm.arrays.build import build
from serrm.config import read_params
from serrm.core.execution import Execution
from serrm.datasets.sets import write_sets
from serrm.puzzles.tasks import TASKS
from serrm.sources.download import fetch
from serrm.training.run import TrainingRun

PROFILES = Path(__file__).parents[2] / "profiles"
NUM_LOSSES = 10
RUNS = {
    "claims_sudoku": "sudoku-trm_rope2d-s0",
    "published": "sudoku-se_rrm_muon_hints-s0",
    "arc_10x10": "arc_agi_1-se_rrm-s0",
    "maze_hard": "maze_15-trm-s0",
}


def first_losses(profile: str, mirror: Path | None, folder: Path) -> str:
    """A line per optimiser step, after one with the run's name; `folder` is scratch space."""
    name, params = RUNS[profile], read_params(PROFILES / f"{profile}.yaml")
    entry = params.runs[name].data_set
    task, section = params.task_of(entry), params.data_sets[entry]
    if mirror is not None:
        source = TASKS[task].as_mirror(section.download["source"], mirror)
        download = {**section.download, "source": source}
        params.data_sets[entry] = section.model_copy(update={"files": mirror, "download": download})
    settings = params.download_settings(entry)
    fetch(task, settings.source, folder / "raw", settings.seed, folder / "downloads")
    write_sets(folder / "raw", folder / "sets", task, params.puzzle_settings(entry))
    build(folder / "sets", folder / "arrays", task, params.array_settings(entry))
    run = params.run_settings(name)
    recipe = run.train.model_copy(update={"precision": "float32", "log_every": 1})
    run = run.model_copy(update={"train": recipe})
    training = TrainingRun(run, folder / "arrays", folder / "scratch", Execution(device="cpu", threads=1))
    training.close()
    records = itertools.islice(training.trainer.steps(), NUM_LOSSES)
    return "\n".join([name, *(repr(record["loss"]) for record in records if record is not None)]) + "\n"


if __name__ == "__main__":
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        where = Path(sys.argv[2]) if len(sys.argv) > 2 else None
        sys.stdout.write(first_losses(sys.argv[1], where, Path(scratch)))
