"""The schema of scores: what one evaluation yields, and what a profile's committed `metrics.json` holds.

Evaluation builds an `Evaluation` and writes it below data/; the stage `tabulate` gathers those of a profile's runs into
`reports/<profile>/metrics.json`; tables, MLflow and comparisons read them here. Rates are fractions. A field with
a default is missing where a run has no such thing; unknown keys are refused. Needs no torch.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final, Literal

import numpy as np
from jaxtyping import Bool, Float, Shaped
from pydantic import BaseModel, ConfigDict, Field

from serrm.core.files import existing, json_text, parse_content, parse_file, write_whole
from serrm.puzzles.tasks import TASKS

Scores = dict[str, float]
"""Values by metric, with the ends of their 95% intervals as `<metric>_lo` and `<metric>_hi`.

A rate of cells has `<metric>_effective` in their place, the effective number of independent cells: `metrics.interval`
gives the ends.
"""
TaskTypeRow = Literal["right", "blank", "random"]
"""The row of the task-type table with which ARC-AGI is scored: the puzzle's, zeros, or that of a random puzzle."""
METRICS_FILE: Final = "metrics.json"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelInfo(_Record):
    """The model's family and size, without and with its task-type embeddings."""

    family: str
    parameters: int
    parameters_with_task_types: int


class Training(_Record):
    """Length and result of the training run."""

    settings_digest: str
    """Digest of the resolved settings."""
    weights_sha256: str | None = None
    """Of `model.safetensors`, from which the scores were made; not known of runs evaluated before it was kept."""
    arithmetic: str | None = None
    """Precision and kernels; not known of runs trained before it was kept."""
    steps: int
    samples: int
    flops: int
    """Of the model's matrix products."""
    optimiser_flops: int | None = None
    """Of the optimiser's matrix products, such as Muon's; not known of runs evaluated before it was kept."""
    refilled: tuple[int, ...] | None = None
    """The numbers of steps after which all slots were filled anew; None if there are none."""
    final_loss: float | None = None
    """None after fewer steps than one record of the training log has."""


class TrainingData(_Record):
    """The puzzles that a run was trained on."""

    source: str
    """In words, for notes beneath tables."""
    source_kind: str
    """`generated`, `packaged`, `mirror` or `hub`, or the name that a custom task gives it."""
    side: int
    """Side of the grids; of ARC-AGI the canvas, the largest grid used."""
    train_puzzles: int
    hash: str

    @property
    def is_generated(self) -> bool:
        """True if the puzzles were generated here and none of them is published."""
        return self.source_kind == "generated"


class GroupScore(_Record):
    """The score of a group of puzzles by the main metric, with the ends of its 95% interval as fractions."""

    num_puzzles: int
    num_units: int
    """Independent units: of generated ARC-like puzzles the rules, else the puzzles."""
    num_solved: float
    """The sum of the puzzles' credits."""
    low: float
    high: float


