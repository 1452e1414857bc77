"""The families of models by name, in the order of tables; colours and markers of figures follow the same order.

A family is its settings, with what else differs from family to family (`serrm.models.settings.FamilySettings`). A
custom family is a separate module and an entry here, so that adding it trains no other run again
(docs/decisions/021-code-by-hash.md). Nothing here imports torch.
"""

from typing import Annotated, Final

from pydantic import SerializeAsAny

from serrm.core.entries import Entries
from serrm.core.settings import EntryOf
from serrm.models.hrm_trm_settings import HrmSettings, TrmSettings
from serrm.models.se_rrm_settings import SeRrmSettings
from serrm.models.settings import FamilySettings

FAMILIES: Final = Entries[type[FamilySettings]](
    {
        "hrm": HrmSettings,
        "trm": TrmSettings,
        "se_rrm": SeRrmSettings,
    }
)

ModelSettings = Annotated[SerializeAsAny[FamilySettings], EntryOf(FAMILIES, "family")]
