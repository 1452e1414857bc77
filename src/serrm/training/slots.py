"""The slots of deep supervision: each holds a puzzle, its recurrent state and the steps it has had.

A slot that halted takes the next unread example and a fresh state; its neighbours go on.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from serrm.data.batches import Stream
from serrm.models.recurrence import RecurrentModel, State


@dataclass
class Slots:
    """B slots on the device of the model; `is_halted` marks those that need an example."""

    tokens: Int[Tensor, "B I"]
    targets: Int[Tensor, "B I"]
    task_types: Int[Tensor, " B"]
    state: State
    num_steps: Int[Tensor, " B"]
    is_halted: Bool[Tensor, " B"]
    position: int  # examples drawn from the stream so far

    def refill(self, stream: Stream, model: RecurrentModel, num_symbols: int) -> None:
        """Give every halted slot the next example and the initial state."""
        halted = self.is_halted.nonzero().squeeze(1)
        if len(halted) == 0:
            return
        device = self.tokens.device
        examples = stream.gather(self.position, len(halted))
        for part, new in zip((self.tokens, self.targets, self.task_types), examples, strict=True):
            part[halted] = torch.from_numpy(new).to(device, part.dtype)
        fresh = model.initial_state(1, self.tokens.shape[1], num_symbols, self.state[0].dtype)
        for part, first in zip(self.state, fresh, strict=True):
            part[halted] = first
        self.num_steps[halted] = 0
        self.is_halted.zero_()
        self.position += len(halted)


def empty_slots(
    batch_size: int, model: RecurrentModel, num_positions: int, num_symbols: int, dtype: torch.dtype
) -> Slots:
    """Slots that all wait for an example."""
    device = model.initial.device
    tokens = torch.zeros(batch_size, num_positions, dtype=torch.long, device=device)
    state = model.initial_state(batch_size, num_positions, num_symbols, dtype)
    return Slots(
        tokens=tokens,
        targets=tokens.clone(),
        task_types=torch.zeros(batch_size, dtype=torch.long, device=device),
        state=tuple(part.clone(memory_format=torch.contiguous_format) for part in state),
        num_steps=torch.zeros(batch_size, dtype=torch.long, device=device),
        is_halted=torch.ones(batch_size, dtype=torch.bool, device=device),
        position=0,
    )
