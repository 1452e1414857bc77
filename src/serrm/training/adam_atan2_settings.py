"""The settings of the paper's optimiser."""

from typing import TYPE_CHECKING, Any, Literal

from serrm.training.base import OptimizerSettings

if TYPE_CHECKING:
    from serrm.models.recurrence import RecurrentModel
    from serrm.training.settings import TrainSettings


class AdamAtan2Settings(OptimizerSettings):
    """Adam-atan2 for all parameters."""

    kind: Literal["adam_atan2"] = "adam_atan2"

    def build(self, model: "RecurrentModel", train: "TrainSettings") -> Any:
        """An Adam-atan2 whose moments decay by the `betas` of the training."""
        from serrm.training.adam_atan2 import build_adam_atan2

        return build_adam_atan2(model, train.betas, train.weight_decay)
