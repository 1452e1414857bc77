"""Metric files, read back for tables and figures, and the scores in them.

A run is (task, model, seed) and its file is `<task>-<model>-s<seed>.json`. Keys that nothing here needs are ignored.
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from serrm.files import read_parsed
from serrm.inference.settings import HEADLINE_STEPS

# All seeds of a (task, model), in the order of the profile's runs.
Results = dict[tuple[str, str], "list[Evaluation]"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class ModelInfo(_Part):
    """The model's family and size, without and with its task-type embeddings."""

    family: str
    parameters: int
    parameters_with_task_types: int


class Training(_Part):
    """How long the model was trained."""

    steps: int
    samples: int
    seconds: float
    puzzles_per_second: float | None = None  # puzzle-steps: puzzles at work × supervision steps
    operations: int | None = None  # FLOPs of its matrix products
    final_loss: float | None = None
    device: str | None = None
    peak_memory_bytes: int | None = None


class TrainingData(_Part):
    """What it was trained on."""

    source: str
    train_puzzles: int
    hash: str = ""


class ScoredSet(_Part):
    """Scores of a set by number of supervision steps: fractions `<metric>`, `<metric>_lo`, `<metric>_hi`."""

    status: Literal["scored"]
    num_puzzles: int
    num_blank: int | None = None  # squares, of all puzzles together; of Sudoku
    steps: dict[int, dict[str, float]]


class RefusedSet(_Part):
    """A set whose size the model cannot take."""

    status: Literal["cannot_extrapolate"]
    reason: str


class Effort(_Part):
    """FSR for a mean number of supervision steps spent on a puzzle, all of its up to `num` attempts together."""

    kind: str = ""
    num: int = 1
    max_steps: int  # of an attempt
    mean_steps: float
    fsr: float
    fsr_lo: float
    fsr_hi: float


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
    """How often f(πx) is πf(x), over pairs of a puzzle x and a permutation π of its symbols."""

    num_pairs: int
    num_identical: int
    precision: str | None = None  # of the predictions' arithmetic; older files do not have it
    example: PermutedPuzzle

    @property
    def counts(self) -> str:
        """How many pairs are identical and in which arithmetic, such as "40 of 40 the same in float32"."""
        arithmetic = f"in {self.precision}" if self.precision else "(arithmetic not recorded)"
        return f"{self.num_identical:,} of {self.num_pairs:,} the same {arithmetic}"


class Evaluation(_Part):
    """One metric file."""

    profile: str
    task: str
    model: str
    seed: int
    model_info: ModelInfo
    training: Training
    data: TrainingData
    sets: dict[str, Annotated[ScoredSet | RefusedSet, Field(discriminator="status")]]
    learning_curve: tuple[dict[str, float], ...]
    adaptive: tuple[Effort, ...] = ()  # up to the first verified answer
    breadth: tuple[Effort, ...] = ()  # several attempts
    equivariance: Equivariance | None = None
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """task-model-seed, the name of the run's files."""
        return f"{self.task}-{self.model}-s{self.seed}"

    @property
    def scored(self) -> dict[str, ScoredSet]:
        """The sets with scores by steps."""
        return {name: part for name, part in self.sets.items() if isinstance(part, ScoredSet)}

    @property
    def trained_set(self) -> str:
        """The scored set of the size that was trained on: 9×9 of Sudoku, else the first; empty if none was scored."""
        return "9x9" if "9x9" in self.scored else next(iter(self.scored), "")

    @property
    def guesses(self) -> tuple[Effort, ...]:
        """What several attempts with guesses solve."""
        return tuple(effort for effort in self.breadth if effort.kind == "guesses")


class Score(NamedTuple):
    """A score in percent with its 95% interval, rounded as printed.

    Over several seeds the value is the mean, `sd` the standard deviation, and the interval reaches from the lowest end
    of the seeds' intervals to the highest.
    """

    value: float
    low: float
    high: float
    num_puzzles: int
    sd: float | None = None

    def __str__(self) -> str:
        """Such as "61.33 (55.23–67.09)" or "61.20 ± 1.10 (54.02–68.11)"."""
        spread = "" if self.sd is None else f" ± {self.sd:.2f}"
        return f"{self.value:.2f}{spread} ({self.low:.2f}–{self.high:.2f})"


def score(
    runs: Sequence[Evaluation], metric: str, of_set: str | None = None, steps: int = HEADLINE_STEPS
) -> Score | None:
    """The score of all seeds of a model on a set, or on the one trained on; None where one has none."""
    parts = [run.scored.get(of_set or run.trained_set) for run in runs]
    found = [(part, part.steps[steps]) for part in parts if part and metric in part.steps.get(steps, {})]
    if not found or len(found) < len(runs):
        return None
    part, first = found[0]
    low, high = ([100 * scores[f"{metric}{end}"] for _, scores in found] for end in ("_lo", "_hi"))
    values = [100 * scores[metric] for _, scores in found]
    sd = round(stdev(values), 2) if len(values) > 1 else None
    num_puzzles = int(first.get("num_puzzles", part.num_puzzles))
    return Score(round(fmean(values), 2), round(min(low), 2), round(max(high), 2), num_puzzles, sd)


def all_runs(results: Results) -> "list[Evaluation]":
    """Every evaluation, one after the other."""
    return [run for seeds in results.values() for run in seeds]


def load_results(cells: Sequence[tuple[str, str, int]], folder: Path) -> Results:
    """Read the metric file of each (task, model, seed).

    Raises:
        ValueError: a file is missing, malformed, or of another run than its name says.
    """
    results: Results = {}
    for task, model, seed in cells:
        path = folder / f"{task}-{model}-s{seed}.json"
        evaluation = read_evaluation(path)
        if (evaluation.task, evaluation.model, evaluation.seed) != (task, model, seed):
            raise ValueError(f"{path}: holds {evaluation.task}, {evaluation.model}, seed {evaluation.seed}")
        results.setdefault((task, model), []).append(evaluation)
    return results


def read_evaluation(path: Path) -> Evaluation:
    """One metric file. ValueError naming it where it is missing or malformed."""
    if not path.is_file():
        raise ValueError(f"{path}: no such metric file; has this run been evaluated?")
    return read_parsed(path, Evaluation.model_validate_json)
