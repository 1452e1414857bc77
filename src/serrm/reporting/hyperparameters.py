"""Tables A2 to A4: each cell's resolved settings beside what the paper prints, differences marked.

The settings are those of params.yaml as a cell resolves to, as plain data: of the profile at hand ("here") and at the
paper's scale. What the paper does not print follows in rows of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from serrm.reporting.cells import DASH, NOT_RUN
from serrm.reporting.names import model_name, task_name
from serrm.reporting.paper import HyperparameterTable
from serrm.reporting.plain import DIFFERS, PlainTable
from serrm.reporting.results import Results
from serrm.reporting.setting_words import NAMES, VALUES, Settings, setting

Cell = tuple[str, str]
"""A task and a variant."""

PAPER = "paper"  # the profile with the paper's values
NOTES: Final = (
    f"{DIFFERS.strip()}: not the printed value; where none is printed, not that of the profile named paper.",
    "A dash: not printed, or this kind of model has none. Rows after the positional encoding are not in the paper.",
)


@dataclass(frozen=True)
class CellSettings:
    """Resolved settings of the cells of a profile, and of the same cells at the paper's scale, where known."""

    here: Mapping[Cell, Settings] = field(default_factory=dict)
    at_paper_scale: Mapping[Cell, Settings] = field(default_factory=dict)


@dataclass(frozen=True)
class Variant:
    """One model of a table: what it is called, and its settings here and at the paper's scale."""

    key: str
    name: str
    here: Settings | None
    at_paper_scale: Settings | None
    parameters: int | None


def hyperparameter_table(
    number: str, profile: str, paper: HyperparameterTable, settings: CellSettings, results: Results
) -> PlainTable:
    """One line a hyperparameter; for every model the paper's value, params.yaml's at its scale, and the one here.

    The paper's models come first, "not run" where no cell of the profile has them, then the profile's other variants.
    """
    variants = [_variant(paper.tasks, name, settings, results) for name in _names(paper, settings)]
    width = 1 if profile == PAPER else 2
    header = ["Hyperparameter"]
    for variant in variants:
        scales = ["profile paper", f"profile {profile}"][-width:]
        header += [f"{variant.name}: {scale}" for scale in ("printed", *scales)]
    rows = []
    for key in (*paper.rows, *(key for key in VALUES if key not in paper.rows)):
        printed = dict(zip(paper.columns, paper.rows[key].cells, strict=True)) if key in paper.rows else {}
        name = paper.rows[key].name if key in paper.rows else NAMES[key]
        cells = [text for each in variants for text in _cells(key, printed.get(each.key), each, width)]
        if any(text not in (DASH, NOT_RUN) for text in cells):
            rows.append((name, *cells))
    notes = (*NOTES, *_other_tasks(paper, settings))
    was_run = any(variant.here for variant in variants)
    tasks = " and ".join(map(task_name, paper.tasks))
    caption = f"Training on {tasks} as params.yaml resolves, beside what the paper prints."
    return PlainTable(number, paper.title, caption, tuple(header), tuple(rows), notes, was_run)


def _names(paper: HyperparameterTable, settings: CellSettings) -> list[str]:
    ours = [variant for task, variant in settings.here if task in paper.tasks]
    return list(dict.fromkeys([*paper.columns, *ours]))


def _variant(tasks: Sequence[str], name: str, settings: CellSettings, results: Results) -> Variant:
    """A model on the first of the tasks that has it."""
    task = next((task for task in tasks if (task, name) in settings.here), tasks[0])
    runs = results.get((task, name), [])
    return Variant(
        name,
        model_name(name),
        settings.here.get((task, name)),
        settings.at_paper_scale.get((task, name)),
        runs[0].model_info.parameters if runs else None,
    )


def _cells(key: str, printed: str | None, variant: Variant, width: int) -> list[str]:
    """The printed value, the one at the paper's scale (where it has a column) and the one here."""
    at_scale, here = _ours(key, variant)
    reference = printed or (at_scale if at_scale != DASH else here)
    shown = [at_scale, here][-width:]
    return [printed or DASH, *(_marked(text, reference) for text in shown)]


def _ours(key: str, variant: Variant) -> tuple[str, str]:
    """The value at the paper's scale and the one here; the parameters are counted on the model that was trained."""
    if variant.here is None:
        return DASH, NOT_RUN
    if key == "parameters":
        return DASH, DASH if variant.parameters is None else f"{variant.parameters:,}"
    return setting(key, variant.at_paper_scale), setting(key, variant.here)


def _marked(text: str, reference: str) -> str:
    is_same = text in (reference, DASH, NOT_RUN) or _rounded(text) == reference
    return text if is_same else text + DIFFERS


def _rounded(count: str) -> str:
    """A number of parameters as the paper prints it: 27,275,266 as 27M."""
    digits = count.replace(",", "")
    return f"{round(int(digits) / 1e6)}M" if "," in count and digits.isdigit() else count


def _other_tasks(paper: HyperparameterTable, settings: CellSettings) -> Iterable[str]:
    """Where a second task of the table is trained with something else than the one shown."""
    for name in dict.fromkeys(variant for task, variant in settings.here if task in paper.tasks):
        shown, *others = [task for task in paper.tasks if (task, name) in settings.here]
        for task in others:
            for key in VALUES:
                here, first = (setting(key, settings.here[each, name]) for each in (task, shown))
                if here != first:
                    label = paper.rows[key].name if key in paper.rows else NAMES[key]
                    yield f"On {task_name(task)} {model_name(name)} has another {label.lower()}: {here}."
