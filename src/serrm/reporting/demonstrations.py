"""Extension of table 3: the demonstration pairs that a model reproduces, beside what it makes of the test inputs.

The pairs were trained on. Where pass@k is 0 they tell a model that learned nothing from one that does not carry over.
"""

from collections.abc import Iterator, Mapping

from serrm.reporting.cells import DASH, NOT_RUN
from serrm.reporting.names import model_name, set_name, task_name
from serrm.reporting.plain import PlainTable
from serrm.reporting.results import Evaluation, Results, ScoredSet

HEADER = ("Task", "Model", "Steps", "Pairs reproduced", "Their cells", "Scored on", "pass@1", "pass@2")
CAPTION = (
    "Demonstration pairs of the scored puzzles, which the model was trained on: the share whose whole grid it "
    "gives back, and the share of right cells, with their own task types, untransformed and at the corner of the "
    "canvas; beside them pass@k on the same puzzles' test inputs. Percent with 95% Wilson intervals; n counts pairs, "
    "cells and puzzles."
)


def demonstration_table(results: Results) -> PlainTable:
    """One line a model, seed and depth; a single one, "not run", where no metric file tells of such pairs."""
    rows = tuple(row for seeds in results.values() for run in seeds for row in _rows(run, len(seeds)))
    nothing = (DASH, DASH, DASH, *[NOT_RUN] * 5)
    notes = (
        "Pairs reproduced are training data: no score of the paper, and none to set beside a test score.",
    )
    title = "ARC-AGI: demonstration pairs reproduced"
    return PlainTable(
        "3-demonstrations", title, CAPTION, HEADER, rows or (nothing,), notes if rows else (), bool(rows)
    )


def _rows(run: Evaluation, num_seeds: int) -> Iterator[tuple[str, ...]]:
    seed = f" (seed {run.seed})" if num_seeds > 1 else ""
    for name, part in run.sets.items():
        if not isinstance(part, ScoredSet) or part.demonstrations is None:
            continue
        pairs = part.demonstrations
        for steps, scores in pairs.steps.items():
            yield (
                task_name(run.task),
                model_name(run.model) + seed,
                str(steps),
                f"{_percent(scores, 'pair_fsr')}, n {pairs.num_pairs:,}",
                f"{_percent(scores, 'pair_gpa')}, n {pairs.num_cells:,}",
                f"{part.num_puzzles:,} {set_name(name)} puzzles",
                _percent(part.steps.get(steps, {}), "pass_at_1"),
                _percent(part.steps.get(steps, {}), "pass_at_2"),
            )


def _percent(scores: Mapping[str, float], rate: str) -> str:
    if rate not in scores:
        return DASH
    value, low, high = (100 * scores[key] for key in (rate, f"{rate}_lo", f"{rate}_hi"))
    return f"{value:.2f} ({low:.2f}–{high:.2f})"
