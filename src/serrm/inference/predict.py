"""Checkpoints loaded for prediction, and predictions after several numbers of supervision steps in one pass."""

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped, UInt8
from safetensors import SafetensorError, safe_open
from torch import Tensor

from serrm.arrays.arc import ArcEvaluation
from serrm.arrays.stream import Examples, PuzzleArrays, Stream, open_arrays, set_of_side
from serrm.core.processes import ALONE, Processes
from serrm.core.progress import with_progress
from serrm.kernels.accelerate import accelerate, reuse_memory, runs_compiled
from serrm.models.recurrence import CannotExtrapolate, RecurrentModel, State, StepOutput
from serrm.models.settings import NUM_SPECIAL, ModelSizes
from serrm.training.checkpoint import FACTS, SNAPSHOTS, check, misfit_of, read_config, read_weights
from serrm.training.losses import LossSettings
from serrm.training.settings import CheckpointConfig, RunSettings

STATES_AT_ONCE = 16  # the most tensors of a state's size that a supervision step holds
CPU_BYTES = 2**28  # memory for the batch of a search; a larger batch is no faster on a CPU


@dataclass(frozen=True)
class LoadedModel:
    """A model in evaluation mode, with the content of its config.json."""

    model: RecurrentModel
    config: CheckpointConfig
    # EMA weights during training, oldest first; the last are those of the checkpoint itself.
    snapshots: tuple[Path, ...] = ()

    @property
    def settings(self) -> RunSettings:
        """The settings of the run, with those of the model."""
        return self.config.run


def load_model(
    checkpoint: Path, device: torch.device, *, keeps_dropout: bool = False, is_accelerated: bool = True
) -> LoadedModel:
    """Load the model of a checkpoint with its EMA weights on `device`, with native kernels where they fit.

    Call `accelerate` again to choose otherwise; without `is_accelerated` all runs on PyTorch. `keeps_dropout` keeps
    attention dropout active, a fault of the published code that can be switched on. ValueError if the directory is no
    checkpoint, is damaged, or its weights do not fit its settings.
    """
    check(checkpoint)
    try:
        config, weights = read_config(checkpoint), read_weights(checkpoint)
        num_task_types = len(weights["task_types"]) if "task_types" in weights else 1
        sizes = ModelSizes(config.num_symbols, config.side**2, num_task_types, config.num_special)
        model = config.run.model.build(sizes, None)
        model.load_state_dict(weights)
        model.seed = config.run.seed
    except SafetensorError as error:
        raise ValueError(f"{checkpoint}: damaged checkpoint: {type(error).__name__}: {error}") from error
    except RuntimeError as error:
        raise ValueError(f"{checkpoint}: {misfit_of(error)}") from error
    if is_accelerated:
        accelerate(model)
    snapshots = tuple(sorted((checkpoint / SNAPSHOTS).glob("*.safetensors")))
    return LoadedModel(model.to(device).train(keeps_dropout), config, snapshots)


def load_snapshot(model: RecurrentModel, path: Path) -> dict[str, int | float]:
    """Load the weights of a snapshot into the model; returns the snapshot's step, samples and loss."""
    with safe_open(path, "pt") as file:
        model.load_state_dict({key: file.get_tensor(key) for key in file.keys()})  # noqa: SIM118
        facts: dict[str, int | float] = json.loads(file.metadata()[FACTS])
    return facts


def puzzles_of_trained_size(loaded: LoadedModel, arrays: Path) -> PuzzleArrays | None:
    """Open the test puzzles of the size trained on; None if the data set's arrays have no such set."""
    name = set_of_side(arrays, loaded.config.side)
    return None if name is None else open_arrays(arrays, name)


# On grids of one size, numbered from 0. Of a Stream, which is endless, the first `num_examples`.
Questions = Stream | PuzzleArrays | ArcEvaluation
# (number of the first question, batch) → rows of the task-type table
TaskVectorsOf = Callable[[int, Examples], Float[Tensor, "B W"] | None]


class Predicted(NamedTuple):
    """Predictions for a batch after `step` supervision steps; `start` is the number of its first question."""

    start: int
    batch: Examples
    step: int
    logits: Float[Tensor, "B I K"]
    halting: Float[Tensor, "B 2"] | None  # of the Q head, where the model has one
    predictions: UInt8[np.ndarray, "B I"]


