"""The settings of Muon."""

from typing import TYPE_CHECKING, Any, Literal

from serrm.training.base import OptimizerSettings

if TYPE_CHECKING:
    from serrm.models.recurrence import RecurrentModel
    from serrm.training.settings import TrainSettings


class MuonSettings(OptimizerSettings):
    """Muon for the matrices of the networks, Adam-atan2 for embeddings and readout; an extension."""

    kind: Literal["muon"] = "muon"

    def build(self, model: "RecurrentModel", train: "TrainSettings") -> Any:
        """A Muon with an Adam-atan2: Adam-atan2's moments decay by `train.betas`, Muon's momentum always by 0.95."""
        from serrm.training.muon import build_muon

        return build_muon(model, train.betas, train.weight_decay)

    def product_flops(self, model: "RecurrentModel") -> int:
        """FLOPs of the Newton-Schulz steps of all matrices."""
        from serrm.training.muon import matrices_of, newton_schulz_flops

        return sum(newton_schulz_flops(*matrix.shape) for matrix in matrices_of(model))
