"""data/<profile>/arrays → data/<profile>/runs/<run>: a checkpoint.

The training log goes to data/<profile>/logs/<run>.csv, `serrm track` mirrors it in MLflow while it grows.
"""

import sys
from functools import partial
from pathlib import Path

import typer

from serrm.core.project import Layout


def train(name: str = typer.Argument(..., metavar="RUN", help="An entry of `runs` in params.yaml.")) -> None:
    """Train one run; after an interruption the same command resumes it.

    Example: python -m stages train sudoku-se_rrm-s0
    """
    from serrm.config import read_execution
    from serrm.core.files import hash_file, remove_directory, write_whole
    from serrm.core.processes import is_first_of_torchrun, run_by_torchrun, under_torchrun
    from serrm.core.provenance import package_hash, write_provenance
    from serrm.tracking.background import mirror_meanwhile
    from serrm.training.identity import PipelineRun, weights_sha256
    from serrm.training.log import LOG
    from serrm.training.run import read_measured
    from serrm.training.run import train as train_run
    from serrm.training.scratch import read_facts
    from stages.inputs import unedited

    execution = read_execution(Path())
    if execution.processes > 1 and not under_torchrun():
        sys.exit(run_by_torchrun(execution.processes, module="stages"))
    with unedited("train", name) as inputs:
        layout, run = Layout(inputs.params.profile), inputs.params.run_settings(name)
        code = layout.code / f"{name}.training"
        pipeline_run = PipelineRun(
            layout.profile, name, hash_file(code) if code.is_file() else package_hash()
        )
        train_this = partial(
            train_run,
            run,
            layout.arrays / run.data_set,
            layout.runs / name,
            layout.scratch,
            execution,
            pipeline_run=pipeline_run,
            check_inputs=inputs.check,
        )
        if not is_first_of_torchrun():
            train_this()
            return
        mirror_meanwhile(layout.root)
        folder = train_this().folder
        write_whole(layout.logs / f"{name}.csv", (folder / LOG).read_bytes())
        facts = read_facts(folder) | read_measured(folder)
        write_provenance(layout.provenance, weights_sha256(layout.runs / name), "training", facts)
    remove_directory(folder)
