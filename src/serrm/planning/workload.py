"""What a profile's stages come to, from params.yaml alone: operations, memory and disk, stage by stage.

Operations are counted; memory and disk are estimates to plan by. Sets, checkpoints and arrays count once: DVC's cache
links them where the disk can.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from serrm.inference.settings import EvaluateCell
from serrm.models.sizes import (
    PROCESS_BYTES,
    Manner,
    Share,
    num_state_numbers,
    num_task_numbers,
    num_weights,
    training_bytes,
)
from serrm.planning.operations import evaluation_operations, num_votes, training_operations
from serrm.planning.tasks import TASKS, Counts
from serrm.puzzles.alphabet import alphabet
from serrm.resolve import as_text, resolve
from serrm.training.settings import TrainCell

RAW_BYTES = 25  # of a puzzle in a raw file or a set, besides its cells
VARIANT_BYTES = 11  # of a row of the ARC index
DATA_STAGES = ("download", "augment", "arrays")
ARRAYS = "build_arrays"


@dataclass(frozen=True)
class Stage:
    """One process of the pipeline: the stage's name, its task or cell, and what it takes; sizes in bytes.

    `settings` names the file under data/config/<profile> that the stage depends on, `text` is its content.
    """

    name: str
    of: str
    task: str
    settings: str
    text: str = field(repr=False)
    operations: int = 0
    memory: int = PROCESS_BYTES
    disk: int = 0
    cell: TrainCell | None = field(default=None, repr=False)  # trained or evaluated, on grids of a side
    side: int = 0


def workload(params: Mapping[str, Any], profile: str, *, is_native: bool = False) -> list[Stage]:
    """The stages of a profile in the pipeline's order, but for those that only read settings or write tables.

    `is_native` says whether bfloat16 trainings run on the native kernels, which keep less. ValueError as `resolve`.
    """
    files = resolve(params, profile)
    counts: dict[str, Counts] = {}
    stages: list[Stage] = []
    for name, settings in files.items():
        kind, _, of = name.partition("/")
        if kind == "download":
            counts[of] = TASKS[of].counts(files[name].source, files[f"augment/{of}"])  # type: ignore[attr-defined]
        if kind in DATA_STAGES:
            stage = ARRAYS if kind == "arrays" else kind
            disk = _disk_of_data(of, kind, settings, counts[of])
            stages.append(Stage(stage, of, of, name, as_text(settings), disk=disk))
        elif isinstance(settings, TrainCell):
            stages.append(_train(name, settings, counts[settings.task], is_native))
        elif isinstance(settings, EvaluateCell):
            cell = files[f"train/{of}"]
            assert isinstance(cell, TrainCell)
            pools = settings.fidelity.aggregated_voting
            operations = evaluation_operations(
                cell, settings.evaluate, counts[settings.task], pools_snapshots=pools
            )
            text, side = as_text(settings), counts[cell.task].side
            stages.append(Stage("evaluate", of, cell.task, name, text, operations, cell=cell, side=side))
    return stages


def _train(name: str, cell: TrainCell, counts: Counts, is_native: bool) -> Stage:
    positions, symbols = counts.side**2, alphabet(cell.task, counts.side).num_symbols
    num_task_types = counts.num_puzzles * max(1, num_votes(cell))
    num_slots, num_bytes = cell.train.batch_size, 4 if cell.train.precision == "float32" else 2
    manner = Manner(num_bytes, is_native and num_bytes == 2)
    share = Share(num_slots, num_slots, num_task_types)
    memory = training_bytes(cell.model, positions, symbols, manner, share)
    weights = num_weights(cell.model, positions, symbols)
    table = num_task_numbers(cell.model, num_task_types, symbols)
    numbers = num_slots * num_state_numbers(cell.model, positions, symbols)
    # A checkpoint has weights, their average and the optimiser's two moments.
    disk = (
        4 * (4 * weights + table) + numbers * num_bytes + (1 + cell.train.snapshots) * 4 * (weights + table)
    )
    operations = training_operations(cell, counts)
    return Stage(
        "train", cell.name, cell.task, name, as_text(cell), operations, memory, disk, cell, counts.side
    )


def _disk_of_data(task: str, kind: str, settings: Any, counts: Counts) -> int:
    """Of a task's raw files, sets or arrays: questions and answers, and the ARC index."""
    sides = [(counts.side, counts.num_train), *counts.tests.items()]
    if kind != "arrays":
        return sum(num * (2 * side**2 + RAW_BYTES) for side, num in sides)
    num_variants = counts.num_puzzles * (int(settings.num_augmentations) + 1) if TASKS[task].has_votes else 0
    return sum(num * 2 * side**2 for side, num in sides) + num_variants * VARIANT_BYTES
