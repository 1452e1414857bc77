"""From params.yaml to one settings file a cell: base variant, then profile, then the variant's own keys.

Precedence, weakest first: the base's entry, the recipe of (task, base), the profile's values for the family, the
variant's own keys and recipe, the profile's values for the variant. So a profile makes every variant
of a family small, and a variant still differs in what it is about. How long to train is the profile's to say.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from serrm.config import (
    ArraySettings,
    DownloadSettings,
    EvaluateCell,
    Grid,
    SubsetSettings,
    TrainCell,
    parse,
)
from serrm.models.settings import Settings

Tree = Mapping[str, Any]
PAPER = "paper"
# Keys whose difference is no deviation from the recipe; epochs and steps are told as optimiser steps.
UNREMARKABLE = ("seed", "log_every", "snapshots", "prebuilt", "compile", "epochs", "steps")
PAPER_PUZZLES = {"sudoku": 1000}
LENGTH = ("epochs", "steps")
SHIFTABLE = ("trm", "hrm")  # families with a prefix, which the published RoPE2D forgets


def resolve(params: Tree, profile: str) -> dict[str, Settings]:
    """The settings of every stage and cell of a profile, by file name without suffix.

    Raises ValueError naming the key of a value that is missing, unknown or out of range.
    """
    grid = parse(Grid, {key: params[key] for key in ("tasks", "models", "seeds")}, "params")
    files: dict[str, Settings] = {"tabulate": grid}
    for task in grid.tasks:
        data, where = entry(params, "profiles", profile, "data", task), f"profiles.{profile}.data.{task}"
        seed = data.get("seed", 0)
        for name, kind in (
            ("download", DownloadSettings),
            ("augment", SubsetSettings),
            ("arrays", ArraySettings),
        ):
            values = entry(params, "profiles", profile, "data", task, name)
            files[f"{name}/{task}"] = parse(kind, {**values, "seed": seed}, f"{where}.{name}")
    for task, variant, run in grid.cells():
        cell = train_cell(params, profile, task, variant, run)
        files[f"train/{cell.name}"] = cell
        files[f"evaluate/{cell.name}"] = evaluate_cell(params, profile, cell)
    return files


def train_cell(params: Tree, profile: str, task: str, variant: str, seed: int) -> TrainCell:
    """What one training resolves to."""
    data = entry(params, "profiles", profile, "data", task)
    model = compose(params, profile, task, variant, "model")
    fidelity = {
        **params["fidelity"],
        **params["profiles"][profile].get("fidelity", {}),
        **compose(params, profile, task, variant, "fidelity"),
    }
    if (
        model.get("positions") == "rope2d"
        and model.get("family") in SHIFTABLE
        and fidelity.get("shifted_rope2d")
    ):
        model["positions"] = "rope2d_shifted"
    values = {
        "task": task,
        "variant": variant,
        "seed": seed,
        "model": model,
        "train": compose(params, profile, task, variant, "train"),
        "fidelity": fidelity,
        "arrays": {**data["arrays"], "seed": data.get("seed", 0)},
    }
    return parse(TrainCell, values, f"{profile}.{task}.{variant}")


def evaluate_cell(params: Tree, profile: str, cell: TrainCell) -> EvaluateCell:
    """What one evaluation resolves to."""
    values = {
        "task": cell.task,
        "variant": cell.variant,
        "seed": cell.seed,
        "evaluate": entry(params, "profiles", profile, "evaluate", cell.task),
        "fidelity": cell.fidelity,
        "source": _describe_source(entry(params, "profiles", profile, "data", cell.task)),
        "deviations": tuple(deviations(params, profile, cell)),
    }
    return parse(EvaluateCell, values, f"{profile}.{cell.task}.{cell.variant}")


def compose(params: Tree, profile: str, task: str, variant: str, section: str) -> dict[str, Any]:
    """The `model`, `train` or `fidelity` values of a cell, laid over one another in the module's order."""
    base = entry(params, "model", variant).get("based_on", variant)
    if "based_on" in entry(params, "model", base):
        raise ValueError(f"model.{variant}.based_on: {base!r} is itself based on another variant")
    family = entry(params, "model", base).get("family", base)
    recipes, overrides = entry(params, "recipe", task), _overrides(params, profile, task, section)
    layers = [
        _own(params, base, section),
        entry(params, "recipe", task, base).get(section, {}),
        overrides.get(family, {}),
    ]
    if variant != base:
        layers += [
            _own(params, variant, section),
            recipes.get(variant, {}).get(section, {}),
            {key: value for key, value in overrides.get(family, {}).items() if key in LENGTH},
            overrides.get(variant, {}),
        ]
    return {key: value for layer in layers for key, value in layer.items()}


def deviations(params: Tree, profile: str, cell: TrainCell) -> Iterator[str]:
    """Sentences that say where a cell differs from the same cell at the paper's scale."""
    if profile == PAPER:
        return
    paper = train_cell(params, PAPER, cell.task, cell.variant, cell.seed)
    for section in ("model", "train", "arrays"):
        ours, theirs = getattr(cell, section).model_dump(), getattr(paper, section).model_dump()
        for key, value in ours.items():
            if key not in UNREMARKABLE and value != theirs.get(key):
                yield f"{key.replace('_', ' ')} {_say(value)} (paper: {_say(theirs.get(key))})"
    steps, puzzles = cell.train.num_steps(_num_puzzles(params, profile, cell.task)), PAPER_PUZZLES[cell.task]
    yield f"optimiser steps {steps:,} (paper: {paper.train.num_steps(puzzles):,})"


def write(files: Mapping[str, Settings], target: Path) -> None:
    """Write every settings file as JSON under `target`."""
    for name, settings in files.items():
        path = target / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # never write through a link into DVC's cache
        path.write_text(json.dumps(settings.model_dump(mode="json"), indent=2, sort_keys=True) + "\n")


def entry(tree: Tree, *keys: str) -> Any:
    """tree[k₁][k₂]…; ValueError naming the missing key in full."""
    for depth, key in enumerate(keys):
        if not isinstance(tree, Mapping) or key not in tree:
            raise ValueError(f"params.yaml: {'.'.join(keys[: depth + 1])} is missing")
        tree = tree[key]
    return tree


def _own(params: Tree, name: str, section: str) -> Tree:
    """What a variant's entry says of a section: its model keys stand bare, `train` and `fidelity` under their name."""
    own: Tree = entry(params, "model", name)
    if section == "model":
        return {key: value for key, value in own.items() if key not in ("based_on", "train", "fidelity")}
    nested: Tree = own.get(section, {})
    return nested


def _overrides(params: Tree, profile: str, task: str, section: str) -> Tree:
    by_section = entry(params, "profiles", profile).get(section, {})
    if section == "fidelity":
        return {}
    chosen: Tree = by_section if section == "model" else by_section.get(task, {})
    return chosen


def _num_puzzles(params: Tree, profile: str, task: str) -> int:
    """Training puzzles of a profile, as far as params.yaml tells."""
    data = entry(params, "profiles", profile, "data", task)
    return int(
        data["augment"]["num_train"] or data["download"]["source"].get("num_train", PAPER_PUZZLES[task])
    )


def _describe_source(data: Tree) -> str:
    source = data["download"]["source"]
    if source["kind"] == "generated":
        least, most = source["clues"]
        return f"generated 9×9 puzzles with {least} to {most} clues and one solution"
    return {"mirror": "published puzzles from a local mirror", "hub": "published puzzles"}[source["kind"]]


def _say(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return "none" if value is None else str(value)
