"""The halting rules by name: when a slot of the batch takes its next puzzle (paper, section 3).

A rule is its settings, with what it does (`serrm.models.settings.HaltingRule`). A custom rule is a separate
module and an entry here, so that adding it trains no other run again (docs/decisions/021-code-by-hash.md). Nothing here
imports torch.
"""

from typing import Annotated, Final

from pydantic import SerializeAsAny

from serrm.core.entries import Entries
from serrm.core.settings import EntryOf
from serrm.models.q_learning import QLearning
from serrm.models.random_halting import RandomHalting
from serrm.models.settings import HaltingRule

HALTING: Final = Entries[type[HaltingRule]](
    {
        "random": RandomHalting,
        "q_learning": QLearning,
    }
)

HaltingSettings = Annotated[SerializeAsAny[HaltingRule], EntryOf(HALTING)]
