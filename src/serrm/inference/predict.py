"""Predictions at several depths in one pass: the state goes on from step to step, nothing is recomputed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped, UInt8
from torch import Tensor

from serrm.arrays.stream import Examples
from serrm.inference.load import LoadedModel
from serrm.inference.settings import EvaluateSettings
from serrm.kernels.accelerate import accelerate, runs_compiled
from serrm.models.formulations import DTYPES
from serrm.models.recurrence import CannotExtrapolate, RecurrentModel, StepOutput
from serrm.progress import watch
from serrm.training.device import supported
from serrm.training.processes import ALONE, Processes


@dataclass(frozen=True)
class Work:
    """What scores a checkpoint: the model with its arithmetic, and this process among those that share the work."""

    loaded: LoadedModel
    settings: EvaluateSettings
    dtype: torch.dtype
    processes: Processes = ALONE

    @classmethod
    def begin(
        cls,
        loaded: LoadedModel,
        settings: EvaluateSettings,
        device: torch.device,
        processes: Processes = ALONE,
    ) -> "Work":
        """The work as settings and device have it; compiles the model where they say so."""
        precision, compiles = supported(settings.precision, settings.compile, device)
        accelerate(loaded.model, compiles=compiles)
        return cls(loaded, settings, DTYPES[precision], processes)


class Questions(NamedTuple):
    """What is asked of one size of grid: how many there are, and a batch from any one on."""

    side: int
    num_symbols: int
    num: int
    gather: Callable[[int, int], Examples]  # (first, number) → questions, answers, task types


# (number of the first question, batch) → rows of the task-type table
TaskVectors = Callable[[int, Examples], Float[Tensor, "B W"] | None]


class Predicted(NamedTuple):
    """A batch after so many supervision steps; `start` is the number of its first question."""

    start: int
    batch: Examples
    step: int
    logits: Float[Tensor, "B I K"]
    halting: Float[Tensor, "B 2"] | None  # of the Q head, where the model has one
    tokens: UInt8[np.ndarray, "B I"]


def predict_batches(
    work: Work,
    asked: Questions,
    what: str,
    task_vectors: TaskVectors | None = None,
) -> Iterator[Predicted]:
    """Predictions at every depth of the settings for the questions of this process, batch by batch.

    Several processes take the batches in turns: each is what it would be for one. `task_vectors` are by default the
    rows of the table that the batch names.
    """
    model, processes = work.loaded.model, work.processes
    size = rows_at_once(asked.side, work.settings.batch_size, asked.num_symbols)
    device, starts = model.initial.device, range(processes.rank * size, asked.num, processes.num * size)
    for start in watch(starts, what, len(starts), unit="batch", is_quiet=not processes.is_first):
        batch = asked.gather(start, min(size, asked.num - start))
        tokens = torch.from_numpy(batch.questions.astype(np.int64)).to(device)
        types = torch.from_numpy(batch.task_types).to(device)
        vectors = task_vectors(start, batch) if task_vectors else model.task_vectors(types)
        steps = work.settings.steps
        for step, output in predict(model, tokens, asked.num_symbols, steps, work.dtype, vectors, size):
            predicted = output.logits.argmax(-1).cpu().numpy().astype(np.uint8)
            yield Predicted(start, batch, step, output.logits, output.halting, predicted)


def predict(
    model: RecurrentModel,
    tokens: Int[Tensor, "B I"],
    num_symbols: int,
    steps: Sequence[int],
    dtype: torch.dtype = torch.float32,
    task_vectors: Float[Tensor, "B W"] | None = None,
    rows: int | None = None,
) -> Iterator[tuple[int, StepOutput]]:
    """(step, output) after each of the supervision steps asked for, ascending; by default of the first task type.

    `rows` is the size of whole batches: where networks are compiled, a smaller one is filled up to it, state included.
    """
    num = len(tokens)
    if task_vectors is None:
        task_vectors = model.task_vectors(torch.zeros(num, dtype=torch.long, device=tokens.device))
    if rows is not None and runs_compiled(model, dtype):
        tokens = filled_up(tokens, rows)
        task_vectors = None if task_vectors is None else filled_up(task_vectors, rows)
    state = model.initial_state(len(tokens), tokens.shape[1], num_symbols, dtype)
    for step in range(1, max(steps) + 1):
        with torch.no_grad():
            output = model(state, tokens, task_vectors)
        state = output.state
        if step in steps:
            halting = None if output.halting is None else output.halting[:num]
            yield step, output._replace(logits=output.logits[:num], halting=halting)


def confidences(logits: Float[Tensor, "B I K"]) -> Float[Tensor, " B"]:
    """How sure each prediction is: the smallest over positions of the largest softmax probability."""
    return logits.float().softmax(-1).amax(-1).amin(-1).clamp(0, 1)


def filled_up(batch: Shaped[Tensor, "n ..."], rows: int) -> Shaped[Tensor, "rows ..."]:
    """The batch with its first row repeated behind it until there are `rows` of them."""
    missing = rows - len(batch)
    return torch.cat([batch, batch[:1].expand(missing, *batch.shape[1:])]) if missing > 0 else batch


def refusal(model: RecurrentModel, side: int, num_symbols: int) -> str | None:
    """Why a model cannot take grids of a side and alphabet, found out with one step on an empty one; None if it can."""
    empty = torch.ones((1, side * side), dtype=torch.long, device=model.initial.device)
    try:
        next(predict(model, empty, num_symbols, (1,)))
    except CannotExtrapolate as error:
        return str(error)
    return None


def rows_at_once(side: int, batch_size: int, num_symbols: int | None = None) -> int:
    """How many puzzles of a side need the memory of `batch_size` 9×9 Sudoku: attention grows with I²K.

    `num_symbols` is K, that of Sudoku if not given.
    """
    usual = side if num_symbols is None else num_symbols - 2
    return max(1, batch_size * 9**5 // (side**4 * usual))
