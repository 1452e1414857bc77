"""The values of a run for MLflow: metrics by section, parameters by dotted key, from its files.

One name per metric: the headline score of the main set is `FSR/9x9`, after any number of supervision steps
`test/9x9/fsr`.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import isnan
from typing import Any, Final, NamedTuple

from serrm.core.differences import flat
from serrm.reporting.results import in_percent
from serrm.scoring.metrics import metrics_of
from serrm.scoring.schema import Evaluation
from serrm.training.log import Record
from serrm.training.settings import RunSettings

COUNTS_OF_TRAINING: Final = ("samples", "steps", "flops")
MEASURED_KEYS: Final = (
    "seconds",
    "puzzle_steps_per_second",
    "peak_memory_bytes",
)  # known where the run was trained
SIZES: Final = ("parameters", "parameters_with_task_types")
# Sections of the headline score, by the main metric of a task; MLflow's charts show sections in the alphabet's order.
SECTIONS: Final = {"fsr": "FSR", "pass_at_2": "Pass at 2"}
OTHER_SECTION: Final = "Score"
ENDS: Final = {"": "", "_lo": " from", "_hi": " to"}  # of the 95% interval, in the order of the alphabet


class Value(NamedTuple):
    """A metric's value at a step: of the optimiser, of supervision, or 0."""

    name: str
    step: int
    value: int | float


def log_values(records: Iterable[Record]) -> Iterator[Value]:
    """Yield the training log by optimiser step, shares in percent."""
    for record in records:
        rates = {f"train_{name}" for name in ("fsr", "gpa")}
        values = {key: 100 * record[key] if key in rates else record[key] for key in record if key != "step"}
        yield from _at(int(record["step"]), "train/", values)


def fact_values(facts: Mapping[str, Any]) -> Iterator[Value]:
    """Yield the length, time and memory of the training, and the model's size."""
    yield from _at(0, "train/", {key: facts.get(key) for key in (*COUNTS_OF_TRAINING, *MEASURED_KEYS)})
    yield from _at(0, "size/", {key: facts.get(key) for key in SIZES})


def score_values(evaluation: Evaluation) -> Iterator[Value]:
    """Yield the headline scores with their intervals, the scores by supervision step, and the learning curve."""
    task = evaluation.task
    for name, scored in evaluation.scored.items():
        headline = _in_percent(task, scored.steps[scored.headline_steps])
        ends = {suffix: headline.get(evaluation.main_metric + end) for end, suffix in ENDS.items()}
        # MLflow draws a metric that has only step 0 as a bar.
        bars = {suffix: round(value, 2) for suffix, value in ends.items() if value is not None}
        yield from _at(0, headline_name(evaluation, name), bars)
        for num_steps, scores in scored.steps.items():
            yield from _at(num_steps, f"test/{_set_name(name)}/", _in_percent(task, scores))
    for point in evaluation.learning_curve:
        scores = _in_percent(task, point.scores)
        curve = {key: value for key, value in scores.items() if not key.endswith(("_lo", "_hi"))}
        yield from _at(point.step, "snapshots/", {"samples": point.samples, "loss": point.loss, **curve})


def headline_name(evaluation: Evaluation, set_name: str) -> str:
    """Name the headline score of a set, such as FSR/9x9, or in the next section FSR of other sets/16x16."""
    section = SECTIONS.get(evaluation.main_metric, OTHER_SECTION)
    section += "" if set_name == evaluation.main_set else " of other sets"
    return f"{section}/{_set_name(set_name)}"


def _set_name(name: str) -> str:
    return name.replace(",", "")  # a metric's name has no comma


def _in_percent(task: str, scores: Mapping[str, int | float]) -> dict[str, int | float]:
    """Compute scores with their intervals where these are known, rates in percent."""
    result = dict[str, int | float]()
    for name in metrics_of(task):
        if name in scores:
            values = zip(ENDS, in_percent(task, name, scores), strict=True)
            result |= {f"{name}{end}": value for end, value in values}
    return {key: value for key, value in result.items() if not isnan(value)}


def _at(step: int, prefix: str, values: Mapping[str, int | float | None]) -> Iterator[Value]:
    for key, value in values.items():
        if value is not None:
            yield Value(f"{prefix}{key}", step, value)


def params_of(settings: RunSettings) -> dict[str, str]:
    """List settings by dotted key, as MLflow has them."""
    return {key: str(value) for key, value in flat(settings.model_dump(mode="json")).items()}
