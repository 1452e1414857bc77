"""What moved since: a profile's losses, scores and counts beside the expected ones, each kind with its tolerance.

Training is exact for a seed on one machine; elsewhere other kernels round otherwise, which the tolerances allow for.
What rounding alone decides is expected of nobody: a score at the level of guessing, where the answers of a model that
knows nothing change with the last digit of its weights. A score is above that level if the lower end of its 95% Wilson
interval over puzzles is (over puzzles, for the cells of one are right or wrong together).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, NonNegativeFloat

from serrm.reporting.files import read_parsed
from serrm.reporting.results import Evaluation, ScoredSet, read_evaluation
from serrm.reporting.training_log import read_training_log
from serrm.scoring.intervals import wilson

Kind = Literal["count", "samples", "loss", "fsr", "gpa"]
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


@dataclass(frozen=True)
class Measured:
    """All values of a profile, and the names by cell of those that are scores at the level of guessing."""

    cells: Values
    guesses: dict[str, frozenset[str]] = field(default_factory=dict)

    def worth_expecting(self) -> Values:
        """The values without those at the level of guessing."""
        return {
            cell: {
                kind: {
                    name: value
                    for name, value in values.items()
                    if name not in self.guesses.get(cell, frozenset())
                }
                for kind, values in kinds.items()
            }
            for cell, kinds in self.cells.items()
        }


class Expectations(BaseModel):
    """The committed file: tolerances by kind, and values by cell and kind."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tolerances: dict[Kind, Tolerance]
    cells: Values


DEFAULTS: Final[dict[Kind, Tolerance]] = {
    "count": Tolerance(),
    "samples": Tolerance(relative=0.05),
    "loss": Tolerance(relative=0.01),
    "fsr": Tolerance(absolute=0.1),
    "gpa": Tolerance(absolute=0.02),
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


def measure(metrics: Path, logs: Path) -> Measured:
    """The values of every cell with a metric file, and of its training log.

    Raises:
        ValueError: there is no metric file, or one or its training log is malformed.
        FileNotFoundError: a cell has no training log.
    """
    paths = sorted(metrics.glob("*.json"))
    if not paths:
        raise ValueError(f"{metrics}: no metric files; has the profile been run?")
    runs = [run for path in paths if not (run := read_evaluation(path)).is_asked]
    return Measured(
        {run.name: _values(run, logs / f"{run.name}.csv") for run in runs},
        {run.name: frozenset(_guesses(run)) for run in runs},
    )


def compare(expectations: Expectations, measured: Measured) -> list[Change]:
    """Every value that moved, is gone, or is new and worth expecting, cell by cell."""
    changes = []
    worth = measured.worth_expecting()
    for cell in expectations.cells | measured.cells:
        for kind, tolerance in expectations.tolerances.items():
            before = expectations.cells.get(cell, {}).get(kind, {})
            after = measured.cells.get(cell, {}).get(kind, {})
            for name in before | worth.get(cell, {}).get(kind, {}):
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
        "samples": {"training samples": float(run.training.samples)},
        "loss": losses,
        "fsr": {name: score for name, score, _ in _rates(many, SOLVED)},
        "gpa": {name: score for name, score, _ in _rates(scored, ("gpa",))},
    }


def _guesses(run: Evaluation) -> Iterator[str]:
    """The names of the scores that guessing might reach."""
    scored = {name: part for name, part in run.sets.items() if isinstance(part, ScoredSet)}
    return (name for name, _, is_guess in _rates(scored, (*SOLVED, "gpa")) if is_guess)


def _rates(sets: Mapping[str, ScoredSet], rates: Sequence[str]) -> Iterator[tuple[str, float, bool]]:
    """Name and value of each score, and whether guessing might reach it; a whole puzzle is never guessed."""
    for name, part in sets.items():
        for steps, scores in part.steps.items():
            for rate in rates:
                if rate in scores:
                    low, _ = wilson(scores[rate] * part.num_puzzles, part.num_puzzles)
                    is_guess = low <= scores.get(f"{rate}_guess", 0.0)
                    yield f"{name} {rate} after {steps}", scores[rate], is_guess
