"""Settings of evaluations: the section `evaluate` of a profile, and all that one evaluation depends on."""

from collections.abc import Collection
from itertools import pairwise
from typing import Annotated, Any, Final, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from serrm.core.entries import Entries
from serrm.core.settings import KeyOf, Settings, TaskName, setting_error
from serrm.scoring.schema import TaskTypeRow
from serrm.training.settings import Fidelity

GUESS_STEPS = 4  # supervision steps of an attempt with guesses, after which answers have settled
HEADLINE_STEPS = 16  # supervision steps of the paper's tables and of equivariance pairs


def usual_headline_steps(steps: Collection[int]) -> int:
    """16 supervision steps, or the most that are scored where 16 are not."""
    return HEADLINE_STEPS if HEADLINE_STEPS in steps else max(steps)


ATTEMPTS: Final = Entries[Any](
    {
        "noise": "serrm.inference.methods:Noisy",
        "symmetries": "serrm.inference.methods:Symmetric",
    }
)
"""How attempts at a puzzle differ."""
CHOICES: Final = Entries[Any](
    {
        "verified": "serrm.inference.methods:first_verified",
        "halted": "serrm.inference.methods:first_halted",
        "q": "serrm.inference.methods:highest_q",
        "certain": "serrm.inference.methods:most_certain",
        "vote": "serrm.inference.methods:most_votes",
    }
)
"""Which attempt gives the answer."""


class MethodSettings(Settings):
    """A method of test-time compute with attempts that do not depend on one another; the first one is plain."""

    kind: Annotated[str, KeyOf(ATTEMPTS)]
    """How attempts differ: `noise` on the state before every step, or `symmetries` of the question."""
    answer: Annotated[str, KeyOf(CHOICES)]
    """The answer that counts: the first `verified` one, that of the attempt that first `halted`, that of the highest
    `q` value, the most `certain` one, or the one with most votes (`vote`)."""
    attempts: tuple[PositiveInt, ...] = Field(min_length=1)
    """Numbers of attempts to score."""
    steps: PositiveInt = 16
    """Most supervision steps of an attempt."""
    halts: bool = False
    """Attempts end by the halting rule of the training, such as `q_learning`; runs without one for it are left out."""
    patience: PositiveInt | None = None
    """Attempts end when the prediction has been the same for this many further steps; null: never."""
    noise: float = Field(default=0.0, ge=0)
    """`noise`: scale of the normal numbers."""


class ComputeSettings(Settings):
    """Accuracy against compute, on puzzles with a rule to verify answers by."""

    num_puzzles: PositiveInt
    """Puzzles of the size trained on."""
    max_steps: tuple[PositiveInt, ...] = Field(min_length=1)
    """Limits to score on the steps of a single attempt, which stops at a verified answer."""
    attempt_steps: PositiveInt = 16
    """Steps of the first attempt if there are guesses."""
    attempts: tuple[PositiveInt, ...] = ()
    """Numbers of attempts to score. The first one has no guesses, so 64 allows 63 attempts with guesses (Sudoku)."""
    methods: dict[str, MethodSettings] = Field(default={})
    """Further methods by name, which head their rows in the table and panels in the figure."""


class EvaluateSettings(Settings):
    """The section `evaluate` of a data set."""

    steps: tuple[PositiveInt, ...] = Field(min_length=1)
    """Supervision steps after which to score."""
    headline_steps: PositiveInt | None = None
    """The one of `steps` whose scores headlines and learning curves show; null: 16, or the most if 16 is not in `steps`
    (curves: the smaller of 16 and the most)."""
    num_puzzles_after: dict[PositiveInt, PositiveInt] = Field(default={})
    """After some of `steps`, more than `headline_steps`: the number of puzzles to score, the first ones of a set; the
    others are scored after fewer steps alone (Sudoku and mazes)."""
    batch_size: PositiveInt
    """Batch size for 9×9 puzzles; larger grids get smaller batches."""
    precision: Literal["float32", "bfloat16", "auto"]
    """Arithmetic; `auto` is bfloat16 on a GPU that has it, and on a CPU the faster one."""
    compile: bool
    """Use torch.compile on a GPU."""
    curve_puzzles: NonNegativeInt
    """Puzzles (ARC-AGI: test inputs) for each point of the learning curve; 0: no curve."""
    task_types: tuple[TaskTypeRow, ...] = ("right",)
    """Rows of the task-type table to score with (ARC-AGI); the first one, `right`, is that of the main scores."""
    test_time_compute: ComputeSettings | None = None
    """Scores against supervision steps and guesses, where answers can be verified (Sudoku and mazes)."""
    equivariance_pairs: NonNegativeInt = 0
    """Puzzles compared with a copy whose symbols are permuted (Sudoku, ARC-AGI)."""

    @model_validator(mode="after")
    def _scores_what_is_shown(self) -> "EvaluateSettings":
        if self.headline_steps not in (None, *self.steps):
            scored = ", ".join(map(str, self.steps))
            raise setting_error(("headline_steps",), f"is none of steps ({scored})", self.headline_steps)
        for step, num in self.num_puzzles_after.items():
            if step not in self.steps or step <= self.steps_of_headline:
                raise setting_error(("num_puzzles_after",), "needs some of steps, after the headline's", step)
            if any(num > self.num_puzzles_after.get(less, num) for less in self.steps if less < step):
                raise setting_error(("num_puzzles_after",), "must not grow with the steps", num)
        if self.task_types[:1] != ("right",):
            raise setting_error(("task_types",), "must begin with right", list(self.task_types))
        return self

    @property
    def steps_of_headline(self) -> int:
        """Supervision steps of the headline's scores."""
        return self.headline_steps or usual_headline_steps(self.steps)

    def puzzle_steps(self, num_puzzles: int) -> int:
        """Count the supervision steps of all puzzles of a set with so many, together."""
        nums = [
            min(self.num_puzzles_after.get(step, num_puzzles), num_puzzles) for step in sorted(self.steps)
        ]
        spans = [end - start for start, end in pairwise((0, *sorted(self.steps)))]
        return sum(span * num for span, num in zip(spans, nums, strict=True))

    @property
    def curve_steps(self) -> int:
        """Supervision steps of a learning curve's points, at most the largest number that is scored."""
        return self.headline_steps or min(HEADLINE_STEPS, max(self.steps))


class ScoringSettings(Settings):
    """Everything that an evaluation depends on besides the checkpoint and the arrays."""

    profile: str
    name: str
    """The name of the run."""
    data_set: str
    """An entry of `data_sets` in the params file, such as sudoku_fewer_clues."""
    task: TaskName
    """The data set's task, a key of TASKS, such as sudoku."""
    variant: str
    seed: NonNegativeInt
    evaluate: EvaluateSettings
    fidelity: Fidelity
    source: str
    """The source of the puzzles, in words."""
    source_kind: str
    """The kind of the source, such as generated."""
    tests: tuple[str, ...] = ()
    """Further test sets, from users' files."""
