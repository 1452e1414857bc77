"""The stages of a profile and their order, read from dvc.yaml: its loops over params.yaml, dependencies and outputs."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from serrm.config import Params, read_yaml
from serrm.core.project import PIPELINE

LOOP = re.compile(r"\$\{(data_sets|tests|runs)\}")
REFERENCE = re.compile(r"\$\{([\w.]+)\}")  # such as ${item.data_set}


class Stage(NamedTuple):
    """A stage for one entry of its loop."""

    stage: str
    """Its name in dvc.yaml, such as train."""
    section: str
    """The section of params.yaml over which it loops: data_sets, tests or runs; empty without a loop."""
    key: str
    """The entry of that section, such as sudoku-trm-s0; empty without a loop."""
    after: frozenset[str]
    """DVC's names of the stages that write what it reads, such as build_arrays@sudoku."""


def stages_of_pipeline(root: Path, params: Params) -> dict[str, Stage]:
    """List all stages of a profile by DVC's names, such as train@sudoku-trm-s0, in the order of dvc.yaml.

    Stages of the user's own, with other commands or other loops such as `matrix`, are left out.
    """
    values = params.model_dump(mode="json")
    stages, reads, writer = dict[str, tuple[str, str, str]](), dict[str, list[str]](), dict[str, str]()
    for stage, settings in read_yaml(root / PIPELINE)["stages"].items():
        body = settings.get("do", settings)
        section, entries = find_loop(settings, values)
        if not is_of_project(stage, settings):
            continue
        for key, item in entries.items():
            name = f"{stage}@{key}" if key else stage
            references = {"profile": params.profile, "key": key, "item": item}
            stages[name] = stage, section, key
            reads[name] = resolve(body.get("deps", ()), references)
            outputs = [path for kind in ("outs", "metrics", "plots") for path in body.get(kind, ())]
            writer |= dict.fromkeys(resolve(outputs, references), name)
    below: dict[str, set[str]] = {}
    for path, name in writer.items():
        for folder in (path, *map(str, Path(path).parents)):
            below.setdefault(folder, set()).add(name)

    def writers(path: str) -> set[str]:
        """Find the stages with an output that is the path, contains it or lies in it."""
        return below.get(path, set()) | {
            writer[folder] for folder in map(str, Path(path).parents) if folder in writer
        }

    return {
        name: Stage(*stage, frozenset(before for path in reads[name] for before in writers(path)))
        for name, stage in stages.items()
    }


def is_of_project(stage: str, settings: Mapping[str, Any]) -> bool:
    """Tell stages of this project from a user's, by their commands in dvc.yaml."""
    command = settings.get("do", settings).get("cmd")
    return str(command).startswith(f"python -m stages {stage}")


def find_loop(settings: Mapping[str, Any], values: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Find the section over which a stage loops, and its entries; without a loop one entry without a name."""
    if "matrix" not in settings and "foreach" not in settings:
        return "", {"": {}}
    match = LOOP.fullmatch(str(settings.get("foreach")))
    return (match[1], values[match[1]]) if match else ("", {})


def resolve(entries: Iterable[str | Mapping[str, Any]], values: Mapping[str, Any]) -> list[str]:
    """List keys or paths of a stage, texts or mappings of one key, with their references replaced."""

    def value_of(reference: re.Match[str]) -> str:
        value = value_at(values, reference[1])
        return reference[0] if value is None else str(value)

    texts = [entry if isinstance(entry, str) else next(iter(entry)) for entry in entries]
    return [REFERENCE.sub(value_of, text) for text in texts]


def value_at(values: Any, key: str) -> Any:
    """Find the value at a key such as `runs.NAME`; None if there is none."""
    for name in key.split("."):
        values = values.get(name) if isinstance(values, Mapping) else None
    return values
