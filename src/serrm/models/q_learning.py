"""The halting rule of HRM and TRM: a head learns whether the puzzle is solved (paper, section 3).

SE-RRM has no Q head: its state has another shape, which the paper gives as the reason.
"""

from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Int
from pydantic import Field

from serrm.core.randomness import Purpose, keyed_rng
from serrm.models.settings import HaltingRule

if TYPE_CHECKING:
    from torch import Tensor

    from serrm.models.recurrence import SupervisionStep


class QLearning(HaltingRule):
    """HRM's and TRM's rule; exploration keeps some slots going."""

    needs_q_head = True

    kind: Literal["q_learning"]
    exploration: float = Field(ge=0, le=1)
    """`q_learning`: probability that a puzzle stays for at least a random number of steps; the draw is repeated at
    each step."""
    bootstrap: bool
    """`q_learning`: also learn the value of continuing, with a bootstrapped target (HRM); TRM halts above 0."""

    @property
    def num_predictions(self) -> int:
        """HRM's bootstrapped target is the next step's prediction."""
        return int(self.bootstrap)

    def signal(self, step: "SupervisionStep") -> "Tensor | None":
        """The halting logits."""
        assert step.output.halting is not None, "q_learning needs a model with halting logits"
        return step.output.halting.detach()

    def halts(
        self, signal: "Tensor | None", num_steps: "Tensor", *, seed: int, optimiser_step: int, max_steps: int
    ) -> "Tensor":
        """Halt slots whose halting logit exceeds that of continuing, or 0, unless they explore."""
        import torch

        from serrm.models.q_head import CONTINUE, HALT

        assert signal is not None
        is_ready = signal[:, HALT] > (signal[:, CONTINUE] if self.bootstrap else 0)
        least = least_steps(seed, optimiser_step, len(num_steps), self.exploration, max_steps)
        return is_ready & (num_steps >= torch.from_numpy(least))

    def loss(self, step: "SupervisionStep") -> "Tensor | None":
        """The loss that teaches the Q head."""
        from serrm.models.q_head import q_loss

        return q_loss(step, bootstrap=self.bootstrap)


def least_steps(
    seed: int, optimiser_step: int, num_slots: int, probability: float, most: int
) -> Int[np.ndarray, " B"]:
    """Draw, with this probability, the first step from 2…most at which a slot may halt; else 0."""
    rng = keyed_rng(seed, Purpose.HALTING, optimiser_step)
    is_exploring = rng.random(num_slots) < probability
    return np.where(is_exploring, rng.integers(2, max(2, most) + 1, num_slots), 0)
