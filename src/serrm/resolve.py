"""From params.yaml to one settings file a cell: base variant, then profile, then the variant's own keys.

Precedence, weakest first: the base's entry, the recipe of (task, base), the profile's values and recipe for the
family, the variant's own keys and recipe, the profile's values and recipe for the variant; a variant of a variant
goes on in that way. So a profile makes every variant of a family small, and a variant still differs in what it is
about. How long to train is the profile's to say. What params.yaml says of `arc_agi` holds for both sets.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from serrm.arrays.settings import ArraySettings
from serrm.config import parse
from serrm.datasets.settings import AUGMENT
from serrm.describe import TASKS
from serrm.files import write_whole
from serrm.grid import Grid
from serrm.inference.settings import EvaluateCell, ScoringFidelity
from serrm.sources.settings import DOWNLOAD
from serrm.training.settings import Fidelity, TrainCell

Tree = Mapping[str, Any]
PAPER = "paper"
# Keys whose difference is no deviation from the recipe; epochs and steps are told as optimiser steps.
UNREMARKABLE = ("seed", "log_every", "snapshots", "compile", "epochs", "steps")
LENGTH = ("epochs", "steps")
NESTED = ("train", "fidelity", "arrays")  # sections of a variant's entry beside its model's keys
SHIFTABLE = ("trm", "hrm")  # families with a prefix, which the published RoPE2D forgets


def resolve(params: Tree, profile: str) -> dict[str, BaseModel]:
    """The settings of every stage and cell of a profile, by file name without suffix.

    Raises ValueError naming the key of a value that is missing, unknown or out of range.
    """
    grid = parse(Grid, entry(params, "profiles", profile, "grid"), f"profiles.{profile}.grid")
    files: dict[str, BaseModel] = {"tabulate": grid}
    for task in grid.tasks():
        data, where = of_task(params, task, "profiles", profile, "data"), f"profiles.{profile}.data.{task}"
        seed = data.get("seed", 0)
        kinds: list[type[BaseModel]] = [DOWNLOAD[task], AUGMENT[task], ArraySettings]
        for name, kind in zip(("download", "augment", "arrays"), kinds, strict=True):
            values = entry(data, name, where=where)
            files[f"{name}/{task}"] = parse(kind, {**values, "seed": seed}, f"{where}.{name}")
    for task, variant, run in grid.cells():
        cell = train_cell(params, profile, task, variant, run)
        files[f"train/{cell.name}"] = cell
        files[f"evaluate/{cell.name}"] = evaluate_cell(params, profile, cell)
    return files


def train_cell(params: Tree, profile: str, task: str, variant: str, seed: int) -> TrainCell:
    """What one training resolves to."""
    data = of_task(params, task, "profiles", profile, "data")
    model = compose(params, profile, task, variant, "model")
    fidelity = _fidelity(params, profile, task, variant).model_dump(include=set(Fidelity.model_fields))
    can_shift = model.get("positions") == "rope2d" and model.get("family") in SHIFTABLE
    if can_shift and fidelity.get("shifted_rope2d"):
        model["positions"] = "rope2d_shifted"
    values = {
        "task": task,
        "variant": variant,
        "seed": seed,
        "model": model,
        "train": compose(params, profile, task, variant, "train"),
        "fidelity": fidelity,
        "arrays": {
            **data["arrays"],
            **compose(params, profile, task, variant, "arrays"),
            "seed": data.get("seed", 0),
        },
    }
    return parse(TrainCell, values, f"{profile}.{task}.{variant}")


def evaluate_cell(params: Tree, profile: str, cell: TrainCell) -> EvaluateCell:
    """What one evaluation resolves to."""
    data = of_task(params, cell.task, "profiles", profile, "data")
    values = {
        "task": cell.task,
        "variant": cell.variant,
        "seed": cell.seed,
        "evaluate": of_task(params, cell.task, "profiles", profile, "evaluate"),
        "fidelity": _fidelity(params, profile, cell.task, cell.variant),
        "source": TASKS[cell.task].source(data["download"]["source"], data["augment"]),
    }
    return parse(EvaluateCell, values, f"{profile}.{cell.task}.{cell.variant}")


def _fidelity(params: Tree, profile: str, task: str, variant: str) -> ScoringFidelity:
    """The faults that are switched on in a cell."""
    values = {
        **params["fidelity"],
        **params["profiles"][profile].get("fidelity", {}),
        **compose(params, profile, task, variant, "fidelity"),
    }
    return parse(ScoringFidelity, values, f"{profile}.{task}.{variant}.fidelity")


def compose(params: Tree, profile: str, task: str, variant: str, section: str) -> dict[str, Any]:
    """The `model`, `train`, `fidelity` or `arrays` values of a cell, laid over one another in the module's order."""
    names, recipes = lineage(params, variant), of_task(params, task, "recipe")
    entry(recipes, names[0], where=f"recipe.{task}")
    family = entry(params, "model", names[0]).get("family", names[0])
    layers: list[Tree] = []
    of_profile: list[Tree] = []
    for name, known_as in zip(names, [family, *names[1:]], strict=True):
        lengths = [{key: layer[key] for key in LENGTH if key in layer} for layer in of_profile]
        overrides = _overrides(params, profile, task, known_as, section)
        layers += [_own(params, name, section), recipes.get(name, {}).get(section, {}), *lengths, *overrides]
        of_profile += overrides
    return {key: value for layer in layers for key, value in layer.items()}


