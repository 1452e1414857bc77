"""Changes of a profile's losses, scores and counts since the committed expectations, each kind with its tolerance.

Training is exact for a seed on one machine; other kernels round otherwise, which the tolerances allow for. Scores at
the level of guessing are not expected, since the answers of a model that learned nothing change with the last digit of
its weights. A score is above that level if the lower end of its 95% Wilson interval over puzzles is (over puzzles, for
the squares of one are right or wrong together).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, NonNegativeFloat

from serrm.files import read_parsed
from serrm.metrics import RATE, metrics_of, wilson
from serrm.reporting.results import Evaluation, read_evaluation
from serrm.training.log import read_training_log

Kind = Literal["count", "samples", "loss", "fsr", "gpa", "mean"]
KEY: Final = ["run", "kind", "value"]
# Puzzles of a set: one of fewer alone would move a rate over puzzles by more than is allowed.
LEAST: Final[dict[Kind, int]] = {"fsr": 10}
SAME: Final = 1e-9  # relative; closer values are the same


class Tolerance(BaseModel):
    """Tolerance of a value: `absolute`, or `relative` to the expected value, whichever is more."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    absolute: NonNegativeFloat = 0.0
    relative: NonNegativeFloat = 0.0


class Expectations(BaseModel):
    """The committed file: tolerances by kind, and values by run and kind."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tolerances: dict[Kind, Tolerance] = {
        "count": Tolerance(),
        "samples": Tolerance(relative=0.05),
        "loss": Tolerance(relative=0.01),
        "fsr": Tolerance(absolute=0.1),
        "gpa": Tolerance(absolute=0.02),
        "mean": Tolerance(relative=0.1),
    }
    runs: dict[str, dict[Kind, dict[str, float]]] = {}


def measure(metrics: Path, logs: Path) -> pd.DataFrame:
    """The values of every run with a metric file and its training log: columns run, kind, value, measured, is_guess.

    Raises:
        ValueError: there is no metric file, or one or its training log is malformed.
        FileNotFoundError: a run has no training log.
    """
    runs = [read_evaluation(path) for path in sorted(metrics.glob("*.json"))]
    if not runs:
        raise ValueError(f"{metrics}: no metric files; run the profile first (dvc repro)")
    lines = [(run.name, *line) for run in runs for line in _values(run, logs / f"{run.name}.csv")]
    return pd.DataFrame(lines, columns=[*KEY, "measured", "is_guess"])


def _values(run: Evaluation, log: Path) -> Iterator[tuple[Kind, str, float, bool]]:
    """Kind, name and value of everything measured of a run, and whether it is a score at the level of guessing."""
    counts = {
        "parameters": run.model_info.parameters,
        "parameters with task types": run.model_info.parameters_with_task_types,
        "optimiser steps": run.training.steps,
        "training puzzles": run.data.train_puzzles,
        **{f"{name} puzzles": part.num_puzzles for name, part in run.scored.items()},
    }
    yield from (("count", name, float(count), False) for name, count in counts.items())
    yield "samples", "training samples", float(run.training.samples), False
    for record in read_training_log(log):
        yield "loss", f"step {record['step']}", record["loss"], False
    for name, part in run.scored.items():
        for steps, scores in part.steps.items():
            for metric, each in metrics_of(run.kind).items():
                kind = each.tolerance
                if metric in scores and each.is_main and part.num_puzzles >= LEAST.get(kind, 1):
                    # A mean has no level of guessing, so it is expected where puzzles are solved.
                    rate = metric if each.unit is RATE else "fsr"
                    low, _ = wilson(scores[rate] * part.num_puzzles, part.num_puzzles)
                    is_guess = low <= scores.get(f"{rate}_guess", 0.0)  # a whole puzzle is never guessed
                    yield kind, f"{name} {metric} after {steps}", scores[metric], is_guess


def expected_from(measured: pd.DataFrame) -> dict[str, dict[str, dict[str, float]]]:
    """Values by run, kind and name, without those at the level of guessing."""
    expected: dict[str, dict[str, dict[str, float]]] = {}
    for line in measured[~measured["is_guess"]].to_dict("records"):
        kinds = expected.setdefault(line["run"], {kind: {} for kind in Expectations().tolerances})
        kinds[line["kind"]][line["value"]] = line["measured"]
    return expected


def changes(expectations: Expectations, measured: pd.DataFrame) -> pd.DataFrame:
    """A line for every value that changed, is missing, or is new and above guessing; first those outside tolerance."""
    lines: list[Any] = [
        (run, kind, name, value)
        for run, kinds in expectations.runs.items()
        for kind, named in kinds.items()
        for name, value in named.items()
    ]
    both = pd.DataFrame(lines, columns=[*KEY, "expected"]).merge(measured, "outer", KEY)
    both = both[both["expected"].notna() | (both["is_guess"] == False)]  # noqa: E712
    old, distance = both["expected"].abs(), (both["measured"] - both["expected"]).abs()
    known = Expectations().tolerances | expectations.tolerances
    tolerances = [known[kind] for kind in both["kind"]]
    both["allowed"] = [
        max(each.absolute, each.relative * value) for each, value in zip(tolerances, old, strict=True)
    ]
    both["outside"] = both["expected"].notna() & ~(
        distance <= both["allowed"]
    )  # also if missing, or no number
    moved = both[~(distance <= SAME * old)]
    return moved.drop(columns="is_guess").sort_values("outside", ascending=False, kind="stable")


def read_expectations(path: Path) -> Expectations:
    """The committed expectations. ValueError naming the file and the key that is wrong."""
    return read_parsed(path, Expectations.model_validate_json)
