"""The optimisers by name: their settings, whose `build` imports the optimiser and with it torch.

A custom optimiser is a separate module and an entry here, so that adding it trains no other run again
(docs/decisions/021-code-by-hash.md).
"""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import SerializeAsAny

from serrm.core.entries import Entries
from serrm.core.settings import EntryOf, NamedSettings

if TYPE_CHECKING:
    from serrm.models.recurrence import RecurrentModel
    from serrm.training.settings import TrainSettings


class OptimizerSettings(NamedSettings):
    """Settings of an optimiser, an entry of OPTIMIZERS, and its construction."""

    def build(self, model: "RecurrentModel", train: "TrainSettings") -> Any:
        """Build a torch.optim.Optimizer, or an object with its `param_groups`, `step`, `zero_grad` and state dicts.

        The training loop sets the learning rate before every step.
        """
        raise NotImplementedError

    def product_flops(self, model: "RecurrentModel") -> int:
        """Count the FLOPs of the matrix products of one step, two per multiply-add; 0 if there are none."""
        return 0


class AdamAtan2Settings(OptimizerSettings):
    """Adam-atan2 for all parameters."""

    kind: Literal["adam_atan2"] = "adam_atan2"

    def build(self, model: "RecurrentModel", train: "TrainSettings") -> Any:
        """Build an Adam-atan2 whose moments decay by the `betas` of the training."""
        from serrm.training.adam_atan2 import build_adam_atan2

        return build_adam_atan2(model, train.betas, train.weight_decay)


class MuonSettings(OptimizerSettings):
    """Muon for the matrices of the networks, Adam-atan2 for embeddings and readout; an extension."""

    kind: Literal["muon"] = "muon"

    def build(self, model: "RecurrentModel", train: "TrainSettings") -> Any:
        """Build a Muon with an Adam-atan2, whose moments decay by `train.betas`; Muon's momentum decays by 0.95."""
        from serrm.training.muon import build_muon

        return build_muon(model, train.betas, train.weight_decay)

    def product_flops(self, model: "RecurrentModel") -> int:
        """Count the FLOPs of the Newton-Schulz steps of all matrices."""
        from serrm.training.muon import matrices_of, newton_schulz_flops

        return sum(newton_schulz_flops(*matrix.shape) for matrix in matrices_of(model))


class AdamWSettings(OptimizerSettings):
    """PyTorch's AdamW for all parameters; an extension."""

    kind: Literal["adamw"] = "adamw"

    def build(self, model: "RecurrentModel", train: "TrainSettings") -> Any:
        """Build an AdamW whose moments decay by the `betas` of the training."""
        import torch

        from serrm.models.recurrence import trained_parameters

        parameters = trained_parameters(model)
        return torch.optim.AdamW(parameters, lr=0.0, betas=train.betas, weight_decay=train.weight_decay)


OPTIMIZERS: Final = Entries[type[OptimizerSettings]](
    {
        "adam_atan2": AdamAtan2Settings,
        "muon": MuonSettings,
        "adamw": AdamWSettings,
    }
)

Optimizer = Annotated[SerializeAsAny[OptimizerSettings], EntryOf(OPTIMIZERS)]
