"""Write docs/params.md: every key of params.yaml, from the fields of settings and their docstrings.

python docs/params_reference.py           # the same as `make docs`
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from serrm import config
from serrm.core.settings import EntryOf, KeyOf
from serrm.models.families import FAMILIES
from serrm.puzzles.tasks import TASKS

PAGE = Path(__file__).with_name("params.md")
HEAD = """# Reference of params.yaml

Written by `make docs`; do not edit. params.yaml and the files in `profiles/` have this form; machine.yaml explains its
own keys. `profile` names the folders `data/<profile>` and `reports/<profile>`; the other keys are the sections below
and `fidelity` ([its switches](fidelity.md)). A run's name is `<data_set>-<variant>-s<number>`; runs of a variant differ
in the seed alone.
Three levels are merged, and the later one wins: `models.<model>`, `recipes.<data_set>.<model>`, which may hold `model`
and `arrays` too, the `changes` of a run. Keys without a default are required. Names in parentheses are the only models,
sources or tasks that have the key and the keys inside it; `arc_agi_1` stands for `arc_agi_2` too.
"""
TAGS = {  # fields that choose one of several classes, and so have no text in any of them
    "family": "Architecture.",
    "halting.kind": "Random (in the paper SE-RRM) or learned (in the paper HRM and TRM).",
    "loss.kind": "Its key in `LOSSES` ([add one](extend.md#add-a-loss)).",
    "optimizer.kind": "Its key in `OPTIMIZERS` ([add one](extend.md#add-an-optimiser)).",
    "kind": "Where the raw puzzles come from ([sources](data.md#sources)).",
}


def page() -> str:
    """The text of docs/params.md."""
    run, scoring = config.RunSettings.model_fields, config.ScoringSettings.model_fields
    tasks: dict[str, Any] = {}  # without those whose settings another task has
    for name, task in TASKS.items():
        if not any(task.source == other.source for other in tasks.values()):
            tasks[name] = task
    sources = {
        f"{name} {label}": kind
        for name, task in tasks.items()
        for label, kind in by_tag(task.source, "kind").items()
    }
    lines = [HEAD.rstrip()]
    lines += section("Model: `models.<model>`", FAMILIES)
    (recipe,) = classes(run["train"].annotation)
    lines += section("Recipe: `models.<model>.train`, `recipes.<data_set>.<model>`", {"": recipe})
    lines += section("Source: `data_sets.<data_set>.download.source`", sources)
    lines += section(
        "Puzzles: `data_sets.<data_set>.puzzles`", {name: task.subset for name, task in tasks.items()}
    )
    lines += section("Augmentations: `data_sets.<data_set>.arrays`", {"": config.ArraySettings})
    (evaluate,) = classes(scoring["evaluate"].annotation)
    lines += section("Scoring: `data_sets.<data_set>.evaluate`", {"": evaluate})
    lines += section("Further test set: `tests.<name>`", {"": config.FileTests})
    lines += section("Run: `runs.<run>`", {"": config.RunSection})
    return "\n".join(lines) + "\n"


def by_tag(annotation: Any, tag: str) -> dict[str, type[BaseModel]]:
    """The settings classes in an annotation, by the value of their tag field."""
    return {str(get_args(kind.model_fields[tag].annotation)[0]): kind for kind in classes(annotation)}


def section(title: str, kinds: Mapping[str, type[BaseModel]], depth: int = 2) -> Iterator[str]:
    """A heading and a table of the keys of classes. Keys that only some of them have name these."""
    rows: dict[
        tuple[str, str, str], list[tuple[str, str]]
    ] = {}  # by key, default, text: values and who has them
    for label, kind in kinds.items():
        for key, words, default, text in table(kind, "", depth):
            rows.setdefault((key, default, text), []).append((words, label))
    yield from ("", f"## {title}", "", "| key | values (default) | meaning |", "|---|---|---|")
    for (key, default, text), having in rows.items():
        words = ", ".join(dict.fromkeys(word for words, _ in having for word in words.split(", ")))
        labels = list(dict.fromkeys(label for _, label in having))
        is_common = len(labels) == len(kinds) or "." in key  # a key inside another one stands below that one
        only = "" if is_common else f"({', '.join(f'`{label}`' for label in shorten(labels, kinds))}) "
        yield f"| `{key}` | {words}{default and f' ({default})'} | {only}{text} |"


def shorten(labels: list[str], kinds: Mapping[str, type[BaseModel]]) -> Iterator[str]:
    """Replace all the sources of a task, such as `sudoku hub`, by the task."""
    for task in dict.fromkeys(label.partition(" ")[0] for label in labels):
        sources = {label for label in kinds if label.partition(" ")[0] == task}
        yield from [task] if sources <= set(labels) else [label for label in labels if label in sources]


def table(kind: type[BaseModel], parent: str, depth: int) -> Iterator[tuple[str, str, str, str]]:
    """Key, values, default and text of every field of a class, and of the classes inside."""
    for name, field in kind.model_fields.items():
        key = f"{parent}{name}"
        if name == "seed" and "data_set" not in kind.model_fields:
            continue  # data_sets.<data_set>.seed, added to every section
        text = field.description or TAGS.get(key)
        if text is None:
            raise ValueError(f"{key} of {kind.__name__} has no docstring")
        default = field.get_default(call_default_factory=True)
        shown = "" if default is PydanticUndefined or key in TAGS else f"`{plain(default)}`"
        names = ", ".join(f"`{each}`" for each in known(field.metadata))
        words = names if is_name(field) else values(field.annotation, field.metadata)
        yield key, words, shown, " ".join(text.split())
        if depth and not is_name(field):
            for each in dict.fromkeys(known(field.metadata).values() or classes(field.annotation)):
                yield from table(each, f"{key}.", depth - 1)


def known(metadata: Any) -> dict[str, type[BaseModel]]:
    """The settings classes of a field that takes those of one of them, by name."""
    return {name: kind for each in metadata if isinstance(each, EntryOf) for name, kind in each.known.items()}


def is_name(field: FieldInfo) -> bool:
    """True for a field whose value is one of several names, none of which has further settings."""
    kinds = known(field.metadata).values()
    return bool(kinds) and all(kind.model_fields.keys() == {"kind"} for kind in kinds)


def classes(annotation: Any) -> Iterator[type[BaseModel]]:
    """The settings classes in an annotation."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from classes(part)


