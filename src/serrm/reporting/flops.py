"""FLOPs by the settings of a run, for tables and forecasts; torch is imported where a model is counted."""

from typing import TYPE_CHECKING

from serrm.models.settings import ModelSizes
from serrm.puzzles.tasks import alphabet
from serrm.training.optimizers import OptimizerSettings
from serrm.training.settings import RunSettings

if TYPE_CHECKING:
    from serrm.models.recurrence import RecurrentModel


def sizes_of(run: RunSettings, side: int) -> ModelSizes:
    """Count the symbols and positions of a run's grids of a side."""
    tokens = alphabet(run.task, side)
    return ModelSizes(tokens.num_symbols, side**2, num_special=len(tokens.special))


def step_flops(run: RunSettings, side: int, *, in_training: bool = False) -> int:
    """Count the FLOPs of a supervision step of one puzzle, at inference or in training."""
    from serrm.models.flops import flops

    return flops(run.model, sizes_of(run, side), run.train.halting if in_training else None)


def optimiser_flops(run: RunSettings, side: int) -> int:
    """Count the FLOPs of the matrix products of an optimiser's step."""
    optimizer = run.train.optimizer
    if type(optimizer).product_flops is OptimizerSettings.product_flops:  # without matrix products
        return 0
    return optimizer.product_flops(model_on_meta(run, side))


def model_on_meta(run: RunSettings, side: int) -> "RecurrentModel":
    """Build a run's model for grids of a side, without numbers."""
    import torch

    with torch.device("meta"):
        return run.model.build(sizes_of(run, side), None)
