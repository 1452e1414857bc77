"""The halting rules by name: when a slot of the batch takes its next puzzle (paper, section 3).

A custom rule is a separate module and an entry here, so that adding it trains no other run again
(docs/decisions/021-code-by-hash.md). Only methods import torch.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

import numpy as np
from jaxtyping import Bool, Int
from pydantic import Field, SerializeAsAny

from serrm.core.entries import Entries
from serrm.core.randomness import Purpose, keyed_rng
from serrm.core.settings import EntryOf, Settings

if TYPE_CHECKING:
    from torch import Tensor

    from serrm.models.recurrence import SupervisionStep


class HaltingRule(Settings):
    """A halting rule with its settings; the field `kind` is its name in HALTING.

    Only its methods may import torch. The slots go through the model in pieces (`serrm.training.slots.Piece`), on one
    or several processes: `signal` sees one piece, and `halts` sees the joined signals of all B slots, on the host.
    """

    needs_q_head: ClassVar[bool] = False  # reads halting logits and trains them by `loss`
    # For type checkers alone: subclasses declare the field, at their place in the order.
    if TYPE_CHECKING:
        kind: str

    @property
    def num_predictions(self) -> int:
        """Predictions without gradient that `loss` makes, for the count of FLOPs."""
        return 0

    def at_inference(self) -> "HaltingRule | None":
        """Return the rule that ends attempts of test-time compute, None if there is none.

        There a step has no answers: its `targets` are the tokens, and no puzzle `is_solved`.
        """
        return None

    def signal(self, step: "SupervisionStep") -> "Tensor | None":
        """Compute the numbers that `halts` reads, on the device, one row per slot.

        If it returns None, the rule makes no step wait for the GPU.
        """
        return None

    def halts(
        self, signal: "Tensor | None", num_steps: "Tensor", *, seed: int, optimiser_step: int, max_steps: int
    ) -> "Tensor":
        """Decide which of all B slots halt after an optimiser step; every process decides the same.

        `num_steps` are the supervision steps that each slot's puzzle has had. After `max_steps` the training
        loop halts it in any case.
        """
        raise NotImplementedError

    def loss(self, step: "SupervisionStep") -> "Tensor | None":
        """Compute a term to add to each puzzle's loss, of shape `b`; None for a rule that trains nothing."""
        return None


class RandomHalting(HaltingRule):
    """SE-RRM's rule, after every supervision step a fixed probability; it needs nothing from the model."""

    kind: Literal["random"]
    probability: float = Field(gt=0, le=1)
    """`random`: probability of halting after a supervision step."""
    probability_solved: float = Field(default=0.0, ge=0, le=1)
    """`random`: further probability for a solved puzzle; an extension."""

    def signal(self, step: "SupervisionStep") -> "Tensor | None":
        """Find the solved puzzles, where they change the probability."""
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


class QLearning(HaltingRule):
    """HRM's and TRM's rule: a head learns whether the puzzle is solved; exploration keeps some slots going.

    SE-RRM has no Q head: its state has another shape, which the paper gives as the reason.
    """

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

    def at_inference(self) -> "QLearning":
        """Return the rule without exploration."""
        return self.model_copy(update={"exploration": 0.0})

    def signal(self, step: "SupervisionStep") -> "Tensor | None":
        """Detach the halting logits."""
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
        """Compute the loss that teaches the Q head."""
        from serrm.models.q_head import q_loss

        return q_loss(step, bootstrap=self.bootstrap)


HALTING: Final = Entries[type[HaltingRule]](
    {
        "random": RandomHalting,
        "q_learning": QLearning,
    }
)

HaltingSettings = Annotated[SerializeAsAny[HaltingRule], EntryOf(HALTING)]


def random_halting(
    seed: int, optimiser_step: int, num_slots: int, probability: float, purpose: Purpose = Purpose.HALTING
) -> Bool[np.ndarray, " B"]:
    """Slot b halts after this optimiser step with the given probability.

    A pure function of (seed, optimiser step, slot), so it needs no state and no copy from the device.
    """
    return keyed_rng(seed, purpose, optimiser_step).random(num_slots) < probability


def least_steps(
    seed: int, optimiser_step: int, num_slots: int, probability: float, most: int
) -> Int[np.ndarray, " B"]:
    """Draw, with this probability, the first step from 2…most at which a slot may halt; else 0."""
    rng = keyed_rng(seed, Purpose.HALTING, optimiser_step)
    is_exploring = rng.random(num_slots) < probability
    return np.where(is_exploring, rng.integers(2, max(2, most) + 1, num_slots), 0)