class ScoredSet(_Record):
    """Scores of a test set by number of supervision steps."""

    status: Literal["scored"] = "scored"
    side: int
    """Side of the grids; of ARC-AGI the canvas."""
    of_file: str | None = None
    """The entry of `tests` whose file holds the puzzles; None for the data set's own test sets."""
    num_puzzles: int
    num_blank: int | None = None
    """Blank cells, of all puzzles together; None where votes were counted."""
    task_type_row: TaskTypeRow = "right"
    num_test_inputs: int | None = None
    """Of ARC-AGI alone."""
    num_votes: int | None = None
    """Votes per test input, one per puzzle variant; of ARC-AGI alone."""
    steps: dict[int, Scores]
    num_puzzles_after: dict[int, int] | None = None
    """The number of puzzles scored after some numbers of steps, the first ones, if fewer than `num_puzzles`."""
    headline_steps: int
    """The number of steps whose scores the headline shows."""
    puzzles_digest: str | None = None
    """Digest of questions and answers; sets scored before it was kept do not have it."""
    solved: str | None = None
    """Whether each puzzle was solved after `headline_steps`, in the order of the set: bits, the first one highest, as
    hexadecimal digits (`pack`). None where votes were counted, and for sets scored before it was kept."""
    solved_after_most: str | None = None
    """The same after the most steps; None if these are `headline_steps`, if fewer puzzles were scored after them, and
    for sets scored before it was kept."""
    credits: tuple[float, ...] | None = None
    """The share of each ARC-AGI puzzle's test inputs that one of two answers solves, after `headline_steps`; None for
    other tasks, and for sets scored before it was kept."""
    groups: dict[str, dict[str, GroupScore]] | None = None
    """Scores after `headline_steps` by kind of group and name: ARC-like puzzles by `family` and `parts` of their rules,
    Sudokus by `grade`. None for sets without groups, and for sets scored before they were kept."""

    @property
    def has_own_task_types(self) -> bool:
        """True if every puzzle was scored with its own task type."""
        return self.task_type_row == "right"

    def num_at(self, steps: int) -> int:
        """Count the puzzles that were scored after `steps` steps."""
        return (self.num_puzzles_after or {}).get(steps, self.num_puzzles)

    def outcomes_after(self, steps: int) -> Float[np.ndarray, " N"] | None:
        """Return the outcomes after `headline_steps` or the most steps; None after others, and if not kept."""
        if steps == self.headline_steps:
            return self.outcomes
        if self.solved_after_most is None or steps != max(self.steps):
            return None
        return unpack(self.solved_after_most, self.num_puzzles).astype(np.float64)

    @property
    def outcomes(self) -> Float[np.ndarray, " N"] | None:
        """The credit of every puzzle after `headline_steps`, 0 to 1, whose mean is the main metric; None if not kept.

        Outcomes of two sets are of the same puzzles, one by one, if their `puzzles_digest` are equal.
        """
        if self.credits is not None:
            return np.array(self.credits, dtype=np.float64)
        return None if self.solved is None else unpack(self.solved, self.num_puzzles).astype(np.float64)


class RefusedSet(_Record):
    """A set whose size the model cannot take."""

    status: Literal["cannot_extrapolate"] = "cannot_extrapolate"
    side: int
    of_file: str | None = None
    reason: str


ScoredOrRefused = Annotated[ScoredSet | RefusedSet, Field(discriminator="status")]


class CurvePoint(_Record):
    """Scores of a snapshot on the first test puzzles of the size trained on."""

    step: int
    samples: int
    loss: float
    scores: Scores


class ComputePoint(_Record):
    """A point of test-time compute: FSR at a mean number of supervision steps per puzzle, with limited attempts."""

    num_attempts: int = 1
    max_steps: int
    """Limit on the supervision steps of the first attempt."""
    num_puzzles: int
    mean_steps: float
    fsr: float
    fsr_lo: float
    fsr_hi: float


class PermutedPuzzle(_Record):
    """A puzzle and the same with its symbols permuted, with both predictions; side² tokens each.

    `permutation[k]` is the token that stands in the permuted puzzle where k stood.
    """

    side: int
    permutation: tuple[int, ...]
    question: tuple[int, ...]
    prediction: tuple[int, ...]
    permuted_question: tuple[int, ...]
    permuted_prediction: tuple[int, ...]


class Equivariance(_Record):
    """Number of times f(πx) is πf(x), over pairs of a puzzle x and a permutation π of its symbols."""

    num_pairs: int
    num_identical: int
    precision: str
    """Of the arithmetic of the predictions; evaluation uses float32."""
    example: PermutedPuzzle

    @property
    def is_in_float32(self) -> bool:
        """True if counted in float32."""
        return self.precision == "float32"


