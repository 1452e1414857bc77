"""data/runs, data/arrays → reports/<profile>/metrics/<cell>.json: scores with intervals at every depth."""

import typer

from stages.layout import PARAMS, ROOT, Layout


def evaluate(
    profile: str = typer.Option(...),
    task: str = typer.Option(...),
    model: str = typer.Option(...),
    seed: int = typer.Option(...),
) -> None:
    """Score the checkpoint of one cell of the grid on all sizes of its task."""
    from serrm.config import read_cell, read_section
    from serrm.files import write_json
    from serrm.inference.evaluate import evaluate_together
    from serrm.inference.settings import EvaluateCell
    from serrm.tracking.runs import RunFiles, sync_or_warn
    from serrm.training.processes import is_first_of_torchrun
    from serrm.training.settings import Execution

    layout, name = Layout(profile), f"{task}-{model}-s{seed}"
    cell = read_cell(EvaluateCell, layout.config / "evaluate" / f"{name}.json")
    what = (layout.runs / name, layout.arrays / task, cell, read_section(Execution, PARAMS, "execution"))
    if not is_first_of_torchrun():
        evaluate_together(*what)
        return
    scores, gallery = evaluate_together(*what)
    gallery.write(layout.predictions / name)
    target = layout.reports / "metrics" / f"{name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_json(target, {"profile": profile, "task": task, "model": model, "seed": seed, **scores})
    sync_or_warn(RunFiles(ROOT, profile, name))
