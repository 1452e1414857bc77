"""The `hash_code` stage: the code that a run's training and its scoring depend on, a line per part and module.

A run uses the modules that its stage imports. Of the dicts of tasks, families, optimisers and so on it uses only the
entries that its settings name, with the modules that define them. DVC compares the files written here, so an entry that
is added or edited repeats only the runs that name it.
"""

import ast
import hashlib
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
from serrm.planning.imports import PACKAGES, import_closure, sources
from serrm.puzzles.task import Task
from serrm.puzzles.tasks import TASKS
from serrm.scoring.metrics import METRICS
from serrm.training.settings import RunSettings

# The modules that import every entry of a dict, so their imports are not followed.
ENTRY_MODULES = ("serrm.puzzles.tasks", "serrm.models.families")
# Modules whose edits repeat no run.
IGNORED = (
    "serrm.config",  # DVC tracks the values that it reads; after an edit of how it composes them: `dvc repro -f`
    "stages.inputs",  # refuses edits, and changes no result
    "serrm.tracking",  # MLflow mirrors what a stage writes
    "serrm.puzzles.look",  # pictures
    "serrm.puzzles.raw",  # raw puzzles; runs read arrays
    "serrm.puzzles.text",
)
STAGES = {"training": "stages.train", "scoring": "stages.evaluate"}
# The closure follows imports inside functions too: the optimisers' `build`, which only training calls, imports these.
IGNORED_IN = {"training": (), "scoring": ("serrm.training.adam_atan2", "serrm.training.muon")}
# Fields of a task's record, and modules of its folder, that change a run only through its arrays, or not at all.
DATA_FIELDS = (
    *(
        "name",
        "source",
        "subset",
        "make",
        "published",
        "mirror_files",
        "in_words",
        "count",
        "at_most",
        "as_mirror",
    ),
    *(
        "raw_sets",
        "audit",
        "grading",
        "recognises",
        "text",
        "flaw",
        "solutions",
        "exact_method",
        "caveat",
        "layout",
        "checkpoint",
    ),
    *(
        "look",
        "judge",
        "keys",
        "samples",
        "examples",
        "permutation_title",
        "permutation_note",
        "names_blanks",
    ),
)
DATA_MODULES = ("data", "search", "grade", "canonical", "grammar", "determine", "generate")
# Fields and modules that change scores. They change a training, too, if its task has `right_answers="any"`: halting and
# the logged train_fsr then go by the task's rule instead of the label.
SCORING_FIELDS = (
    "verify",
    "right_answers",
    "open_cells",
    "allows",
    "has_permutations",
    "curve_metrics",
    "criteria",
)
SCORING_MODULES = ("rules",)


def write_hashes(params: Params, target: Path) -> None:
    """Write the files `RUN`.training and `RUN`.scoring of every run to the folder `target`."""
    with new_directory(target) as folder:
        for name in params.runs:
            run = params.run_settings(name)
            for stage in STAGES:
                lines = used_code(run, stage)
                if stage == "scoring":
                    # If a test set is removed from params.yaml, its folder stays, so only this line tells DVC.
                    lines.append(f"tests: {', '.join(params.scoring_settings(name).tests)}")
                (folder / f"{name}.{stage}").write_text("".join(f"{line}\n" for line in lines))


