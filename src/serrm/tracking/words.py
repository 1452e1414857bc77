"""What one reads in the list of runs: the tags to group by, the scores to sort by, and each run's description."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from serrm.reporting.cells import DASH, percent
from serrm.reporting.names import METRIC_NAMES, duration, model_name, set_name, task_name
from serrm.reporting.results import Evaluation, RefusedSet, ScoredSet
from serrm.reporting.writers import markdown_line

TRAINED_SET: Final = "9x9"  # of Sudoku; the other tasks' first set is the one trained for
RATES: Final = ("fsr", "gpa", "valid", "valid_shortest", "pass_at_1", "pass_at_2")


def training_digest(profile: str, name: str, data_hash: str, training: Mapping[str, Any]) -> str:
    """Names one finished training by what its checkpoint and its metric file both tell of it."""
    facts = [training.get(key) for key in ("steps", "samples", "seconds", "final_loss", "device")]
    return hashlib.sha256(json.dumps([profile, name, data_hash, *facts]).encode()).hexdigest()


def cell_tags(task: str, model: str, seed: int, family: str) -> dict[str, str]:
    """What the runs of cells are grouped and filtered by."""
    return {"kind": "cell", "task": task, "model": model, "seed": str(seed), "family": family}


def headline(evaluation: Evaluation) -> tuple[str, dict[str, float]]:
    """The set trained for, and its scores at the last depth, as `score/fsr`: one column for all tasks."""
    scored = {name: scores for name, part in evaluation.sets.items() if (scores := _last(part)[1])}
    if not scored:
        return "", {}
    name = TRAINED_SET if TRAINED_SET in scored else next(iter(scored))
    return name, {f"score/{key}": value for key, value in scored[name].items()}


def description(evaluation: Evaluation) -> str:
    """A run's note, in Markdown: what was trained on what, the row of scores of each set, and notes."""
    info, training = evaluation.model_info, evaluation.training
    title = (
        f"**{model_name(evaluation.model)}** on {task_name(evaluation.task)}, profile {evaluation.profile}"
    )
    trained = (
        f"seed {evaluation.seed}, {info.parameters:,} parameters, {training.steps:,} optimiser steps, "
        f"{training.samples:,} samples of {evaluation.data.train_puzzles:,} puzzles "
        f"({evaluation.data.source}), {duration(training.seconds)} on {training.device}"
    )
    lines = [
        f"{title}: {trained}.",
        "",
        *_table(evaluation),
    ]
    if evaluation.notes:
        lines += ["", f"Notes: {'; '.join(evaluation.notes)}."]
    return "\n".join(lines)


def overview(profile: str, evaluations: list[Evaluation]) -> str:
    """An experiment's note, in Markdown: every cell's scores in one table, and how to look at them."""
    lines = [
        f"Profile `{profile}` of params.yaml; one run a cell, and the run `report` with the tables and figures.",
        "Filter `tags.current = 'true'` leaves out what newer trainings replaced; group by the tag `task` or "
        "`model`; `score/…` are the scores after the last step on the puzzles trained for.",
        "",
        "| task | model | seed | set | puzzles | steps | FSR | GPA |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for run in evaluations:
        for name, part in run.sets.items():
            who = task_name(run.task), model_name(run.model), str(run.seed), set_name(name)
            lines.append(markdown_line([*who, *_cells(part, ("fsr", "gpa"))]))
    return "\n".join(lines)


def _table(evaluation: Evaluation) -> Iterator[str]:
    """One line a set, with the scores that any of them has."""
    scores = [_last(part)[1] for part in evaluation.sets.values()]
    rates = [rate for rate in RATES if any(rate in score for score in scores)]
    names = [METRIC_NAMES.get(rate, rate) for rate in rates]
    yield markdown_line(["set", "puzzles", "steps", *names])
    yield "|" + "---|" * (3 + len(names))
    for name, part in evaluation.sets.items():
        yield markdown_line([set_name(name), *_cells(part, rates)])


def _cells(part: ScoredSet | RefusedSet, rates: list[str] | tuple[str, ...]) -> list[str]:
    if isinstance(part, RefusedSet):
        return [DASH, DASH, *["cannot extrapolate"] * len(rates)]
    steps, scores = _last(part)
    return [str(part.num_puzzles), steps, *(_percent(scores, rate) for rate in rates)]


def _last(part: ScoredSet | RefusedSet) -> tuple[str, dict[str, float]]:
    """The deepest scores of a set, and after how many steps."""
    if isinstance(part, RefusedSet):
        return DASH, {}
    return str(max(part.steps)), part.steps[max(part.steps)]


def _percent(scores: Mapping[str, float], rate: str) -> str:
    return percent(*(scores[f"{rate}{end}"] for end in ("", "_lo", "_hi"))) if rate in scores else DASH
