"""Extension of table 2: FSR against the supervision steps really spent, for adaptive depth and for breadth.

The paper gives every puzzle the same number of steps. A metric file may also say what puzzles that stop at their own
depth reach (`adaptive`), or puzzles that are tried several times over (`breadth`).
"""

from collections.abc import Iterable

from serrm.reporting.cells import DASH, NOT_RUN
from serrm.reporting.names import model_name, task_name
from serrm.reporting.plain import PlainTable
from serrm.reporting.results import Effort, Evaluation, Results, ScoredSet

HEADER = (
    "Task",
    "Model",
    "Way",
    "Steps at most",
    "Attempts at most",
    "Mean steps",
    "FSR, percent (95% interval)",
)
CAPTION = (
    "Fully solved rate against the mean number of supervision steps that a puzzle took, all attempts together: "
    "fixed depth as in table 2, adaptive depth (a puzzle stops when its answer is verified or has settled), and "
    "breadth (several attempts at a puzzle, from other initial states or on symmetric images)."
)


def effort_table(results: Results) -> PlainTable:
    """One line a model, seed and way of spending steps; a single one, "not run", where there is fixed depth alone."""
    runs = [run for seeds in results.values() for run in seeds]
    rows = [
        row for run in runs if run.adaptive or run.breadth for row in _rows(run, len(_seeds(run, results)))
    ]
    others = [
        f"{model_name(run.model)} on {task_name(run.task)}" for run in runs if not run.adaptive + run.breadth
    ]
    notes = [f"At fixed depth alone: {', '.join(dict.fromkeys(others))}."] if others else []
    nothing = (DASH, DASH, "adaptive depth, breadth", *[NOT_RUN] * 4)
    title, was_run = "Depth that adapts, and breadth", bool(rows)
    return PlainTable("2-effort", title, CAPTION, HEADER, tuple(rows) or (nothing,), tuple(notes), was_run)


def _seeds(run: Evaluation, results: Results) -> list[Evaluation]:
    return results[run.task, run.model]


def fixed_depths(run: Evaluation) -> list[Effort]:
    """The depths at which the set trained for was scored, as efforts; none for a task without FSR."""
    scored = trained_set(run)
    steps = {} if scored is None else scored.steps
    return [
        Effort(
            kind="fixed depth", max_steps=depth, mean_steps=depth,
            fsr=scores["fsr"], fsr_lo=scores["fsr_lo"], fsr_hi=scores["fsr_hi"],
        )
        for depth, scores in steps.items()
        if "fsr" in scores
    ]  # fmt: skip


def trained_set(run: Evaluation) -> ScoredSet | None:
    """The scores of the size that was trained on: 9×9 of Sudoku, else the first set that was scored."""
    scored = {name: part for name, part in run.sets.items() if isinstance(part, ScoredSet)}
    return scored.get("9x9") or next(iter(scored.values()), None)


def _rows(run: Evaluation, num_seeds: int) -> Iterable[tuple[str, ...]]:
    seed = f" (seed {run.seed})" if num_seeds > 1 else ""
    who = (task_name(run.task), model_name(run.model) + seed)
    for effort in [*fixed_depths(run), *run.adaptive, *run.breadth]:
        percent = f"{100 * effort.fsr:.2f} ({100 * effort.fsr_lo:.2f}–{100 * effort.fsr_hi:.2f})"
        yield (*who, effort.kind, str(effort.max_steps), str(effort.num), f"{effort.mean_steps:.2f}", percent)
