"""params.yaml and its sections, frozen and typed: the only module that reads it. What a section holds, its room says.

The `resolve` stage composes what every cell of the grid needs (base variant, recipe, profile) and writes one
JSON file a cell; DVC tracks those files, so a cell re-runs exactly when a value it resolves to has changed.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, Field, NonNegativeInt, ValidationError, model_validator

from serrm.grid import Block, Grid
from serrm.settings import Settings
from serrm.sources.settings import DOWNLOAD

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]  # stages of DVC and files are called after it
T = TypeVar("T", bound=BaseModel)
Values = dict[str, Any]  # checked where they are used, once a cell is composed of them


class VariantSection(BaseModel, extra="allow"):
    """An entry of `model`: settings of a family, or what a variant changes in the entry it is based on."""

    family: str | None = None
    based_on: str | None = None


class RecipeSection(Settings):
    """What a task changes in a model, and how the pair is trained."""

    model: Values = Field(default={})
    train: Values = Field(default={})
    fidelity: Values = Field(default={})
    arrays: Values = Field(default={})


class DataSection(Settings):
    """A task's data in one profile."""

    seed: NonNegativeInt = 0
    download: Values
    augment: Values
    arrays: Values


class ProfileSection(Settings):
    """What a profile runs, where its puzzles come from, how they are scored, what it lays over models and recipes."""

    grid: Grid
    data: dict[str, DataSection]
    model: dict[str, Values] = Field(default={})
    recipe: dict[str, dict[str, RecipeSection]] = Field(default={})
    evaluate: dict[str, Values]
    fidelity: Values = Field(default={})


class Params(Settings):
    """The sections of params.yaml: a misspelt name is an error wherever it stands."""

    profile: str
    execution: Values
    fidelity: Values
    model: dict[Name, VariantSection]
    recipe: dict[str, dict[str, RecipeSection]]
    profiles: dict[Name, ProfileSection]

    @model_validator(mode="after")
    def _names_are_known(self) -> "Params":
        if self.profile not in self.profiles:
            raise ValueError(f"profile: {self.profile!r} is none of {', '.join(self.profiles)}")
        for where, block in self._blocks():
            for task in block.tasks:
                if task not in DOWNLOAD:
                    raise ValueError(f"{where}.tasks: {task!r} is none of {', '.join(DOWNLOAD)}")
        for where, names in self._names_of_models():
            for name in names:
                if name not in self.model:
                    raise ValueError(f"{where}: {name!r} is no entry of model")
        return self

    def _names_of_models(self) -> Iterator[tuple[str, Iterable[str]]]:
        yield from ((f"{where}.models", block.models) for where, block in self._blocks())
        for task, recipes in self.recipe.items():
            yield f"recipe.{task}", recipes
        for profile, section in self.profiles.items():
            yield f"profiles.{profile}.model", section.model
            for task, recipes in section.recipe.items():
                yield f"profiles.{profile}.recipe.{task}", recipes

    def _blocks(self) -> Iterator[tuple[str, Block]]:
        for profile, section in self.profiles.items():
            for number, block in enumerate(section.grid.root):
                yield f"profiles.{profile}.grid.{number}", block


def grid_of(params: Mapping[str, Any], profile: str) -> Grid:
    """The cells that a profile runs."""
    return parse(Grid, params["profiles"][profile]["grid"], f"profiles.{profile}.grid")


def read_params(path: Path) -> Values:
    """params.yaml as plain data. ValueError naming the key of a section that is missing, unknown or misplaced."""
    try:
        params = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    parse(Params, params, path.stem)
    assert isinstance(params, dict)
    return params


def write_params(path: Path, params: Mapping[str, Any]) -> None:
    """Write params.yaml from plain data."""
    path.write_text(yaml.safe_dump(dict(params), sort_keys=False))


def read_section(kind: type[T], path: Path, name: str) -> T:
    """A section of params.yaml alone, such as the execution, which the stages that compute read at run time."""
    return parse(kind, read_params(path)[name], name)


def parse(kind: type[T], data: object, where: str) -> T:
    """Validate `data`; a ValueError of one line names the first offending key, such as model.se_rrm.width."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join([where, *map(str, first["loc"])])
        message = first["msg"].removeprefix("Value error, ")
        is_telling = first["type"] != "missing" and not isinstance(first["input"], dict | list)
        value = f" (got {first['input']!r})" if is_telling else ""
        raise ValueError(f"{key}: {message}{value}") from error


def pipeline_commands(path: Path) -> dict[str, tuple[str, str]]:
    """The stages of dvc.yaml in its order: by name, the section of grid.yaml they loop over, and their command."""
    stages = yaml.safe_load(path.read_text())["stages"]
    return {name: (stage["foreach"], stage["do"]["cmd"]) for name, stage in stages.items()}


def locked_md5s(lock: Path) -> dict[str, str]:
    """The hashes that dvc.lock holds of the inputs of stages, by path; empty without a lock."""
    stages = (yaml.safe_load(lock.read_text()) if lock.is_file() else {}).get("stages", {})
    inputs = (each for stage in stages.values() for each in stage.get("deps", ()))
    return {each["path"]: str(each["md5"]) for each in inputs if "md5" in each}


def read_cell(kind: type[T], path: Path) -> T:
    """A resolved settings file written by the resolve stage."""
    return parse(kind, json.loads(path.read_text()), path.stem)