def values(annotation: Any, metadata: Any = ()) -> str:
    """The values that a field takes, in words."""
    parts = get_args(annotation)
    if get_origin(annotation) is Literal:
        text = ", ".join(f"`{part}`" for part in parts)
    elif get_origin(annotation) is tuple:
        text = "list of " + re.sub(r"\b(integer|number|mapping)\b", r"\1s", values(parts[0]))
    elif get_origin(annotation) is dict or list(classes(annotation)):
        return "mapping"
    elif hasattr(annotation, "__metadata__"):
        text = values(parts[0], annotation.__metadata__)
    elif parts:
        text = ", ".join(values(part, metadata) for part in parts if part is not NoneType)
        return text + ", null" * (NoneType in parts)
    else:
        text = {int: "integer", float: "number", bool: "true, false"}.get(annotation, "text")
        text = next(
            (", ".join(f"`{key}`" for key in each.known) for each in metadata if isinstance(each, KeyOf)),
            text,
        )
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    pairs = [(sign, getattr(each, name, None)) for name, sign in signs.items() for each in metadata]
    bounds = [(sign, bound) for sign, bound in pairs if isinstance(bound, int | float)]
    if (">", 0) in bounds:
        text, bounds = f"positive {text}", [pair for pair in bounds if pair != (">", 0)]
    return " ".join([text, *(f"{sign} {bound:g}" for sign, bound in bounds)])


def plain(value: Any) -> str:
    """A default as YAML shows it."""
    if isinstance(value, BaseModel):
        return plain(value.model_dump())
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"[{', '.join(map(plain, value))}]" if isinstance(value, tuple) else str(value)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
