"""Metric files and settings of a profile's runs, read for tables and figures, and the scores in them.

A run is (task, model, seed) and its file is `<task>-<model>-s<seed>.json`. Unused keys are ignored.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from math import isnan, nan
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from serrm.config import RANDOM, Params
from serrm.files import read_parsed
from serrm.inference.settings import HEADLINE_STEPS
from serrm.metrics import metrics_of
from serrm.puzzles.tasks import TASKS, alphabet
from serrm.reporting.paper import Settings, differences
from serrm.settings import Kind

Key = tuple[str, str]  # task and model of a run
Results = dict[Key, "list[Evaluation]"]  # all seeds, in the order of the profile's runs


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class ModelInfo(_Part):
    """The model's family and size, without and with its task-type embeddings."""

    family: str
    parameters: int
    parameters_with_task_types: int


class Training(_Part):
    """Length and cost of the training run."""

    id: str = ""  # of this training and no other; older files have none
    steps: int
    samples: int
    seconds: float
    puzzles_per_second: float | None = None  # puzzle-steps: puzzles at work × supervision steps
    flops: int | None = None  # FLOPs of its matrix products
    final_loss: float | None = None
    device: str | None = None
    peak_memory_bytes: int | None = None


class TrainingData(_Part):
    """Training data."""

    source: str
    train_puzzles: int
    hash: str = ""


class ScoredSet(_Part):
    """Scores of a set by number of supervision steps: fractions `<metric>`, `<metric>_lo`, `<metric>_hi`."""

    status: Literal["scored"]
    num_puzzles: int
    side: int | None = None  # not in older files
    num_blank: int | None = None  # squares, of all puzzles together, unless votes were counted
    steps: dict[int, dict[str, float]]

    @property
    def shown_steps(self) -> int:
        """16 supervision steps, or the last number of steps where 16 were not scored."""
        return HEADLINE_STEPS if HEADLINE_STEPS in self.steps else max(self.steps)


class RefusedSet(_Part):
    """A set whose size the model cannot take."""

    status: Literal["cannot_extrapolate"]
    reason: str


class Search(_Part):
    """FSR at a mean number of supervision steps per puzzle, over its up to `num` attempts."""

    kind: str = ""
    num: int = 1
    max_steps: int  # of an attempt
    num_puzzles: int | None = None  # older files do not have it
    mean_steps: float
    fsr: float
    fsr_lo: float
    fsr_hi: float

    @property
    def score(self) -> "Score":
        """FSR in percent, unrounded."""
        return Score(100 * self.fsr, 100 * self.fsr_lo, 100 * self.fsr_hi, self.num_puzzles or 0)


class PermutedPuzzle(_Part):
    """A puzzle and the same with its symbols permuted, with both predictions; side² tokens each.

    `permutation[k]` is the token that stands in the permuted puzzle where k stood.
    """

    side: int
    permutation: tuple[int, ...]
    question: tuple[int, ...]
    prediction: tuple[int, ...]
    permuted_question: tuple[int, ...]
    permuted_prediction: tuple[int, ...]


class Equivariance(_Part):
    """Number of times f(πx) is πf(x), over pairs of a puzzle x and a permutation π of its symbols."""

    num_pairs: int
    num_identical: int
    precision: str | None = None  # of the predictions' arithmetic; today's files do not have it
    example: PermutedPuzzle

    @property
    def is_exact(self) -> bool:
        """True if counted in float32, as every evaluation does today."""
        return self.precision in (None, "float32")


