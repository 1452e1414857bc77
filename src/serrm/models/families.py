"""The families of models by name, in the order of tables; colours and markers of figures follow the same order.

A family is its settings, with what else differs from family to family (`serrm.models.settings.FamilySettings`). One of
one's own is a module and an entry here. Nothing here imports torch.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, SerializeAsAny

from serrm.core.settings import refused
from serrm.models.settings import FamilySettings, HrmSettings, SeRrmSettings, TrmSettings

FAMILIES: Final[dict[str, type[FamilySettings]]] = {
    "hrm": HrmSettings,
    "trm": TrmSettings,
    "se_rrm": SeRrmSettings,
}


def _of_family(values: Any) -> Any:
    if not isinstance(values, Mapping):
        return values
    if (family := values.get("family")) not in FAMILIES:
        raise refused(("family",), f"is none of {', '.join(FAMILIES)}", family)
    return FAMILIES[family].model_validate(values)


ModelSettings = Annotated[SerializeAsAny[FamilySettings], BeforeValidator(_of_family)]
