"""The name and settings of a run in MLflow, which tell it from others of its name."""

from collections.abc import Mapping
from typing import Any

from serrm.core.differences import flat
from serrm.training.settings import RunSettings


def display_name(name: str, facts: Mapping[str, Any]) -> str:
    """Name a run in MLflow as in params.yaml, with its DVC experiment if there is one."""
    experiment = facts.get("experiment")
    return f"{name} ({experiment})" if experiment else name


def params_of(settings: RunSettings) -> dict[str, str]:
    """List settings by dotted key, as MLflow has them."""
    return {key: str(value) for key, value in flat(settings.model_dump(mode="json")).items()}
