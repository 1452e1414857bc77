"""data/<profile>/runs → data/<profile>/scores/<run>.json: scores with intervals at every depth.

Predictions for every puzzle go to data/<profile>/predictions/<run>/predictions.parquet.
"""

import sys
import time
from pathlib import Path

import typer

from serrm.core.project import Layout


def evaluate(
    name: str = typer.Argument(..., metavar="RUN", help="An entry of `runs` in params.yaml."),
) -> None:
    """Score the checkpoint of one run on all test sets of its data set.

    Example: python -m stages evaluate sudoku-se_rrm-s0
    """
    from serrm.config import read_execution
    from serrm.core.processes import is_first_of_torchrun, run_by_torchrun, under_torchrun
    from serrm.core.provenance import current_provenance, read_provenance, write_provenance
    from serrm.inference.evaluate import check_origin
    from serrm.inference.evaluate import evaluate as evaluate_run
    from serrm.inference.summary import score_line
    from serrm.scoring.schema import write_evaluation
    from serrm.tracking.background import mirror_meanwhile
    from stages.inputs import unedited

    execution = read_execution(Path())
    if execution.processes > 1 and not under_torchrun():
        sys.exit(run_by_torchrun(execution.processes, module="stages"))
    with unedited("evaluate", name) as inputs:
        params, layout = inputs.params, Layout(inputs.params.profile)
        run = params.scoring_settings(name)
        checkpoint, arrays = layout.runs / name, layout.arrays / run.data_set
        check_origin(checkpoint, params.run_settings(name), arrays)
        mirror_meanwhile(layout.root)
        start = time.monotonic()
        scores, predictions = evaluate_run(checkpoint, arrays, run, execution)
        if not is_first_of_torchrun():
            return
        inputs.check()
        predictions.write(layout.predictions / name)
        write_evaluation(layout.scores / f"{name}.json", scores)
        seconds, weights = round(time.monotonic() - start, 1), scores.training.weights_sha256
        assert weights is not None
        facts = {**current_provenance(layout.root), "seconds": seconds}
        write_provenance(layout.provenance, weights, "evaluation", facts)
    training = read_provenance(layout.provenance, weights).get("training", {})  # not known after a `dvc pull`
    typer.echo(score_line(scores, training.get("seconds", 0.0) + seconds))
