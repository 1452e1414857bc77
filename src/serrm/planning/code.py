"""The `hash_code` stage: the code that a run's training and its scoring depend on, a line per part and module.

A run uses the modules that its stage imports, and of the dicts of tasks, families, optimisers and other parts only its
own entries. DVC compares the files written here, so that an entry that is added or edited repeats no run of another.
"""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from serrm.config import Params
from serrm.core.files import hash_file, new_directory
from serrm.core.settings import KeyOf, Settings
from serrm.planning.imports import PACKAGES, reached, sources
from serrm.puzzles.task import Task
from serrm.puzzles.tasks import TASKS
from serrm.training.settings import RunSettings

# The dicts, of which a run has entries.
DICTS = (
    "serrm.puzzles.tasks",
    "serrm.models.families",
    "serrm.models.halting",
    "serrm.models.positions",
    "serrm.training.losses",
    "serrm.training.optimizers",
    "serrm.training.schedules",
)
# What may change without making a result stale.
IGNORED = (
    "serrm.config",  # DVC tracks the values that it reads and composes
    "serrm.tracking",  # MLflow mirrors what a stage writes
    "serrm.puzzles.look",  # pictures
    "serrm.puzzles.raw",  # puzzles before they are arrays, which runs read
    "serrm.puzzles.text",
)
STAGES = {"training": "stages.train", "scoring": "stages.evaluate"}
IGNORED_IN = {"training": (), "scoring": ("serrm.training.optimizer",)}
# Of a task: its fields, and the modules of its folder, that change a run only through its arrays, or not at all.
DATA_FIELDS = (
    *("name", "source", "subset", "make", "published", "mirrored", "in_words", "count", "at_most", "mirror"),
    *("raw_sets", "audit", "recognises", "text", "flaw", "solutions", "exact_method", "caveat", "checkpoint"),
    *("look", "judge", "keys", "samples", "examples", "permuted_note", "names_blanks"),
)
DATA_MODULES = ("data", "search", "grammar", "determine", "generate")
# Those that change scores, and a training only if it takes every right answer for right (`right_answers="any"`).
SCORING_FIELDS = ("verify", "right_answers", "open_cells", "allows", "permuted", "metrics", "criteria")
SCORING_MODULES = ("rules",)


def write_code(params: Params, target: Path) -> None:
    """Write `RUN`.training and `RUN`.scoring of every run to the folder `target`."""
    with new_directory(target) as folder:
        for name in params.runs:
            run = params.train_settings(name)
            for stage in STAGES:
                lines = code(run, stage)
                if stage == "scoring":  # a set that is removed from params.yaml leaves its folder
                    lines.append(f"tests: {', '.join(params.evaluate_settings(name).tests)}")
                (folder / f"{name}.{stage}").write_text("".join(f"{line}\n" for line in lines))


def code(run: RunSettings, stage: str) -> list[str]:
    """The parts of a run that its training or its scoring uses, and the hashes of the modules."""
    record = TASKS[run.kind]
    is_scored = stage == "scoring" or record.right_answers == "any"  # then halting and train_fsr use the rule
    of_task = dict(_fields(record, is_scored))
    of_run = dict(_parts("run", run) if stage == "training" else _scoring_parts(run))
    shared = (*DICTS, *IGNORED, *IGNORED_IN[stage], "serrm.puzzles.arc")
    modules = reached({STAGES[stage], *_modules(of_run)}, lambda name: _is_below(name, shared))
    others = DATA_MODULES if is_scored else (*DATA_MODULES, *SCORING_MODULES)
    modules |= reached(
        {type(record).__module__, *_modules(of_task)},
        lambda name: _is_below(name, (*DICTS, *IGNORED)) or name.rpartition(".")[2] in others,
    )
    files = {name: file for module in modules for name, file in sources(module).items()}
    parts = [f"{name}: {text(value)}" for name, value in (of_task | of_run).items()]
    return parts + [f"{hash_file(files[name])} {name}" for name in sorted(files)]


def text(value: Any) -> str:
    """A value of a part in one line, with the names of the functions and classes that it holds."""
    if value is None or isinstance(value, str | bytes | int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {text(part)}" for key, part in _contents(value)) + "}"
    if isinstance(value, tuple | list) and not hasattr(value, "_asdict"):
        return "[" + ", ".join(map(text, value)) + "]"
    inside = ", ".join(f"{name}={text(part)}" for name, part in _contents(value))
    return f"{_definition(value).__module__}.{_definition(value).__qualname__}" + (inside and f"({inside})")


def _modules(value: Any) -> set[str]:
    """The project's modules that define the functions and classes that a value holds."""
    modules = {name for _, part in _contents(value) for name in _modules(part)}
    name = _definition(value).__module__
    return modules | ({name} if name.partition(".")[0] in PACKAGES else set())


def _definition(value: Any) -> Any:
    """The class or function that a value is, or of which it is one."""
    value = inspect.unwrap(value) if callable(value) else value
    return value if isinstance(value, type) or inspect.isroutine(value) else type(value)


def _contents(value: Any) -> list[tuple[str, Any]]:
    """The values that a value is made of, by name."""
    value = inspect.unwrap(value) if callable(value) else value
    if isinstance(value, type | str):
        return []
    if inspect.isfunction(value):  # what a function that made it gave it
        return [*inspect.getclosurevars(value).nonlocals.items()]
    if inspect.ismethod(value):
        return [("self", value.__self__)]
    if isinstance(value, partial):
        return [("of", value.func), ("arguments", value.args), ("keywords", value.keywords)]
    if is_dataclass(value):
        return [(field.name, getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, np.ndarray):
        return [("numbers", value.tolist())]
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return [*value._asdict().items()]
    if isinstance(value, tuple | list):
        return [(str(index), part) for index, part in enumerate(value)]
    if isinstance(value, Mapping):
        return [(str(key), part) for key, part in value.items()]
    return [*getattr(value, "__dict__", {}).items()]


def _is_below(name: str, places: tuple[str, ...]) -> bool:
    return any(name == place or name.startswith(f"{place}.") for place in places)


def _fields(record: Task, is_scored: bool) -> Iterator[tuple[str, Any]]:
    """The fields of a task that a stage of its runs reads; those of scoring only if the stage scores answers."""
    ignored = DATA_FIELDS if is_scored else (*DATA_FIELDS, *SCORING_FIELDS)
    for field in fields(record):
        if field.name not in ignored:
            yield f"task.{field.name}", getattr(record, field.name)


def _scoring_parts(run: RunSettings) -> Iterator[tuple[str, Any]]:
    yield from _parts("run.model", run.model)
    yield from _parts("run.train.loss", run.train.loss)


def _parts(place: str, settings: Settings) -> Iterator[tuple[str, Any]]:
    """The classes of settings, and the entries of dicts that their values name."""
    yield place, type(settings)
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, Settings):
            yield from _parts(f"{place}.{name}", value)
        for dict_of in (each.known for each in field.metadata if isinstance(each, KeyOf)):
            yield f"{place}.{name}", dict_of[value]
