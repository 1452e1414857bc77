"""The `hash_code` stage: the code that a run's training and its scoring depend on, a line per entry and module.

A run uses the modules that its stage imports. Of the dicts of tasks, families, optimisers and so on it uses only the
entries that its settings name, with the modules that define them. DVC compares the files written here, so an entry that
is added or edited repeats only the runs that name it.
"""

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from serrm.config import Params
from serrm.core.files import new_directory
from serrm.core.provenance import hash_module
from serrm.core.settings import KeyOf, Settings
from serrm.planning.imports import PACKAGES, import_closure, sources
from serrm.puzzles.tasks import TASKS
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
# Modules of a task's folder that change a run only through its arrays, or not at all.
DATA_MODULES = ("data", "search", "grade", "canonical", "grammar", "determine", "generate")
# Modules that change scores. They change a training, too, if its task has `right_answers="any"`: halting and the logged
# train_fsr then go by the task's rule instead of the label.
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
    """List the code of a run's training or scoring: a line per entry of a dict, and a line per module with its hash."""
    task = TASKS[run.task]
    entries = dict(_entries("run", run) if stage == "training" else _scoring_entries(run))
    # Stages of all tasks import puzzles.arc through arrays; only runs on ARC-AGI use it, and their record leads to it.
    not_of_stage = (*ENTRY_MODULES, *IGNORED, *IGNORED_IN[stage], "serrm.puzzles.arc")
    modules = import_closure(
        {STAGES[stage], *_modules(entries.values())}, exclude=lambda name: _is_within(name, not_of_stage)
    )
    scores_answers = stage == "scoring" or task.right_answers == "any"
    not_of_task = DATA_MODULES if scores_answers else (*DATA_MODULES, *SCORING_MODULES)

    def is_left_out(name: str) -> bool:
        return _is_within(name, (*ENTRY_MODULES, *IGNORED)) or name.rpartition(".")[2] in not_of_task

    record_modules = {name for name in _modules(vars(task).values()) if not is_left_out(name)}
    modules |= import_closure(record_modules, exclude=is_left_out)
    files = {name: file for module in modules for name, file in sources(module).items()}
    lines = [f"{name}: {describe(value)}" for name, value in entries.items()]
    return lines + [f"{hash_module(files[name])} {name}" for name in sorted(files)]


def describe(entry: Any) -> str:
    """Name an entry of a dict: a function or class, or a named tuple of these and of plain values."""
    if isinstance(entry, tuple):
        return f"{describe(type(entry))}({', '.join(map(describe, entry))})"
    return f"{entry.__module__}.{entry.__qualname__}" if callable(entry) else repr(entry)


def _modules(values: Iterable[Any]) -> set[str]:
    """Find the project's modules that define the functions and classes among the values, and in tuples of these."""
    modules = set[str]()
    for value in values:
        if isinstance(value, tuple):
            modules |= _modules((type(value), *value))
        elif callable(value) and inspect.unwrap(value).__module__.partition(".")[0] in PACKAGES:
            modules.add(inspect.unwrap(value).__module__)
    return modules


def _is_within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _scoring_entries(run: RunSettings) -> Iterator[tuple[str, Any]]:
    yield from _entries("run.model", run.model)
    yield from _entries("run.train.loss", run.train.loss)


def _entries(path: str, settings: Settings) -> Iterator[tuple[str, Any]]:
    """Yield the classes of settings and, where a setting is a key of a dict, its entry, by the path in the settings."""
    yield path, type(settings)
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, Settings):
            yield from _entries(f"{path}.{name}", value)
        for key_of in (mark for mark in field.metadata if isinstance(mark, KeyOf)):
            yield f"{path}.{name}", key_of.known[value]
