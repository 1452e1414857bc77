"""What the training log says: sums over the steps since its last line, and the line they make.

The sums stay on the device, so that no step waits for it; every process has those of all.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

Record = dict[str, int | float]


@dataclass
class Tally:
    """Sums since the last record."""

    loss: Tensor
    num_halted: Tensor
    num_solved: Tensor
    num_steps: int = 0

    @classmethod
    def zero(cls, device: torch.device) -> "Tally":
        """Nothing counted yet."""
        loss, num_halted, num_solved = torch.zeros(3, device=device).unbind()
        return cls(loss, num_halted, num_solved)

    def record(self, step: int, samples: int, rate: float) -> Record:
        """Means since the last record: loss a puzzle, share of halted slots whose puzzle was solved."""
        halted = max(1.0, float(self.num_halted))
        return {
            "step": step,
            "samples": samples,
            "loss": float(self.loss) / max(1, self.num_steps),
            "train_fsr": float(self.num_solved) / halted,
            "learning_rate": rate,
        }
