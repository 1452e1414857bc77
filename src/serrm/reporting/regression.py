"""What moved since: a profile's losses, scores and counts beside the expected ones, each kind with its tolerance.

Training is exact for a seed on one machine; elsewhere other kernels round otherwise, which the tolerances allow for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, NonNegativeFloat

from serrm.reporting.files import read_parsed
from serrm.reporting.results import Evaluation, ScoredSet, read_evaluation
from serrm.reporting.training_log import read_training_log

Kind = Literal["count", "loss", "fsr", "gpa"]
Values = dict[str, dict[Kind, dict[str, float]]]  # cell → kind → name → value
FEW_PUZZLES: Final = 10  # below, one puzzle moves FSR by more than a tolerance that would notice anything
SOLVED: Final = ("fsr", "valid", "valid_shortest", "pass_at_1", "pass_at_2")
SAME: Final = 1e-9  # relative; what is closer has not moved


class Tolerance(BaseModel):
    """How far a value may move: by `absolute`, or by `relative` of what is expected, whichever is more."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    absolute: NonNegativeFloat = 0.0
    relative: NonNegativeFloat = 0.0

    def allowed(self, expected: float) -> float:
        """The largest difference from `expected` that is none."""
        return max(self.absolute, self.relative * abs(expected))


class Expectations(BaseModel):
    """The committed file: tolerances by kind, and values by cell and kind."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tolerances: dict[Kind, Tolerance]
    cells: Values


DEFAULTS: Final[dict[Kind, Tolerance]] = {
    "count": Tolerance(),
    "loss": Tolerance(relative=0.05),
    "fsr": Tolerance(absolute=0.1),
    "gpa": Tolerance(absolute=0.05),
}


@dataclass(frozen=True)
class Change:
    """A value that is not what it was; None where one side has none."""

    cell: str
    kind: Kind
    name: str
    expected: float | None
    measured: float | None
    allowed: float

    @property
    def is_outside(self) -> bool:
        """Whether it moved too far or is gone; a value that nobody expected is no fault."""
        if self.expected is None or self.measured is None:
            return self.expected is not None
        return not abs(self.measured - self.expected) <= self.allowed  # also if it is not a number


def measure(metrics: Path, logs: Path) -> Values:
    """The values of every cell with a metric file, and of its training log.

    Raises:
        ValueError: there is no metric file, or one or its training log is malformed.
        FileNotFoundError: a cell has no training log.
    """
    runs = [read_evaluation(path) for path in sorted(metrics.glob("*.json"))]
    if not runs:
        raise ValueError(f"{metrics}: no metric files; has the profile been run?")
    return {run.name: _values(run, logs / f"{run.name}.csv") for run in runs if not run.is_asked}


def compare(expectations: Expectations, measured: Values) -> list[Change]:
    """Every value that moved, is gone or is new, cell by cell."""
    changes = []
    for cell in expectations.cells | measured:
        for kind, tolerance in expectations.tolerances.items():
            before = expectations.cells.get(cell, {}).get(kind, {})
            after = measured.get(cell, {}).get(kind, {})
            for name in before | after:
                old, new = before.get(name), after.get(name)
                allowed = 0.0 if old is None else tolerance.allowed(old)
                if old is None or new is None or not abs(new - old) <= SAME * abs(old):
                    changes.append(Change(cell, kind, name, old, new, allowed))
    return changes


def read_expectations(path: Path) -> Expectations:
    """The committed expectations. ValueError naming the file and the key that is wrong."""
    return read_parsed(path, Expectations.model_validate_json)


def changes_table(changes: Sequence[Change]) -> str:
    """What moved as a Markdown table, what is outside its tolerance first."""
    header = ("cell", "kind", "value", "expected", "measured", "moved by", "allowed", "")
    rows = [header, *(_row(change) for change in sorted(changes, key=lambda each: not each.is_outside))]
    widths = [max(len(row[place]) for row in rows) for place in range(len(header))]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


def _row(change: Change) -> tuple[str, ...]:
    moved = ""
    if change.expected is not None and change.measured is not None:
        moved = f"{change.measured - change.expected:+.4g}"
    sides = (_number(change.expected), _number(change.measured), moved, f"{change.allowed:.4g}")
    return (change.cell, change.kind, change.name, *sides, "OUTSIDE" if change.is_outside else "")


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"


def _values(run: Evaluation, log: Path) -> dict[Kind, dict[str, float]]:
    info = run.model_info
    counts = {
        "parameters": info.parameters,
        "parameters with task types": info.parameters_with_task_types,
        "optimiser steps": run.training.steps,
        "training puzzles": run.data.train_puzzles,
    }
    scored = {name: part for name, part in run.sets.items() if isinstance(part, ScoredSet)}
    counts |= {f"{name} puzzles": part.num_puzzles for name, part in scored.items()}
    losses = {f"step {record['step']}": float(record["loss"]) for record in read_training_log(log)}
    many = {name: part for name, part in scored.items() if part.num_puzzles >= FEW_PUZZLES}
    return {
        "count": {name: float(count) for name, count in counts.items()},
        "loss": losses,
        "fsr": dict(_rates(many, SOLVED)),
        "gpa": dict(_rates(scored, ("gpa",))),
    }


def _rates(sets: Mapping[str, ScoredSet], rates: Sequence[str]) -> Iterator[tuple[str, float]]:
    for name, part in sets.items():
        for steps, scores in part.steps.items():
            for rate in rates:
                if rate in scores:
                    yield f"{name} {rate} after {steps}", scores[rate]