def lineage(params: Tree, variant: str) -> list[str]:
    """A variant behind all that it is based on, the base of all first."""
    names = [variant]
    while (base := entry(params, "model", names[0]).get("based_on")) is not None:
        if base in names:
            raise ValueError(f"model.{names[0]}.based_on: {base!r} is itself based on {names[0]!r}")
        names.insert(0, base)
    return names


def deviations(params: Tree, profile: str, cell: TrainCell) -> Iterator[str]:
    """Sentences that say where a cell differs from the same cell at the paper's scale, and where that departs."""
    if profile == PAPER:
        yield from TASKS[cell.task].departures(cell, _fidelity(params, profile, cell.task, cell.variant))
        return
    paper, num_papers = paper_cell(params, cell), TASKS[cell.task].paper_examples
    if paper is None or num_papers is None:
        return
    for section in ("model", "train", "arrays"):
        ours, theirs = getattr(cell, section).model_dump(), getattr(paper, section).model_dump()
        for key, value in ours.items():
            if key not in UNREMARKABLE and value != theirs.get(key):
                yield f"{key.replace('_', ' ')} {_say(value)} (paper: {_say(theirs.get(key))})"
    steps = cell.train.num_steps(_num_examples(params, profile, cell.task) or num_papers)
    yield f"optimiser steps {steps:,} (paper: {paper.train.num_steps(num_papers):,})"


def paper_cell(params: Tree, cell: TrainCell) -> TrainCell | None:
    """The same cell at the paper's scale; None where the paper does not have its task."""
    if TASKS[cell.task].paper_examples is None:
        return None
    return train_cell(params, PAPER, cell.task, cell.variant, cell.seed)


def write(files: Mapping[str, BaseModel], target: Path) -> None:
    """Write every settings file as JSON under `target`."""
    for name, settings in files.items():
        path = target / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, as_text(settings))


def as_text(settings: BaseModel) -> str:
    """The content of a settings file."""
    return json.dumps(settings.model_dump(mode="json"), indent=2, sort_keys=True) + "\n"


def entry(tree: Tree, *keys: str, where: str = "") -> Any:
    """tree[k₁][k₂]…; ValueError naming the missing key in full, behind `where` the tree itself stands."""
    for depth, key in enumerate(keys):
        if not isinstance(tree, Mapping) or key not in tree:
            missing = ".".join([*([where] if where else []), *keys[: depth + 1]])
            raise ValueError(f"params.yaml: {missing} is missing")
        tree = tree[key]
    return tree


def of_task(params: Tree, task: str, *keys: str) -> Any:
    """What a section says of a task, or of the group of tasks that it belongs to."""
    section = entry(params, *keys)
    group = section_of(task)
    return entry(section, task if task in section or group not in section else group, where=".".join(keys))


def section_of(task: str) -> str:
    """The name under which params.yaml speaks of a task, or of the group that it belongs to."""
    described = TASKS.get(task)
    return described.section or task if described else task


def _own(params: Tree, name: str, section: str) -> Tree:
    """What a variant's entry says of a section: its model keys stand bare, the other sections under their name."""
    own: Tree = entry(params, "model", name)
    if section == "model":
        return {key: value for key, value in own.items() if key not in ("based_on", *NESTED)}
    nested: Tree = own.get(section, {})
    return nested


def _overrides(params: Tree, profile: str, task: str, name: str, section: str) -> list[Tree]:
    """What a profile lays over a family or variant: of any task, then of this one."""
    of_profile = entry(params, "profiles", profile)
    values = of_profile.get("model", {}).get(name, {}) if section == "model" else {}
    recipes = of_profile.get("recipe", {})
    recipe = recipes.get(task, recipes.get(section_of(task), {}))
    return [values, recipe.get(name, {}).get(section, {})]


def _num_examples(params: Tree, profile: str, task: str) -> int | None:
    """Training examples of a profile, if params.yaml tells."""
    data = of_task(params, task, "profiles", profile, "data")
    drawn: int | None = None if TASKS[task].has_pairs else data["augment"]["num_train"]
    return drawn or data["download"]["source"].get("num_train")


def _say(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return "none" if value is None else str(value)
