"""Settings of evaluations: the section `evaluate` of a profile, and all that one evaluation depends on."""

from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from serrm.settings import Kind, Settings
from serrm.training.settings import Fidelity

GUESS_STEPS = 4  # supervision steps for a guess: by then answers have settled
HEADLINE_STEPS = 16  # supervision steps of the paper's tables, of learning curves and of equivariance pairs
TaskType = Literal["right", "blank", "random"]


class ComputeSettings(Settings):
    """Accuracy against compute, on puzzles with a rule to verify answers by."""

    num_puzzles: PositiveInt  # of the size trained on
    max_steps: tuple[PositiveInt, ...] = Field(min_length=1)  # a verified puzzle stops earlier
    attempt_steps: PositiveInt = 16  # of the first attempt, where guesses follow
    guesses: tuple[PositiveInt, ...] = ()  # so many attempts, all but the first with guesses (Sudoku)


class EvaluateSettings(Settings):
    """The section `evaluate` of a task."""

    steps: tuple[PositiveInt, ...] = Field(min_length=1)  # supervision steps that are scored, in one pass
    batch_size: PositiveInt  # puzzles of 9×9 in a batch; larger grids get proportionally fewer
    precision: Literal["float32", "bfloat16", "auto"]  # auto: the faster on this machine
    compile: bool
    curve_puzzles: NonNegativeInt  # puzzles scored for each snapshot of the learning curve
    examples: NonNegativeInt = 4  # puzzles of each set whose predictions are kept for pictures
    task_types: tuple[TaskType, ...] = ("right",)  # ARC: score with these rows of the task-type table
    test_time_compute: ComputeSettings | None = None  # Sudoku and mazes: measure accuracy against compute
    equivariance_pairs: NonNegativeInt = 0  # Sudoku, ARC: puzzles predicted again with permuted symbols

    @property
    def curve_steps(self) -> int:
        """Supervision steps of a learning curve's points: no deeper than the sets themselves."""
        return min(HEADLINE_STEPS, max(self.steps))


class ScoringFidelity(Fidelity):
    """The published faults of training, and those of the ARC-AGI vote, which change no training."""

    aggregated_voting: bool = False  # the votes of a run's snapshots are pooled with its own
    ties_by_halting: bool = False  # equal votes of HRM and TRM are ordered by the mean of σ(q_halt)


class ScoringSettings(Settings):
    """Everything an evaluation depends on besides checkpoint and arrays."""

    task: str
    kind: Kind
    variant: str
    seed: NonNegativeInt
    evaluate: EvaluateSettings
    fidelity: ScoringFidelity
    source: str  # of the puzzles, in words
