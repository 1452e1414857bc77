"""Settings of a training run: the recipe of a (data set, model) pair, and switches for known faults."""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import (
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from serrm.core.settings import KeyOf, Settings, TaskName, setting_error
from serrm.models.families import ModelSettings
from serrm.models.halting import HaltingSettings
from serrm.models.settings import NUM_SPECIAL
from serrm.puzzles.settings import ArraySettings, HintSettings
from serrm.training.losses import Loss, Stablemax
from serrm.training.optimizers import AdamAtan2Settings, Optimizer
from serrm.training.schedules import SCHEDULES


class Fidelity(Settings):
    """Faults of the published code that change results; all off unless their effect is to be measured."""

    dropout_at_evaluation: bool = False
    """Attention dropout stays active when predicting."""
    shifted_rope2d: bool = False
    """RoPE2D gives each square the angles of the square P (`prefix`) positions later (TRM, HRM)."""
    bfloat16_embeddings: bool = False
    """Embeddings and their EMA are rounded to bfloat16 at every update."""


class TaskTypeSettings(Settings):
    """Sign-SGD of the task-type table; it updates only the rows of the batch."""

    learning_rate: PositiveFloat
    """Learning rate of the task-type table."""
    weight_decay: float = Field(ge=0)
    """Weight decay of the task-type table."""


class Depth(Settings):
    """A phase of a curriculum of depth."""

    until: float = Field(gt=0, lt=1)
    """End of the phase, as a share of the training."""
    h_cycles: PositiveInt
    """Number of h cycles until then."""
    l_cycles: PositiveInt
    """Number of l cycles in an h cycle until then."""


class TrainSettings(Settings):
    """One training: deep supervision with slots, optimiser, warm-up and schedule, EMA."""

    batch_size: PositiveInt
    """B, puzzles trained at once."""
    epochs: PositiveFloat | None = None
    """Training length in epochs as the published code counts them: N/B optimiser steps each, with N training puzzles
    (ARC-AGI: pairs). As a puzzle stays in its slot for several steps, an epoch is less than one pass over them. Give
    this or `steps`."""
    steps: PositiveInt | None = None
    """Training length in optimiser steps; give this or `epochs`."""
    max_supervision_steps: PositiveInt
    """Supervision steps after which a puzzle leaves the batch."""
    halting: HaltingSettings
    """Rule by which a puzzle leaves the batch earlier."""
    optimizer: Optimizer = AdamAtan2Settings()
    """The paper's Adam-atan2, Muon for the matrices of the network, or AdamW."""
    learning_rate: PositiveFloat
    """Peak learning rate."""
    schedule: Annotated[str, KeyOf(SCHEDULES)]
    """Learning rate after warm-up."""
    final_rate: float = Field(default=0.1, ge=0, le=1)
    """End of the cosine schedule, as a share of the peak."""
    warmup_steps: NonNegativeInt
    """Steps of linear warm-up."""
    weight_decay: float = Field(ge=0)
    """Decoupled weight decay."""
    task_types: TaskTypeSettings | None = None
    """Sign-SGD of the task-type table; required where there is a table."""
    betas: tuple[float, float]
    """Decay rates of the two moments of Adam-atan2."""
    ema: float = Field(ge=0, lt=1)
    """Decay of the EMA that is evaluated; 0 evaluates the raw weights."""
    precision: Literal["float32", "bfloat16", "auto"] = "float32"
    """Arithmetic of states and products; weights and optimiser are always float32; `auto` is bfloat16
    on a GPU that has it, and on a CPU the faster one."""
    compile: bool = False
    """Use torch.compile on a GPU."""
    snapshots: NonNegativeInt = 0
    """EMA snapshots kept for the learning curve."""
    log_every: PositiveInt = 20
    """Optimiser steps between records of the training log."""
    hints: HintSettings | None = None
    """Show squares of the answer in the first examples; an extension."""
    init_from: str | None = None
    """Checkpoint whose EMA weights the training starts from; set by the `init` of a run."""
    continues: bool = False
    """Continue the training of `init` with its whole training state, for `steps` further steps (or `epochs`); a cosine
    begins with the first of them; an extension."""
    loss: Loss = Stablemax(kind="stablemax")
    """The paper's stablemax cross-entropy, or plain cross-entropy, an extension."""
    step_weight: float = Field(default=1.0, gt=0, le=1)
    """Weight of a supervision step's loss as a multiple of the step's before, 1 for the first (CGAR, arXiv:2511.08653);
    an extension."""
    curriculum: tuple[Depth, ...] = ()
    """Shallower phases at the start of training, in order; after them the model's cycles (CGAR, arXiv:2511.08653); an
    extension."""

    noise: float = Field(default=0.0, ge=0)
    """Scale of normal numbers added to the state before each supervision step, drawn by seed, step and slot; an
    extension."""
    steps_per_update: PositiveInt = 1
    """Supervision steps that an optimiser step takes, whose gradients it averages; an extension."""
    updates_per_step: PositiveInt = 1
    """Optimiser steps that take the same supervision step, each at its weights; an extension."""

    @model_validator(mode="after")
    def _check(self) -> "TrainSettings":
        if (self.epochs is None) == (self.steps is None):
            raise ValueError(f"give either epochs or steps, got epochs={self.epochs} and steps={self.steps}")
        if self.updates_per_step > 1 and self.steps_per_update > 1:
            raise setting_error(("updates_per_step",), "needs steps_per_update: 1", self.updates_per_step)
        ends = [phase.until for phase in self.curriculum]
        if any(end <= before for before, end in pairwise(ends)):
            raise setting_error(("curriculum",), "must have phases in the order of their ends", ends)
        if self.continues and self.curriculum:
            raise setting_error(("continues",), "has no curriculum, which belongs to a whole training", True)
        return self

    def depths(self, num_steps: int) -> list[tuple[int, Depth | None]]:
        """Each phase of a training with the number of its optimiser steps; None is the model as it is evaluated."""
        ends = [round(phase.until * num_steps) for phase in self.curriculum]
        lengths = [end - start for start, end in pairwise((0, *ends, num_steps))]
        return [*zip(lengths, (*self.curriculum, None), strict=True)]

    def depth(self, step: int, num_steps: int) -> Depth | None:
        """Select the phase of optimiser step 0, 1, … of `num_steps`."""
        return next((phase for phase in self.curriculum if step < round(phase.until * num_steps)), None)

    def rate(self, step: int, num_steps: int, steps_before: int = 0) -> float:
        """Compute the learning rate of optimiser step 0, 1, … of `num_steps`: first a line, then the schedule.

        The schedule begins after the steps of the training that this one continues.
        """
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / self.warmup_steps
        start = max(self.warmup_steps, steps_before)
        progress = (step - start) / max(1, num_steps - start)
        return self.learning_rate * SCHEDULES[self.schedule](progress, self.final_rate)

    def num_optimiser_steps(self, num_examples: int) -> int:
        """Count the optimiser steps on training puzzles (ARC-AGI: pairs), rounded down as in the published code."""
        if self.steps is not None:
            return self.steps
        assert self.epochs is not None
        return max(1, int(self.epochs * num_examples / self.batch_size))


class RunSettings(Settings):
    """Everything that a run's training depends on besides its arrays."""

    data_set: str
    """An entry of `data_sets` in the params file, such as sudoku_fewer_clues."""
    task: TaskName
    """The data set's task, a key of TASKS, such as sudoku."""
    variant: str
    seed: NonNegativeInt
    model: ModelSettings
    train: TrainSettings
    fidelity: Fidelity
    arrays: ArraySettings

    @model_validator(mode="after")
    def _suits_the_family(self) -> "RunSettings":
        train, family = self.train, self.model.family
        if train.halting.needs_q_head and not self.model.has_q_head:
            why = f"{family} cannot learn when to halt, as it has no Q head; use random"
            raise setting_error(("train", "halting", "kind"), why, train.halting.kind)
        if self.model.has_task_types and train.task_types is None:
            why = f"{family} learns task types, which need a learning_rate and a weight_decay of their own"
            raise setting_error(("train", "task_types"), why, None)
        return self

    @property
    def name(self) -> str:
        """data_set-variant-seed, for log lines and MLflow.

        Files have the run's name in the params file, whose number is a label that may differ from the seed:
        `-S runs.NAME.seed=1,2` sweeps seeds under one name.
        """
        return f"{self.data_set}-{self.variant}-s{self.seed}"


class TrainingFacts(Settings):
    """Length, result and circumstances of a training, without those that it continues."""

    steps: int
    samples: int
    steps_before: int = 0
    """Steps of the trainings that it continues, all together."""
    samples_before: int = 0
    """Their samples."""
    refilled: tuple[int, ...] = ()
    """The numbers of steps, also of those trainings, after which all slots were filled anew (docs/scale.md)."""
    train_puzzles: int
    """Pairs on ARC-AGI."""
    flops: int
    final_loss: float | None
    """None before the first record of the training log."""
    precision: str
    arithmetic: str | None = None
    """Precision and kernels; not known of checkpoints that were made before it was kept."""
    compile: bool = False
    device: str
    """The device's type, which with the next three may change rounding and the masks of dropout."""
    processes: int
    micro_batch: int | None
    native: bool


class Imported(Settings):
    """The file of published weights that a checkpoint was made of."""

    file: str
    sha256: str


class CheckpointConfig(Settings):
    """The content of a checkpoint's `config.json`: settings, data and results.

    The code is not among them, so that a refactor which leaves the weights equal leaves the checkpoint equal.
    """

    run: RunSettings
    settings_digest: str = Field(default_factory=lambda data: data["run"].digest())
    """Digest of `run`."""
    data_hash: str | None = None
    """Hash of the training arrays; None for imported weights."""
    initial_sha256: str | None = None
    """Of the weights that fine-tuning started from."""
    imported: Imported | None = None
    num_symbols: int
    num_special: int = NUM_SPECIAL
    side: int
    """Side of the grids; of ARC-AGI the canvas, the largest grid used."""
    puzzles: tuple[str, ...] = ()
    """The names of the ARC puzzles in the task-type table, in its order."""
    parameters: int
    parameters_with_task_types: int
    training: TrainingFacts | None = None
    """None for imported weights."""
