"""grid.yaml: the cells of the active profile, written from params.yaml for dvc.yaml to loop over.

DVC expands its loops when it reads dvc.yaml, and cannot look a list up under the name of the active profile; so the
list stands in a file of its own. Keys are the ends of the names of DVC's stages, as in `train@cpu-sudoku-se_rrm-0`.

`after` is the folder whose checkpoint a training begins with. DVC knows no dependency that only some have, so that of a
training which begins with none is the folder of its puzzles, which it waits for in any case.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from serrm.config import grid_of
from serrm.files import write_whole
from serrm.resolve import compose

GRID = "grid.yaml"
Sections = dict[str, dict[str, Mapping[str, Any]]]
HEADER = (
    "# What dvc.yaml loops over: the cells of the active profile. Written by `serrm grid`; edit params.yaml."
)


def refresh(params: Mapping[str, Any], path: Path) -> bool:
    """Write grid.yaml unless it is what params.yaml says; whether it was not."""
    text = grid_text(params)
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    write_whole(path, text)
    return True


def check(params: Mapping[str, Any], path: Path) -> None:
    """Bring grid.yaml into step with params.yaml. ValueError if it was not, as DVC has read it already."""
    if refresh(params, path):
        raise ValueError(f"{path.name} now lists the {describe(params)}: run `dvc repro` again")


def describe(params: Mapping[str, Any]) -> str:
    """How many cells which profile has."""
    profile = params["profile"]
    num_cells = len(grid_of(params, profile).cells())
    return f"{num_cells} {'cell' if num_cells == 1 else 'cells'} of profile {profile}"


def grid_text(params: Mapping[str, Any]) -> str:
    """The content of grid.yaml."""
    return "\n".join([HEADER, *_lines(grid_sections(params))]) + "\n"


def grid_sections(params: Mapping[str, Any]) -> Sections:
    """What dvc.yaml loops over: a mapping for the active profile, one for its tasks, one for its cells."""
    profile = params["profile"]
    grid = grid_of(params, profile)
    return {
        "active": {profile: {"profile": profile}},
        "tasks": {f"{profile}-{task}": {"profile": profile, "task": task} for task in grid.tasks()},
        "cells": {
            f"{profile}-{task}-{model}-{seed}": {
                "profile": profile,
                "task": task,
                "model": model,
                "seed": seed,
                "after": compose(params, profile, task, model, "train").get("init_from")
                or f"data/arrays/{profile}/{task}",
            }
            for task, model, seed in grid.cells()
        },
    }


def _lines(sections: Sections) -> Iterator[str]:
    """YAML with an entry a line; quoted, so that no name is taken for a number or a truth value."""
    for name, entries in sections.items():
        yield f"{name}:"
        yield from (f"  {json.dumps(key)}: {json.dumps(item)}" for key, item in entries.items())
