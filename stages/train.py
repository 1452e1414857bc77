"""data/arrays → data/runs/<profile>/<cell>: a checkpoint and its training log; MLflow shows the loss meanwhile."""

import shutil

import typer

from stages.layout import PARAMS, ROOT, Layout


def train(
    profile: str = typer.Option(...),
    task: str = typer.Option(...),
    model: str = typer.Option(...),
    seed: int = typer.Option(...),
) -> None:
    """Train one cell of the grid; interrupted, the same command goes on where it stopped."""
    from serrm.config import read_cell, read_section
    from serrm.reporting.training_log import Record, write_training_log
    from serrm.tracking.runs import RunFiles, log_training
    from serrm.training.processes import is_first_of_torchrun
    from serrm.training.run import train as train_cell
    from serrm.training.settings import Execution, TrainCell

    layout, name = Layout(profile), f"{task}-{model}-s{seed}"
    cell = read_cell(TrainCell, layout.config / "train" / f"{name}.json")
    execution = read_section(Execution, PARAMS, "execution")
    what = (cell, layout.arrays / task, layout.runs / name, layout.scratch, execution)
    if not is_first_of_torchrun():
        train_cell(*what)
        return
    records: list[Record] = []
    with log_training(RunFiles(ROOT, profile, name), task, cell.digest()) as log_record:

        def note(record: Record) -> None:
            records.append(record)
            log_record(record)

        train_cell(*what, note)
        write_training_log(layout.reports / "training" / f"{name}.csv", records)
    shutil.rmtree(layout.scratch / cell.digest())
