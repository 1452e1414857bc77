"""The optimisers by name. A custom optimiser is a module and an entry here. Nothing here imports torch."""

from typing import Annotated, Final

from pydantic import SerializeAsAny

from serrm.core.settings import EntryOf
from serrm.training.adam_atan2_settings import AdamAtan2Settings
from serrm.training.muon_settings import MuonSettings
from serrm.training.parts import OptimizerSettings

OPTIMIZERS: Final[dict[str, type[OptimizerSettings]]] = {
    "adam_atan2": AdamAtan2Settings,
    "muon": MuonSettings,
}

Optimizer = Annotated[SerializeAsAny[OptimizerSettings], EntryOf(OPTIMIZERS)]