@dataclass(frozen=True)
class Predictor:
    """A checkpoint with its dtype, its processes and the batch size for 9×9 puzzles (larger grids get fewer)."""

    loaded: LoadedModel
    batch_size: int
    dtype: torch.dtype = torch.float32
    processes: Processes = ALONE

    def batches(
        self,
        questions: Questions,
        steps: Collection[int],
        description: str,
        task_vectors_of: TaskVectorsOf | None = None,
    ) -> Iterator[Predicted]:
        """Predict all questions, batch by batch, and yield after each number of steps.

        Several processes share the batches of a single process in turn. `task_vectors_of` gives by default the rows of
        the table for the batch's task types. `description` heads the progress bar.
        """
        model, processes = self.loaded.model, self.processes
        size = puzzles_at_once(questions.side, self.batch_size, questions.num_symbols)
        starts = range(processes.rank * size, questions.num_examples, processes.num * size)
        for start in with_progress(
            starts, description, len(starts), unit="batch", is_quiet=not processes.is_first
        ):
            batch = questions.gather(start, min(size, questions.num_examples - start))
            tokens = torch.from_numpy(batch.questions.astype(np.int64)).to(model.initial.device)
            types = torch.from_numpy(batch.task_types).to(model.initial.device)
            vectors = task_vectors_of(start, batch) if task_vectors_of else model.task_vectors(types)
            outputs = predict(model, tokens, questions.num_symbols, steps, self.dtype, vectors, size, start)
            for step, output in outputs:
                yield Predicted(start, batch, step, output.logits, output.halting, symbols_of(output.logits))


def predict(
    model: RecurrentModel,
    tokens: Int[Tensor, "B I"],
    num_symbols: int,
    steps: Collection[int],
    dtype: torch.dtype = torch.float32,
    task_vectors: Float[Tensor, "B W"] | None = None,
    batch_rows: int | None = None,
    first: int = 0,
) -> Iterator[tuple[int, StepOutput]]:
    """Yield (step, output) after each of the `steps`, ascending; by default with the first task type.

    Compiled networks always get `batch_rows` puzzles (`supervision_step`). `first` is the number of the first puzzle.
    """
    if task_vectors is None:
        task_vectors = model.task_vectors(torch.zeros(len(tokens), dtype=torch.long, device=tokens.device))
    state = model.initial_state(len(tokens), tokens.shape[1], num_symbols, dtype, first)
    for step in range(1, max(steps) + 1):
        output = supervision_step(model, state, tokens, task_vectors, batch_rows or len(tokens))
        state = output.state
        if step in steps:
            yield step, output


@torch.no_grad()
def supervision_step(
    model: RecurrentModel,
    state: State,
    tokens: Int[Tensor, "B I"],
    task_vectors: Float[Tensor, "B W"] | None,
    batch_rows: int,
) -> StepOutput:
    """Take a step without gradient; for compiled networks, fill a batch up to `batch_rows` and cut the output."""
    num = len(tokens)
    is_compiled = runs_compiled(model, state[0].dtype)
    if num < batch_rows and is_compiled:
        state, tokens = tuple(fill_up(part, batch_rows) for part in state), fill_up(tokens, batch_rows)
        task_vectors = None if task_vectors is None else fill_up(task_vectors, batch_rows)
    reuse_memory(model)
    output: StepOutput = model(state, tokens, task_vectors)
    halting = None if output.halting is None else output.halting[:num]
    after = tuple(part[:num] for part in output.state)
    if is_compiled:  # the next step overwrites what its networks returned
        after = tuple(part.clone() for part in after)
    return StepOutput(after, output.logits[:num], halting)


def symbols_of(logits: Float[Tensor, "B I K"]) -> UInt8[np.ndarray, "B I"]:
    """Predict for each cell the first symbol with the largest logit."""
    symbols: UInt8[np.ndarray, "B I"] = logits.argmax(-1).cpu().numpy().astype(np.uint8)
    return symbols


def confidences(logits: Float[Tensor, "B I K"], loss: LossSettings) -> Float[Tensor, " B"]:
    """Compute the confidence of each prediction, which is that of its least certain cell."""
    return loss.certainty(logits).amin(-1)


def fill_up(batch: Shaped[Tensor, "n ..."], rows: int) -> Shaped[Tensor, "rows ..."]:
    """Fill a batch up to `rows` with copies of its first row."""
    missing = rows - len(batch)
    return torch.cat([batch, batch[:1].expand(missing, *batch.shape[1:])])


def refusal(model: RecurrentModel, side: int, num_symbols: int) -> str | None:
    """Name the reason why a model cannot take grids of a side and alphabet; None if it can."""
    try:
        model.initial_state(1, side * side, num_symbols)
    except CannotExtrapolate as error:
        return str(error)
    return None


def puzzles_at_once(side: int, batch_size: int, num_symbols: int) -> int:
    """Count the puzzles of a side that need the memory of `batch_size` 9×9 Sudoku, at least one.

    Memory grows with the number of cells times about the number of usual symbols: attention stores no scores, except
    PyTorch's with dropout on a CPU.
    """
    num_usual = max(1, num_symbols - NUM_SPECIAL)  # if a task has other special tokens, this is near enough
    return max(1, batch_size * 9 * 9 * 9 // (side * side * num_usual))


def puzzles_in_memory(model: RecurrentModel, side: int, num_symbols: int, dtype: torch.dtype) -> int:
    """Count the puzzles of a side that fit half of a GPU's free memory, or CPU_BYTES."""
    state, device = model.initial_state(1, side**2, num_symbols, dtype), model.initial.device
    free = torch.cuda.mem_get_info(device)[0] // 2 if device.type == "cuda" else CPU_BYTES
    return max(1, free // (STATES_AT_ONCE * sum(part.nbytes for part in state)))