class Evaluation(_Record):
    """All scores of a run, with the facts about it that tables need."""

    profile: str
    name: str
    """The run's name, an entry of `runs` of the profile."""
    data_set: str
    """An entry of `data_sets` of the profile."""
    task: str
    """A key of TASKS."""
    variant: str
    """The name of the model with its changes in tables: the part of the run's name between data set and number."""
    seed: int
    """Usually the number at the end of the name."""
    arithmetic: str | None = None
    """Precision and kernels of the evaluation; not known of runs evaluated before it was kept."""
    model_info: ModelInfo
    training: Training
    data: TrainingData
    sets: dict[str, ScoredOrRefused]
    set_of_trained_size: str
    """The test set of the size trained on; empty without one."""
    learning_curve: tuple[CurvePoint, ...] = ()
    first_verified: tuple[ComputePoint, ...] = ()
    """One attempt up to its first verified answer, by limit of steps."""
    attempts: tuple[ComputePoint, ...] = ()
    """Several attempts, all except the first with guesses, by limit of attempts."""
    methods: dict[str, tuple[ComputePoint, ...]] | None = None
    """Further methods of test-time compute by name, by limit of attempts."""
    equivariance: Equivariance | None = None
    notes: tuple[str, ...] = ()
    """Remarks on runs that were made by other means than the pipeline."""

    @property
    def main_metric(self) -> str:
        """The metric of the paper's tables 1 and 3."""
        return TASKS[self.task].main_metric

    @property
    def scored(self) -> dict[str, ScoredSet]:
        """The sets with scores by steps."""
        return {name: entry for name, entry in self.sets.items() if isinstance(entry, ScoredSet)}

    @property
    def refused(self) -> dict[str, RefusedSet]:
        """The sets whose size the model cannot take."""
        return {name: entry for name, entry in self.sets.items() if isinstance(entry, RefusedSet)}

    @property
    def own_sets(self) -> list[str]:
        """The names of the data set's own test sets, without those of users' files."""
        return [name for name, entry in self.sets.items() if entry.of_file is None]

    @property
    def main_set(self) -> str:
        """The set of the size trained on, or else the first scored one; empty if none was scored."""
        return (
            self.set_of_trained_size
            if self.set_of_trained_size in self.scored
            else next(iter(self.scored), "")
        )


class ProfileScores(_Record):
    """The content of `reports/<profile>/metrics.json`: the evaluations of a profile's runs by name, in its order."""

    profile: str
    runs: dict[str, Evaluation]


def pack(is_solved: Bool[np.ndarray, " N"]) -> str:
    """Write bits as hexadecimal digits, the first bit highest, filled up with zeros to whole bytes."""
    return np.packbits(is_solved).tobytes().hex()


def unpack(digits: str, num: int) -> Bool[np.ndarray, " N"]:
    """Read the first `num` bits of `pack`. ValueError if there are more or fewer than fill whole bytes."""
    packed = np.frombuffer(bytes.fromhex(digits), dtype=np.uint8)
    if len(packed) != -(-num // 8):
        raise ValueError(f"{num} puzzles have {-(-num // 8)} bytes of bits, not {len(packed)}")
    return np.unpackbits(packed, count=num).astype(bool)


def digest(*arrays: Shaped[np.ndarray, "..."]) -> str:
    """Name the puzzles of a test set by the first 16 hexadecimal digits of a sha256 over the bytes of arrays."""
    content = hashlib.sha256()
    for array in arrays:
        content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()[:16]


def write_evaluation(path: Path, evaluation: Evaluation) -> None:
    """Write the scores of one run."""
    write_whole(path, json_text(evaluation.model_dump(mode="json", exclude_none=True)))


def read_evaluation(path: Path) -> Evaluation:
    """Read the scores of one run. ValueError naming the file if it is missing or malformed."""
    if not path.is_file():
        raise ValueError(f"{path}: no such file; has this run been evaluated?")
    return parse_file(path, Evaluation.model_validate_json)


def profile_text(profile: str, runs: Iterable[Evaluation]) -> str:
    """Write the content of `metrics.json`; equal runs give equal text."""
    scores = ProfileScores(profile=profile, runs={run.name: run for run in runs})
    return json_text(scores.model_dump(mode="json", exclude_none=True))


def read_profile_scores(path: Path) -> ProfileScores:
    """Read a profile's `metrics.json`. ValueError naming the file if it is missing or malformed."""
    return parse_profile_scores(existing(path).read_bytes(), str(path))


def parse_profile_scores(content: bytes, name: str) -> ProfileScores:
    """Parse the content of a `metrics.json`, such as one of another commit.

    ValueError with `name` if a key is missing, unknown or wrong, or if a run stands under the name of another.
    """
    scores = parse_content(content, name, ProfileScores.model_validate_json)
    for key, run in scores.runs.items():
        if (run.name, run.profile) != (key, scores.profile):
            raise ValueError(f"{name}: {key}: holds {run.name} of profile {run.profile}")
    return scores
