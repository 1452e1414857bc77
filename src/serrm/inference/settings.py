"""Settings of evaluations: the section `evaluate` of a profile, and all that one evaluation depends on."""

from collections.abc import Collection
from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from serrm.scoring.schema import TaskType
from serrm.settings import Kind, Settings, refused
from serrm.training.settings import Fidelity

GUESS_STEPS = 4  # supervision steps per guess, after which answers have settled
HEADLINE_STEPS = 16  # supervision steps of the paper's tables and of equivariance pairs


def usual_headline(steps: Collection[int]) -> int:
    """16 supervision steps, or the most that are scored where 16 are not."""
    return HEADLINE_STEPS if HEADLINE_STEPS in steps else max(steps)


class ComputeSettings(Settings):
    """Accuracy against compute, on puzzles with a rule to verify answers by."""

    num_puzzles: PositiveInt  # puzzles of the size trained on
    max_steps: tuple[PositiveInt, ...] = Field(min_length=1)  # limits; a verified puzzle stops earlier
    attempt_steps: PositiveInt = 16  # steps of the first attempt, if guesses follow
    guesses: tuple[PositiveInt, ...] = ()  # limits of attempts; those after the first have guesses (Sudoku)


class EvaluateSettings(Settings):
    """The section `evaluate` of a task."""

    steps: tuple[PositiveInt, ...] = Field(min_length=1)  # supervision steps that are scored, in one pass
    headline_steps: PositiveInt | None = None  # one of them, for the headline; null: 16, or else the most
    batch_size: PositiveInt  # 9×9 puzzles per batch; larger grids get proportionally fewer
    precision: Literal["float32", "bfloat16", "auto"]  # auto takes the faster on this machine
    compile: bool
    curve_puzzles: NonNegativeInt  # puzzles scored per snapshot of the learning curve
    examples: NonNegativeInt = 4  # puzzles per set whose predictions are kept for pictures
    task_types: tuple[TaskType, ...] = ("right",)  # ARC: score with these rows of the task-type table
    test_time_compute: ComputeSettings | None = None  # Sudoku and mazes: measure accuracy against compute
    equivariance_pairs: NonNegativeInt = 0  # Sudoku, ARC: puzzles predicted again with permuted symbols

    @model_validator(mode="after")
    def _scores_the_headline(self) -> "EvaluateSettings":
        if self.headline_steps not in (None, *self.steps):
            scored = ", ".join(map(str, self.steps))
            raise refused(("headline_steps",), f"is none of steps ({scored})", self.headline_steps)
        return self

    @property
    def headline(self) -> int:
        """Supervision steps of the headline's scores."""
        return self.headline_steps or usual_headline(self.steps)

    @property
    def curve_steps(self) -> int:
        """Supervision steps of a learning curve's points, at most the largest number that is scored."""
        return self.headline_steps or min(HEADLINE_STEPS, max(self.steps))


class ScoringSettings(Settings):
    """Everything that an evaluation depends on besides the checkpoint and the arrays."""

    profile: str
    name: str  # of the run
    task: str
    kind: Kind
    variant: str
    seed: NonNegativeInt
    evaluate: EvaluateSettings
    fidelity: Fidelity
    source: str  # of the puzzles, in words
    source_kind: str  # such as generated