class Evaluation(_Part):
    """One metric file."""

    profile: str
    run: str = ""  # the name of the run and of its files; older files do not have it
    task: str
    kind: Kind
    model: str
    seed: int
    headline_steps: int = HEADLINE_STEPS  # of supervision; older files do not have it
    model_info: ModelInfo
    training: Training
    data: TrainingData
    sets: dict[str, Annotated[ScoredSet | RefusedSet, Field(discriminator="status")]]
    named_set: str = Field(default="9x9", alias="trained_set")  # older files do not name it
    learning_curve: tuple[dict[str, float], ...]
    early_stopping: tuple[Search, ...] = ()  # up to the first verified answer
    attempts: tuple[Search, ...] = ()  # several attempts
    equivariance: Equivariance | None = None
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the run and of its files, by default task-model-seed."""
        return self.run or f"{self.task}-{self.model}-s{self.seed}"

    @property
    def main_metric(self) -> str:
        """The metric of tables 1 and 3."""
        return TASKS[self.kind].metrics[0]

    @property
    def scored(self) -> dict[str, ScoredSet]:
        """The sets with scores by steps."""
        return {name: part for name, part in self.sets.items() if isinstance(part, ScoredSet)}

    @property
    def refused(self) -> dict[str, RefusedSet]:
        """The sets whose size the model cannot take."""
        return {name: part for name, part in self.sets.items() if isinstance(part, RefusedSet)}

    @property
    def trained_set(self) -> str:
        """The scored set of the size that was trained on; the first where none is named; empty if none was scored."""
        return self.named_set if self.named_set in self.scored else next(iter(self.scored), "")

    @property
    def side(self) -> int:
        """The side of the grids trained on, of a task on square grids. In older files sets are named after it."""
        return self.scored[self.trained_set].side or int(self.trained_set.partition("x")[0])

    def shown_steps(self, of_set: str) -> int:
        """Supervision steps of the score that is shown for a scored set."""
        part = self.scored[of_set]
        return self.headline_steps if self.headline_steps in part.steps else part.shown_steps

    def curve(self, metric: str) -> list[tuple[float, "Score"]]:
        """The learning curve: scores, unrounded, with their numbers of samples processed."""
        return [
            (point["samples"], Score(*printed(self.kind, metric, point), 0))
            for point in self.learning_curve
            if metric in point
        ]

    @property
    def guesses(self) -> tuple[Search, ...]:
        """The searches with guesses."""
        return tuple(search for search in self.attempts if search.kind == "guesses")


class Score(NamedTuple):
    """A score, rates in percent, with its 95% interval, rounded as printed.

    Over several seeds the value is the mean, `sd` the standard deviation, and the interval reaches from the lowest end
    of the seeds' intervals to the highest. `by_seed` has value and interval of each seed.
    """

    value: float
    low: float
    high: float
    num_puzzles: int
    sd: float | None = None
    by_seed: tuple[tuple[float, ...], ...] = ()

    @property
    def seeds(self) -> tuple[tuple[float, ...], ...]:
        """Value and interval of every seed, unrounded where there are several."""
        return self.by_seed or ((self.value, self.low, self.high),)

    def __str__(self) -> str:
        """Such as "61.33 (55.23–67.09)" or "61.20 ± 1.10 (54.02–68.11)"."""
        spread = "" if self.sd is None else f" ± {self.sd:.2f}"
        ends = "" if isnan(self.low) else f" ({self.low:.2f}–{self.high:.2f})"
        return f"{self.value:.2f}{spread}{ends}"


def score(
    runs: Sequence[Evaluation], metric: str, of_set: str | None = None, steps: int = HEADLINE_STEPS
) -> Score | None:
    """The score of all seeds of a model on a set, or on the one trained on; None if a seed has none."""
    parts = [run.scored.get(of_set or run.trained_set) for run in runs]
    scored = [(part, part.steps[steps]) for part in parts if part and metric in part.steps.get(steps, {})]
    if not scored or len(scored) < len(runs):
        return None
    part, first = scored[0]
    by_seed = [printed(runs[0].kind, metric, scores) for _, scores in scored]
    return over_seeds(by_seed, int(first.get("num_puzzles", part.num_puzzles)))


def printed(kind: str, metric: str, scores: Mapping[str, float]) -> tuple[float, float, float]:
    """A metric's value and its interval as printed, rates in percent; NaN in place of an interval that is not known."""
    factor = metrics_of(kind)[metric].unit.factor
    value, low, high = (factor * scores.get(f"{metric}{end}", nan) for end in ("", "_lo", "_hi"))
    return value, low, high


def over_seeds(by_seed: Sequence[tuple[float, ...]], num_puzzles: int) -> Score:
    """The score of several seeds from value and interval of each."""
    values, low, high = zip(*by_seed, strict=True)
    sd = round(stdev(values), 2) if len(values) > 1 else None
    ends = round(fmean(values), 2), round(min(low), 2), round(max(high), 2)
    return Score(*ends, num_puzzles, sd, tuple(by_seed))


