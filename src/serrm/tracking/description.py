"""The name, description and settings of a run in MLflow, which tell it from others of its name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from serrm.config import Params
from serrm.core.differences import changes, flat
from serrm.core.project import PARAMS, PROFILES, git
from serrm.core.settings import parse
from serrm.training.settings import RunSettings

NEW = "this run is not in the commit"


def display_name(name: str, facts: Mapping[str, Any]) -> str:
    """The name of a run in MLflow: that in params.yaml, then the DVC experiment if there is one."""
    experiment = facts.get("experiment")
    return f"{name} ({experiment})" if experiment else name


def description(root: Path, name: str, settings: RunSettings, facts: Mapping[str, Any]) -> str:
    """Describe a run by its DVC experiment, and the settings that differ from those of the commit; "" without any.

    The commit's settings are those of its params.yaml, or of the file of the active profile.
    """
    experiment, committed = facts.get("experiment"), committed_params(root)
    lines = [f"DVC experiment {experiment}"] if experiment else []
    if committed is not None and name in committed.runs:
        committed_run = committed.run_settings(name).model_dump(mode="json")
        lines += map(str, changes(flat(committed_run), flat(settings.model_dump(mode="json"))))
    elif committed is not None:
        lines.append(NEW)
    return "  \n".join(lines)  # two spaces break a line in Markdown


def committed_params(root: Path) -> Params | None:
    """The params file of the active profile in the checked-out commit; None if it is missing or invalid."""
    try:
        profile = yaml.safe_load((root / PARAMS).read_text(encoding="utf-8"))["profile"]
        for file in (PARAMS, f"{PROFILES}/{profile}.yaml"):
            values = yaml.safe_load(git(root, "show", f"HEAD:./{file}")) or {}
            if values.get("profile") == profile:
                return parse(Params, values, file)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError):
        pass
    return None


def params_of(settings: RunSettings) -> dict[str, str]:
    """Settings by dotted key, as MLflow has them."""
    return {key: str(value) for key, value in flat(settings.model_dump(mode="json")).items()}
