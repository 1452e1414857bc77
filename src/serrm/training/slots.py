"""The slots of deep supervision: each holds a puzzle, its recurrent state and the steps it has had.

A slot that halted takes the next unread example and a fresh state; its neighbours go on. Who halted is kept on the
host, so that refilling never waits for a GPU.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from serrm.data.batches import Stream
from serrm.models.recurrence import RecurrentModel, State


@dataclass
class Slots:
    """B slots on the device of the model, step counts on the host; `is_halted` marks those that need an example."""

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
        places = to_device(halted, device)
        examples = stream.gather(self.position, len(halted))
        for part, new in zip((self.tokens, self.targets, self.task_types), examples, strict=True):
            part[places] = to_device(torch.from_numpy(new), device).to(part.dtype)
        fresh = model.initial_state(1, self.tokens.shape[1], num_symbols, self.state[0].dtype)
        for part, first in zip(self.state, fresh, strict=True):
            part[places] = first
        self.num_steps[halted] = 0
        self.is_halted.zero_()
        self.position += len(halted)


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """A tensor of the host on the device; the host does not wait for the copy to arrive."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


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
        num_steps=torch.zeros(batch_size, dtype=torch.long),
        is_halted=torch.ones(batch_size, dtype=torch.bool),
        position=0,
    )
