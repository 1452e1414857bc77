"""data/<profile>/arrays → data/<profile>/runs/<run>: a checkpoint.

The training log goes to data/<profile>/logs/<run>.csv, and MLflow shows it live.
"""

import sys
from pathlib import Path

import typer

from serrm.core.project import PARAMS, Layout


def train(name: str = typer.Argument(..., metavar="RUN", help="An entry of `runs` in params.yaml.")) -> None:
    """Train one run; after an interruption the same command resumes it.

    Example: python -m stages train sudoku-se_rrm-s0
    """
    from serrm.config import read_execution, read_params
    from serrm.core.files import remove_directory
    from serrm.core.processes import is_first_of_torchrun, run_by_torchrun, under_torchrun
    from serrm.core.provenance import current_provenance, write_provenance
    from serrm.tracking.client import log_training
    from serrm.training.log import Record, write_training_log
    from serrm.training.run import read_measured
    from serrm.training.run import train as train_run

    params = read_params(Path(PARAMS))
    layout, run = Layout(params.profile), params.run_settings(name)
    execution = read_execution(Path())
    if execution.processes > 1 and not under_torchrun():
        sys.exit(run_by_torchrun(execution.processes, module="stages"))
    arguments = (run, layout.arrays / run.data_set, layout.runs / name, layout.scratch, execution)
    if not is_first_of_torchrun():
        train_run(*arguments)
        return
    records: list[Record] = []
    with log_training(layout, name, run) as log_record:

        def log_and_keep(record: Record) -> None:
            records.append(record)
            log_record(record)

        train_run(*arguments, log_and_keep)
        write_training_log(layout.logs / f"{name}.csv", records)
        measured = read_measured(layout.scratch / run.digest())
        write_provenance(
            layout.provenance / f"{name}.json", "training", current_provenance(layout.root) | measured
        )
    remove_directory(layout.scratch / run.digest())
