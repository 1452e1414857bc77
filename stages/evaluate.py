"""data/<profile>/runs → reports/<profile>/metrics/<run>.json: scores with intervals at every depth."""

import logging
import sys
import time
from pathlib import Path

import typer

from serrm.project import PARAMS, Layout


def evaluate(
    name: str = typer.Argument(..., metavar="RUN", help="An entry of `runs` in params.yaml."),
) -> None:
    """Score the checkpoint of one run on all test sets of its task.

    Example: python -m stages evaluate sudoku-se_rrm-s0
    """
    from serrm.config import read_execution, read_params
    from serrm.files import write_json
    from serrm.inference import evaluate as inference
    from serrm.inference.summary import score_line
    from serrm.processes import is_first_of_torchrun, run_by_torchrun, under_torchrun
    from serrm.tracking.runs import sync_or_warn

    params = read_params(Path(PARAMS))
    layout, run = Layout(params.profile), params.evaluate_settings(name)
    execution = read_execution(Path())
    if execution.processes > 1 and not under_torchrun():
        sys.exit(run_by_torchrun(execution.processes, "stages"))
    start = time.monotonic()
    scores, gallery = inference.evaluate(layout.runs / name, layout.arrays / run.task, run, execution)
    if not is_first_of_torchrun():
        return
    gallery.write(layout.predictions / name)
    about = {
        "profile": params.profile,
        "run": name,
        "task": run.task,
        "kind": run.kind,
        "model": run.variant,
        "seed": run.seed,
        "headline_steps": run.evaluate.headline,
    }
    write_json(layout.metrics / f"{name}.json", about | scores)
    sync_or_warn(layout, name)
    seconds = scores["training"]["seconds"] + time.monotonic() - start
    logging.getLogger(__name__).info("%s", score_line(name, scores, run, seconds))