def runs_on(results: Results, kind: str, model: str, of_set: str | None = None) -> "list[Evaluation]":
    """All seeds of a model on a task: on the first of its data sets that has the test set, or on the first."""
    found = [runs for (_, of), runs in results.items() if (runs[0].kind, of) == (kind, model)]
    return next((runs for runs in found if of_set in runs[0].sets), found[0] if found else [])


def all_runs(results: Results) -> "list[Evaluation]":
    """Every evaluation, one after the other."""
    return [run for seeds in results.values() for run in seeds]


def load_results(runs: Mapping[str, tuple[str, str, int]], folder: Path) -> Results:
    """Read the metric file of each run, by its name; its task, model and seed are those that the file must have.

    Raises:
        ValueError: a file is missing, malformed, or of another run than its name says.
    """
    results: Results = {}
    for name, (task, model, seed) in runs.items():
        path = folder / f"{name}.json"
        evaluation = read_evaluation(path)
        if (evaluation.task, evaluation.model, evaluation.seed) != (task, model, seed):
            raise ValueError(f"{path}: holds {evaluation.task}, {evaluation.model}, seed {evaluation.seed}")
        results.setdefault((task, model), []).append(evaluation)
    return results


def read_evaluation(path: Path) -> Evaluation:
    """Read one metric file. ValueError naming it if it is missing or malformed."""
    if not path.is_file():
        raise ValueError(f"{path}: no such metric file; has this run been evaluated?")
    return read_parsed(path, Evaluation.model_validate_json)


class Cost(NamedTuple):
    """Size and length of a training run: parameters without those of task types, and training FLOPs."""

    parameters: int
    flops: int


@dataclass(frozen=True)
class Report:
    """The results of a profile's runs with their settings, and differences of these from the paper's.

    `init` names the run whose weights a run starts from, if any; `flops` are those of a supervision step by a puzzle's
    positions and symbols, and `cost` is that of the paper's run of a task and variant, None if profile `paper` has no
    such run.
    """

    profile: str
    results: Results
    settings: Mapping[Key, Settings] = field(default_factory=dict)
    differences: Mapping[Key, Sequence[str]] = field(default_factory=dict)
    flops: Mapping[Key, Callable[[int, int], int]] = field(default_factory=dict)
    init: Mapping[Key, str] = field(default_factory=dict)
    cost: Callable[[str, str], Cost | None] = lambda task, variant: None


def paper_costs(
    papers: Params, flops: Callable[..., int], num_parameters: Callable[..., int]
) -> Callable[[str, str], Cost | None]:
    """The cost of a run of profile `paper` by task and variant, counted when it is asked for."""
    names = {(run.task, papers.variant(name)): name for name, run in papers.runs.items()}

    @cache
    def cost(task: str, variant: str) -> Cost | None:
        if (task, variant) not in names:
            return None
        run, counts = papers.train_settings(names[task, variant]), papers.counts(task)
        grid = counts.side**2, alphabet(task, counts.side).num_symbols
        num_samples = run.train.num_steps(counts.num_train) * run.train.batch_size
        step = flops(run.model, *grid, run.train.halting)
        return Cost(num_parameters(run.model, *grid), num_samples * step)

    return cost


def read_report(
    params: Params,
    papers: Params,
    folder: Path,
    flops: Callable[..., int],
    num_parameters: Callable[..., int],
) -> Report:
    """Read the metric files of a profile's runs, and compare their settings with those of profile paper.

    `flops` and `num_parameters` are those of `serrm.models.registry`, which this package does not import.

    Raises:
        ValueError: a metric file is missing or malformed, or of another profile.
    """
    results = load_results(params.run_keys(), folder)
    for each in all_runs(results):
        if each.profile != params.profile:
            raise ValueError(f"{folder}: {each.name} is of profile {each.profile}, not {params.profile}")
    settings, found, steps, init = {}, {}, {}, {}
    for name in params.runs:
        run = params.train_settings(name)
        key, paper = (run.task, run.variant), papers.settings_of(run.kind, run.model.family)
        settings[key] = ours = run.model_dump(mode="json")
        steps[key] = partial(flops, run.model)
        if params.runs[name].init != RANDOM:
            init[key] = Path(params.runs[name].init).name
        if paper is not None:
            num_examples = papers.counts(run.kind).num_train
            found[key] = differences(ours, paper.model_dump(mode="json"), num_examples)
    cost = paper_costs(papers, flops, num_parameters)
    return Report(params.profile, results, settings, found, steps, init, cost)