def used_code(run: RunSettings, stage: str) -> list[str]:
    """The code of a run's training or scoring: a line per entry of a dict, and a line per module with its hash."""
    task = TASKS[run.task]
    scores_answers = stage == "scoring" or task.right_answers == "any"
    task_parts = dict(_task_parts(task, scores_answers))
    run_parts = dict(_entries("run", run) if stage == "training" else _scoring_entries(run))
    # Stages of all tasks import puzzles.arc through arrays; only runs on ARC-AGI use it, and their record leads to it.
    not_of_stage = (*ENTRY_MODULES, *IGNORED, *IGNORED_IN[stage], "serrm.puzzles.arc")
    modules = import_closure(
        {STAGES[stage], *_modules(run_parts)}, exclude=lambda name: _is_within(name, not_of_stage)
    )
    not_of_task = DATA_MODULES if scores_answers else (*DATA_MODULES, *SCORING_MODULES)
    modules |= import_closure(
        {type(task).__module__, *_modules(task_parts)},
        exclude=lambda name: (
            _is_within(name, (*ENTRY_MODULES, *IGNORED)) or name.rpartition(".")[2] in not_of_task
        ),
    )
    files = {name: file for module in modules for name, file in sources(module).items()}
    parts = [f"{name}: {describe(value)}" for name, value in (task_parts | run_parts).items()]
    return parts + [f"{_hash(files[name])} {name}" for name in sorted(files)]


def _hash(file: Path) -> str:
    """The sha256 of a file without its dicts of entries, of which a run's own are `used_code`'s first lines."""
    if file.suffix != ".py" or "= Entries" not in (text := file.read_text(encoding="utf-8")):
        return hash_file(file)
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.value or node).startswith("Entries"):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or 0) - node.lineno + 1)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def describe(value: Any) -> str:
    """A value in one line: numbers and text as such, functions and classes by name, with the values they hold."""
    if value is None or isinstance(value, str | bytes | int | float | range):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {describe(part)}" for key, part in _contents(value)) + "}"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(describe, value))) + "}"
    if isinstance(value, tuple | list) and not hasattr(value, "_asdict"):
        return "[" + ", ".join(map(describe, value)) + "]"
    inside = ", ".join(f"{name}={describe(part)}" for name, part in _contents(value))
    return f"{_definition(value).__module__}.{_definition(value).__qualname__}" + (inside and f"({inside})")


def _modules(value: Any) -> set[str]:
    """The project's modules that define the functions and classes that a value holds."""
    modules = {name for _, part in _contents(value) for name in _modules(part)}
    name = _definition(value).__module__
    return modules | ({name} if name.partition(".")[0] in PACKAGES else set())


def _definition(value: Any) -> Any:
    """The value itself if it is a class or a function, else its class."""
    value = inspect.unwrap(value) if callable(value) else value
    return value if isinstance(value, type) or inspect.isroutine(value) else type(value)


def _contents(value: Any) -> list[tuple[str, Any]]:
    """The values that a value holds, by name: items, fields, arguments, and variables of an enclosing function."""
    value = inspect.unwrap(value) if callable(value) else value
    if isinstance(value, type | str):
        return []
    if inspect.isfunction(value):  # the variables that it takes from the function that made it
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
    if isinstance(value, tuple | list | set | frozenset):
        return [(str(index), part) for index, part in enumerate(value)]
    if isinstance(value, Mapping):
        return [(str(key), part) for key, part in value.items()]
    return [*getattr(value, "__dict__", {}).items()]


def _is_within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _task_parts(task: Task, scores_answers: bool) -> Iterator[tuple[str, Any]]:
    """The fields of a task that a stage of its runs reads; those for scores only if the stage scores answers."""
    ignored = DATA_FIELDS if scores_answers else (*DATA_FIELDS, *SCORING_FIELDS)
    for field in fields(task):
        if field.name not in ignored:
            yield f"task.{field.name}", getattr(task, field.name)


def _scoring_entries(run: RunSettings) -> Iterator[tuple[str, Any]]:
    yield from _entries("run.model", run.model)
    yield from _entries("run.train.loss", run.train.loss)
    yield "metrics", {name: metric for name, metric in METRICS.items() if metric.is_of(run.task)}


def _entries(path: str, settings: Settings) -> Iterator[tuple[str, Any]]:
    """The classes of settings and, where a setting is a key of a dict, its entry, by the path in the settings."""
    yield path, type(settings)
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, Settings):
            yield from _entries(f"{path}.{name}", value)
        for key_of in (mark for mark in field.metadata if isinstance(mark, KeyOf)):
            yield f"{path}.{name}", key_of.known[value]
