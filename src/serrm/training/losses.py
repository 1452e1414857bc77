"""The losses by name.

A custom loss is a separate module and an entry here, so that adding it trains no other run again
(docs/decisions/021-code-by-hash.md). Nothing here imports torch.
"""

from typing import Annotated, Final

from pydantic import SerializeAsAny

from serrm.core.entries import Entries
from serrm.core.settings import EntryOf
from serrm.training.base import LossSettings
from serrm.training.softmax import Softmax
from serrm.training.stablemax import Stablemax

LOSSES: Final = Entries[type[LossSettings]](
    {
        "stablemax": Stablemax,
        "softmax": Softmax,
    }
)

Loss = Annotated[SerializeAsAny[LossSettings], EntryOf(LOSSES)]
