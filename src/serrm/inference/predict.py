"""Predictions at several depths in one pass: the state goes on from step to step, nothing is recomputed."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from serrm.kernels.accelerate import runs_compiled
from serrm.models.recurrence import CannotExtrapolate, RecurrentModel, StepOutput


def predict(
    model: RecurrentModel,
    tokens: Int[Tensor, "B I"],
    num_symbols: int,
    steps: Sequence[int],
    dtype: torch.dtype = torch.float32,
    rows: int | None = None,
) -> Iterator[tuple[int, Int[Tensor, "B I"]]]:
    """(step, predicted tokens) after each of the supervision steps asked for, ascending; of the first task type.

    `rows` as in `predict_logits`.
    """
    task_vectors = model.task_vectors(torch.zeros(len(tokens), dtype=torch.long, device=tokens.device))
    for step, logits in predict_logits(model, tokens, num_symbols, steps, dtype, task_vectors, rows):
        yield step, logits.argmax(-1)


def predict_logits(
    model: RecurrentModel,
    tokens: Int[Tensor, "B I"],
    num_symbols: int,
    steps: Sequence[int],
    dtype: torch.dtype = torch.float32,
    task_vectors: Float[Tensor, "B W"] | None = None,
    rows: int | None = None,
) -> Iterator[tuple[int, Float[Tensor, "B I K"]]]:
    """(step, logits) after each of the supervision steps asked for, ascending; `rows` as in `predict_outputs`."""
    for step, output in predict_outputs(model, tokens, num_symbols, steps, dtype, task_vectors, rows):
        yield step, output.logits[: len(tokens)]


def predict_outputs(
    model: RecurrentModel,
    tokens: Int[Tensor, "B I"],
    num_symbols: int,
    steps: Sequence[int],
    dtype: torch.dtype = torch.float32,
    task_vectors: Float[Tensor, "B W"] | None = None,
    rows: int | None = None,
) -> Iterator[tuple[int, StepOutput]]:
    """(step, output) after each of the supervision steps asked for, ascending; rows behind the batch's are of no use.

    `rows` is the size of whole batches: where networks are compiled, a smaller one is filled up to it.
    """
    if rows is not None and runs_compiled(model, dtype):
        tokens = filled_up(tokens, rows)
        task_vectors = None if task_vectors is None else filled_up(task_vectors, rows)
    state = model.initial_state(len(tokens), tokens.shape[1], num_symbols, dtype)
    for step in range(1, max(steps) + 1):
        with torch.no_grad():
            output = model(state, tokens, task_vectors)
        state = output.state
        if step in steps:
            yield step, output


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
