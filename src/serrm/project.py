"""The project around the current folder, as the commands find it: its root and its parameters.

Beside `cli` and apart from it, so that a command in a module of its own need not import the command line.
"""

from pathlib import Path
from typing import Any

import typer

PARAMS = "params.yaml"
PIPELINE = "dvc.yaml"
STAGES = "stages"


def find_root(start: Path) -> Path:
    """The folder of the project: the first one with a params.yaml, from `start` upwards."""
    for folder in (start, *start.parents):
        if (folder / PARAMS).is_file():
            return folder
    raise ValueError(f"no {PARAMS} in {start} or above it: run this inside the project")


def project_params(root: Path) -> dict[str, Any]:
    """The params.yaml of a project. ValueError naming the key of a section that is wrong."""
    from serrm.config import read_params

    return read_params(root / PARAMS)


def check_profile(profile: str, root: Path) -> None:
    """Refuse, as a usage error, what is no profile of the project."""
    profiles = project_params(root)["profiles"]
    if profile not in profiles:
        raise typer.BadParameter(f"{profile!r} is none of {', '.join(profiles)}", param_hint="--profile")
