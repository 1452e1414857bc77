"""The project around the current folder, as the commands find it: its root, its parameters, and its commit.

Beside `cli` and apart from it, so that a command in a module of its own need not import the command line.
"""

import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import typer

PARAMS = "params.yaml"
PIPELINE = "dvc.yaml"
STAGES = "stages"
WATCHED = ("src", STAGES, PIPELINE, PARAMS)  # what decides a result


class Project(NamedTuple):
    """What a command is about: the folder of the project, its parameters, and one of their profiles."""

    root: Path
    params: dict[str, Any]
    profile: str


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


def open_project(profile: str | None = None) -> Project:
    """The project around the current folder, and a profile of its params.yaml: by default the active one.

    ValueError outside of a project; a usage error for a name that is no profile.
    """
    root = find_root(Path.cwd())
    params = project_params(root)
    chosen = str(params["profile"]) if profile is None else profile
    if chosen not in params["profiles"]:
        known = ", ".join(params["profiles"])
        raise typer.BadParameter(f"{chosen!r} is none of {known}", param_hint="--profile")
    return Project(root, params, chosen)


def current_commit(root: Path) -> tuple[str, bool]:
    """The commit that is checked out, and whether what decides a result differs from it; "" outside of a repository."""
    commit = _git(root, "rev-parse", "HEAD")
    return commit, bool(commit and _git(root, "status", "--porcelain", "--", *WATCHED))


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "--no-optional-locks", *arguments]  # takes no lock that a kill could leave
    try:
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""
