"""The slots of deep supervision: each holds a puzzle, its recurrent state and its number of steps so far.

A slot that halted takes the next example and the initial state; other slots are not affected. The halted flags are on
the host, so that refilling never waits for a GPU. Each of several processes holds a part of the slots and the halted
flags of all slots, so it draws the examples that a single process would draw for these slots.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from serrm.arrays.stream import Stream
from serrm.core.devices import seed_global
from serrm.core.randomness import Purpose, keyed_rng
from serrm.models.recurrence import RecurrentModel, State


@dataclass
class Piece:
    """Neighbouring slots that go through the model at once."""

    first: int  # number of its first slot among all B
    tokens: Int[Tensor, "b I"]
    targets: Int[Tensor, "b I"]
    task_types: Int[Tensor, " b"]
    state: State
    num_steps: Int[Tensor, " b"]  # supervision steps of each slot's puzzle


class PieceResult(NamedTuple):
    """Results of the forward and backward pass of a piece, besides the gradients of the parameters."""

    state: State
    loss: Float[Tensor, ""]  # cross-entropy alone; its share of the mean over all B slots
    is_solved: Bool[Tensor, " b"]
    signal: Shaped[Tensor, "b *_"] | None  # for the halting rule
    task_gradients: Float[Tensor, "b W"] | None


@dataclass
class Slots:
    """This process's b of the B slots, from number `first` on, on the device of the model.

    `num_steps` and `is_halted` are on the host and cover all B slots; halted slots get a new example.
    """

    tokens: Int[Tensor, "b I"]
    targets: Int[Tensor, "b I"]
    task_types: Int[Tensor, " b"]
    state: State
    num_steps: Int[Tensor, " B"]
    is_halted: Bool[Tensor, " B"]
    num_drawn: int  # examples drawn from the stream so far, by all processes
    first: int = 0

    @property
    def local(self) -> slice:
        """Range of this process's slots among all B."""
        return slice(self.first, self.first + len(self.tokens))

    def refill(self, stream: Stream, model: RecurrentModel) -> None:
        """Give every halted slot the next example and the initial state."""
        halted = self.is_halted.nonzero().squeeze(1)
        if len(halted) == 0:
            return
        is_local = (halted >= self.local.start) & (halted < self.local.stop)
        if is_local.any():
            num_before = int((halted < self.first).sum())
            self._fill(halted[is_local] - self.first, self.num_drawn + num_before, stream, model)
        self.num_steps[halted] = 0
        self.is_halted.zero_()
        self.num_drawn += len(halted)

    def _fill(self, rows: Int[Tensor, " n"], start: int, stream: Stream, model: RecurrentModel) -> None:
        device = self.tokens.device
        examples = stream.gather(start, len(rows))
        rows = to_device(rows, device)
        for tensor, array in zip((self.tokens, self.targets, self.task_types), examples, strict=True):
            tensor[rows] = to_device(torch.from_numpy(array), device).to(tensor.dtype)
        dtype, num_positions = self.state[0].dtype, self.tokens.shape[1]
        initial = model.initial_state(len(rows), num_positions, stream.num_symbols, dtype, first=start)
        for part, vectors in zip(self.state, initial, strict=True):
            part[rows] = vectors

    def pieces(self, size: int | None) -> Iterator[Piece]:
        """Yield this process's slots, at most `size` at a time; all at once if None."""
        num = len(self.tokens)
        for start in range(0, num, size or num):
            end = min(num, start + (size or num))
            tensors = (self.tokens, self.targets, self.task_types, *self.state)
            tokens, targets, task_types, *state = (tensor[start:end] for tensor in tensors)
            first = self.first + start
            num_steps = self.num_steps[first : self.first + end]
            yield Piece(first, tokens, targets, task_types, tuple(state), num_steps)

    def set_state(self, piece: Piece, state: State) -> None:
        """Give the slots of a piece their next state."""
        start = piece.first - self.first
        for part, new in zip(self.state, state, strict=True):
            part[start : start + len(new)] = new


def seed_dropout(seed: int, optimiser_step: int, first_slot: int, device: torch.device) -> None:
    """Make dropout's masks a function of (seed, optimiser step, the first of the slots that go through the model).

    PyTorch's dropout has no generator argument, so the global one of the CPU or of all devices is seeded.
    """
    number = int(keyed_rng(seed, Purpose.DROPOUT, optimiser_step, first_slot).integers(2**62))
    seed_global(number, device)


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy a tensor from the host to the device; the host does not wait for the copy to arrive."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def has_slots(training_state: Mapping[str, Any]) -> bool:
    """Test that a training state has its slots (`serrm.training.checkpoint.copy_without_slots` leaves them out)."""
    return set(training_state["slots"]) != {"position"}


def empty_slots(
    batch_size: int, local: slice, stream: Stream, model: RecurrentModel, dtype: torch.dtype
) -> Slots:
    """Make B slots that all wait for an example; this process holds those in the range `local`."""
    device, num = model.initial.device, local.stop - local.start
    tokens = torch.zeros(num, stream.side**2, dtype=torch.long, device=device)
    state = model.initial_state(num, stream.side**2, stream.num_symbols, dtype)
    return Slots(
        tokens=tokens,
        targets=tokens.clone(),
        task_types=torch.zeros(num, dtype=torch.long, device=device),
        state=tuple(part.clone(memory_format=torch.contiguous_format) for part in state),
        num_steps=torch.zeros(batch_size, dtype=torch.long),
        is_halted=torch.ones(batch_size, dtype=torch.bool),
        num_drawn=0,
        first=local.start,
    )
