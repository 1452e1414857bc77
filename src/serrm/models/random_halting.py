"""SE-RRM's halting rule: after every supervision step a slot halts with a fixed probability (paper, section 3)."""

from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool
from pydantic import Field

from serrm.core.randomness import Purpose, keyed_rng
from serrm.models.settings import HaltingRule

if TYPE_CHECKING:
    from torch import Tensor

    from serrm.models.recurrence import SupervisionStep


class RandomHalting(HaltingRule):
    """SE-RRM's rule, which needs nothing from the model."""

    kind: Literal["random"]
    probability: float = Field(gt=0, le=1)
    """`random`: probability of halting after a supervision step."""
    probability_solved: float = Field(default=0.0, ge=0, le=1)
    """`random`: further probability for a solved puzzle; an extension."""

    def signal(self, step: "SupervisionStep") -> "Tensor | None":
        """Which puzzles are solved, where that changes the probability."""
        return step.is_solved if self.probability_solved > 0 else None

    def halts(
        self, signal: "Tensor | None", num_steps: "Tensor", *, seed: int, optimiser_step: int, max_steps: int
    ) -> "Tensor":
        """Draw for every slot by (seed, optimiser step, slot)."""
        import torch

        num_slots = len(num_steps)
        is_halted = torch.from_numpy(random_halting(seed, optimiser_step, num_slots, self.probability))
        if signal is None:
            return is_halted
        purpose = Purpose.HALTING_SOLVED
        draws = random_halting(seed, optimiser_step, num_slots, self.probability_solved, purpose)
        return is_halted | (signal & torch.from_numpy(draws))


def random_halting(
    seed: int, optimiser_step: int, num_slots: int, probability: float, purpose: Purpose = Purpose.HALTING
) -> Bool[np.ndarray, " B"]:
    """Slot b halts after this optimiser step with the given probability.

    A pure function of (seed, optimiser step, slot), so it needs no state and no copy from the device.
    """
    return keyed_rng(seed, purpose, optimiser_step).random(num_slots) < probability
