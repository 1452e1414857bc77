"""data/arrays → data/runs/<profile>/<cell>: a checkpoint, its training log, and the MLflow run that watched."""

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
    from serrm.tracking.runs import cell_run
    from serrm.tracking.words import cell_tags
    from serrm.training.processes import is_first_of_torchrun
    from serrm.training.run import train as train_cell
    from serrm.training.settings import Execution, TrainCell

    layout, name = Layout(profile), f"{task}-{model}-s{seed}"
    cell = read_cell(TrainCell, layout.config / "train" / f"{name}.json")
    target, pointer = layout.runs / name, layout.runs / f"{name}.mlflow.json"
    unfinished = layout.scratch / f"{cell.digest()}.mlflow.json"
    what = (cell, layout.arrays / task, target, layout.scratch, read_section(Execution, PARAMS, "execution"))
    if not is_first_of_torchrun():
        train_cell(*what)
        return
    records: list[Record] = []
    with cell_run(ROOT, profile, name, unfinished, params=cell.model_dump(mode="json")) as run:
        run.tell(run.tag, cell_tags(task, model, seed, cell.model.family))

        def note(record: Record) -> None:
            records.append(record)
            run.tell(run.log_record, record)

        config = train_cell(*what, note)
        run.tell(run.log_training, config, name, target, layout.arrays / task)
    write_training_log(layout.reports / "training" / f"{name}.csv", records)
    unfinished.replace(pointer)
