"""What moved in a profile's losses, scores and counts since the committed expectations, each kind with its tolerance.

Training is exact for a seed on one machine; elsewhere other kernels round otherwise, which the tolerances allow for.
What rounding alone decides is not expected: a score at the level of guessing, where the answers of a model that learned
nothing change with the last digit of its weights. A score is above that level if the lower end of its 95% Wilson
interval over puzzles is (over puzzles, for the squares of one are right or wrong together).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Final, Literal, NamedTuple

import pandas as pd
from pydantic import BaseModel, ConfigDict, NonNegativeFloat

from serrm.files import read_parsed
from serrm.reporting.results import Evaluation, read_evaluation
from serrm.reporting.training_log import read_training_log
from serrm.scoring.metrics import wilson

Kind = Literal["count", "samples", "loss", "fsr", "gpa"]
Key = tuple[str, Kind, str]  # run, kind, name of the value
Cells = dict[str, dict[Kind, dict[str, float]]]
# Kind, names, and the least number of puzzles in a set: one of fewer alone would move FSR by more than is allowed.
RATES: Final[tuple[tuple[Kind, tuple[str, ...], int], ...]] = (
    ("fsr", ("fsr", "valid", "valid_shortest", "pass_at_1", "pass_at_2"), 10),
    ("gpa", ("gpa",), 1),
)
SAME: Final = 1e-9  # relative; what is closer has not moved


class Tolerance(BaseModel):
    """How far a value may move: by `absolute`, or by `relative` of what is expected, whichever is more."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    absolute: NonNegativeFloat = 0.0
    relative: NonNegativeFloat = 0.0


DEFAULTS: Final[dict[Kind, Tolerance]] = {
    "count": Tolerance(),
    "samples": Tolerance(relative=0.05),
    "loss": Tolerance(relative=0.01),
    "fsr": Tolerance(absolute=0.1),
    "gpa": Tolerance(absolute=0.02),
}


class Expectations(BaseModel):
    """The committed file: tolerances by kind, and values by run and kind."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tolerances: dict[Kind, Tolerance] = DEFAULTS
    cells: Cells = {}


class Value(NamedTuple):
    """A value that was measured, and whether it is a score at the level of guessing."""

    value: float
    is_guess: bool = False


class Change(NamedTuple):
    """A value that is not what it was; None where one side has none."""

    key: Key
    expected: float | None
    measured: float | None
    allowed: float = 0.0

    @property
    def is_outside(self) -> bool:
        """Whether it moved too far or is gone; a new value is no fault."""
        if self.expected is None or self.measured is None:
            return self.expected is not None
        return not abs(self.measured - self.expected) <= self.allowed  # also if it is not a number


def measure(metrics: Path, logs: Path) -> dict[Key, Value]:
    """The values of every run with a metric file, and of its training log.

    Raises:
        ValueError: there is no metric file, or one or its training log is malformed.
        FileNotFoundError: a run has no training log.
    """
    runs = [read_evaluation(path) for path in sorted(metrics.glob("*.json"))]
    if not runs:
        raise ValueError(f"{metrics}: no metric files; has the profile been run?")
    return {(run.name, *key): value for run in runs for key, value in _values(run, logs / f"{run.name}.csv")}


def _values(run: Evaluation, log: Path) -> Iterator[tuple[tuple[Kind, str], Value]]:
    """All that is measured of a run."""
    counts = {
        "parameters": run.model_info.parameters,
        "parameters with task types": run.model_info.parameters_with_task_types,
        "optimiser steps": run.training.steps,
        "training puzzles": run.data.train_puzzles,
        **{f"{name} puzzles": part.num_puzzles for name, part in run.scored.items()},
    }
    yield from ((("count", name), Value(count)) for name, count in counts.items())
    yield ("samples", "training samples"), Value(run.training.samples)
    for record in read_training_log(log):
        yield ("loss", f"step {record['step']}"), Value(record["loss"])
    for (kind, rates, least), (name, part) in product(RATES, run.scored.items()):
        for (steps, scores), rate in product(part.steps.items(), rates):
            if rate in scores and part.num_puzzles >= least:
                low, _ = wilson(scores[rate] * part.num_puzzles, part.num_puzzles)
                is_guess = low <= scores.get(f"{rate}_guess", 0.0)  # a whole puzzle is never guessed
                yield (kind, f"{name} {rate} after {steps}"), Value(scores[rate], is_guess)


def worth_expecting(measured: Mapping[Key, Value]) -> Cells:
    """The values without those at the level of guessing."""
    cells: Cells = {}
    for (run, kind, name), (value, is_guess) in measured.items():
        kinds = cells.setdefault(run, {each: {} for each in DEFAULTS})
        if not is_guess:
            kinds[kind][name] = float(value)
    return cells


def compare(expectations: Expectations, measured: Mapping[Key, Value]) -> list[Change]:
    """Every value that moved, is gone, or is new and worth expecting."""
    expected: dict[Key, float] = {
        (run, kind, name): value
        for run, kinds in expectations.cells.items()
        for kind, named in kinds.items()
        for name, value in named.items()
    }
    changes = []
    for key in dict.fromkeys([*expected, *measured]):
        old, (new, is_guess) = expected.get(key), measured.get(key, (None, False))
        if old is None and not is_guess:
            changes.append(Change(key, old, new))
        elif old is not None and (new is None or not abs(new - old) <= SAME * abs(old)):
            tolerance = expectations.tolerances[key[1]]
            changes.append(Change(key, old, new, max(tolerance.absolute, tolerance.relative * abs(old))))
    return changes


def read_expectations(path: Path) -> Expectations:
    """The committed expectations. ValueError naming the file and the key that is wrong."""
    return read_parsed(path, Expectations.model_validate_json)


def changes_table(changes: Sequence[Change]) -> str:
    """What moved as a Markdown table, what is outside its tolerance first."""
    changes = sorted(changes, key=lambda change: not change.is_outside)
    rows = [
        (*each.key, each.expected, each.measured, each.allowed, "OUTSIDE" * each.is_outside)
        for each in changes
    ]
    names = ["run", "kind", "value", "expected", "measured", "allowed", ""]
    frame = pd.DataFrame(rows, columns=names)
    return frame.to_markdown(index=False, tablefmt="github", floatfmt=".6g", missingval="none")
