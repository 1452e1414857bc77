"""The optimisers by name.

A custom optimiser is a separate module and an entry here, so that adding it trains no other run again
(docs/decisions/021-code-by-hash.md). Nothing here imports torch.
"""

from typing import Annotated, Final

from pydantic import SerializeAsAny

from serrm.core.entries import Entries
from serrm.core.settings import EntryOf
from serrm.training.adam_atan2_settings import AdamAtan2Settings
from serrm.training.base import OptimizerSettings
from serrm.training.muon_settings import MuonSettings

OPTIMIZERS: Final = Entries[type[OptimizerSettings]](
    {
        "adam_atan2": AdamAtan2Settings,
        "muon": MuonSettings,
    }
)

Optimizer = Annotated[SerializeAsAny[OptimizerSettings], EntryOf(OPTIMIZERS)]
