"""What evaluation found: the metric files of a profile's cells, read back for tables and figures.

A cell is (task, model variant, seed) and its file is `<task>-<variant>-s<seed>.json`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from serrm.files import read_parsed

# All seeds of a (task, variant), in the order of the profile's cells.
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
    # Of its matrix products; metric files from before they were counted have none.
    operations: int | None = None
    final_loss: float | None = None
    device: str | None = None
    peak_memory_bytes: int | None = None


class TrainingData(_Part):
    """What it was trained on."""

    source: str
    train_puzzles: int
    hash: str = ""


class Demonstrations(_Part):
    """Trained pairs of a set's puzzles by steps: the fractions `pair_fsr` (whole grids) and `pair_gpa` (cells)."""

    num_pairs: int
    num_cells: int
    steps: dict[int, dict[str, float]]


class ScoredSet(_Part):
    """Scores of a set by number of supervision steps: fractions `<metric>`, `<metric>_lo`, `<metric>_hi`."""

    status: Literal["scored"]
    num_puzzles: int
    num_blank: int | None = None  # cells, of all puzzles together; of Sudoku
    steps: dict[int, dict[str, float]]
    demonstrations: Demonstrations | None = None  # of ARC-AGI


class RefusedSet(_Part):
    """A set whose size the model cannot take."""

    status: Literal["cannot_extrapolate"]
    reason: str


class Effort(_Part):
    """FSR for a mean number of supervision steps spent on a puzzle: adaptive depth, or breadth of some kind.

    Breadth has a `kind` of its own (restarts, symmetries, guesses) and makes up to `num` attempts at a puzzle.
    """

    kind: str = "adaptive depth"
    num: int = 1
    max_steps: int
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
    """How far f(πx) is from πf(x), over pairs of a puzzle x and a permutation π of its symbols.

    `num_identical` counts pairs whose predictions agree cell by cell once π is undone.
    """

    num_pairs: int
    num_identical: int
    example: PermutedPuzzle

    @property
    def counts(self) -> str:
        """How many pairs are identical, such as "40 of 40"."""
        return f"{self.num_identical:,} of {self.num_pairs:,}"


class Evaluation(_Part):
    """One metric file; keys that no table needs are left unread."""

    profile: str
    task: str
    model: str
    seed: int
    model_info: ModelInfo
    training: Training
    data: TrainingData
    deviations: tuple[str, ...] = ()  # from the paper's recipe: sentences that tabulate puts in
    sets: dict[str, Annotated[ScoredSet | RefusedSet, Field(discriminator="status")]]
    learning_curve: tuple[dict[str, float], ...]
    adaptive: tuple[Effort, ...] = ()
    breadth: tuple[Effort, ...] = ()
    equivariance: Equivariance | None = None
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """task-variant-seed, the name of the cell's files."""
        return f"{self.task}-{self.model}-s{self.seed}"

    @property
    def efforts(self) -> tuple[Effort, ...]:
        """Ways of spending steps other than a fixed depth."""
        return self.adaptive + self.breadth

    @property
    def scored(self) -> dict[str, ScoredSet]:
        """The sets with scores by steps."""
        return {name: part for name, part in self.sets.items() if isinstance(part, ScoredSet)}

    @property
    def trained_steps(self) -> dict[int, dict[str, float]]:
        """The scores by steps of the size that was trained on: 9×9 of Sudoku, else the first set that was scored."""
        part = self.scored.get("9x9") or next(iter(self.scored.values()), None)
        return {} if part is None else part.steps


def all_runs(results: Results) -> "list[Evaluation]":
    """Every evaluation, one after the other."""
    return [run for seeds in results.values() for run in seeds]


def load_results(cells: Sequence[tuple[str, str, int]], folder: Path) -> Results:
    """Read the metric file of each (task, variant, seed).

    Raises:
        ValueError: a file is missing, malformed, or of another cell than its name says.
    """
    results: Results = {}
    for task, variant, seed in cells:
        path = folder / f"{task}-{variant}-s{seed}.json"
        evaluation = read_evaluation(path)
        if (evaluation.task, evaluation.model, evaluation.seed) != (task, variant, seed):
            raise ValueError(f"{path}: holds {evaluation.task}, {evaluation.model}, seed {evaluation.seed}")
        results.setdefault((task, variant), []).append(evaluation)
    return results


def read_evaluation(path: Path) -> Evaluation:
    if not path.is_file():
        raise ValueError(f"{path}: no such metric file; has this cell been evaluated?")
    return read_parsed(path, Evaluation.model_validate_json)
