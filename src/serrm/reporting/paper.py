"""The paper's tables and claims as data (paper.yaml), its names, and differences of settings from the paper's."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from serrm.inference.settings import HEADLINE_STEPS
from serrm.models.families import FAMILIES
from serrm.puzzles.tasks import TASKS

DASH: Final = "—"  # no number: not run here, or not in the paper
# Colours of Okabe and Ito, which all common kinds of colour vision tell apart, and markers for print in grey. STYLES
# are those of the families in order, repeated if there are more families; OTHER is that of all other runs.
COLOURS: Final = ("#009e73", "#0072b2", "#d55e00", "#e69f00", "#56b4e9", "#000000")
STYLES: Final = tuple(zip(COLOURS, "^sovPX", strict=True))
OTHER: Final = ("#cc79a7", "D")
PRINTED = re.compile(r"(?P<value>[\d.]+)(?: \((?P<lo>[\d.]+)-(?P<hi>[\d.]+)\))?")

IntervalKind = Literal["wilson", "rounded_down", "continuity", "blank_cells"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PaperEntry(_Frozen):
    """One number of a table as printed, in percent, or the words that the paper prints instead of a number."""

    printed: str = Field(default="", pattern=rf"^({PRINTED.pattern})?$")
    words: str = ""
    quoted: bool = False
    num: int | None = None
    interval: IntervalKind | None = None
    variant: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, entry: Any) -> Any:
        return {"printed": entry} if isinstance(entry, str) else entry

    @property
    def numbers(self) -> tuple[str, ...]:
        """The value and the two ends of its interval, if there is one, as printed; empty if there is no number."""
        match = PRINTED.fullmatch(self.printed)
        return tuple(text for text in match.groups() if text) if match else ()


class Blanks(_Frozen):
    """The paper's mean number of blanks in a puzzle."""

    num: int
    is_exact: bool = False

    def __str__(self) -> str:
        """Such as "about 56"."""
        return str(self.num) if self.is_exact else f"about {self.num}"


class PaperColumn(_Frozen):
    """A column: its heading, the paper's number of puzzles, and the task, set, metric and steps of our score.

    The head of paper.yaml explains `takes_other_sizes`, `interval` and `unpublished`.
    """

    group: str
    name: str
    task: str
    set: str
    takes_other_sizes: bool = False
    metric: str
    steps: int = HEADLINE_STEPS
    num: int
    interval: IntervalKind | None = None
    side: int | None = None
    blanks: Blanks | None = None
    unpublished: bool = False


class PaperRow(_Frozen):
    """A model with its numbers by column."""

    name: str
    attributes: tuple[str, ...] = ()
    variant: str
    entries: dict[str, PaperEntry]

    def variant_of(self, column: str) -> str:
        """The variant of an entry: the entry's if it names one, else the row's."""
        entry = self.entries.get(column)
        return entry.variant if entry and entry.variant else self.variant


class ScoreTable(_Frozen):
    """A table of results; `remarks` are about the numbers as printed."""

    title: str
    caption: str
    attributes: tuple[str, ...] = ()
    columns: dict[str, PaperColumn]
    rows: tuple[PaperRow, ...]
    remarks: tuple[str, ...] = ()


class Check(_Frozen):
    """A comparison of ours that tests a part of a claim, in words: a rule of `serrm.reporting.claims` on scores."""

    rule: str
    words: str = ""
    models: tuple[str, ...] = ("se_rrm", "trm", "hrm")
    tasks: tuple[str, ...] = ("sudoku",)
    metric: str = "fsr"
    set: str | None = None
    number: float = 0.0
    all_data_sets: bool = False
    """Also on every further data set of the task on which all of the models ran, one part each."""


class PaperClaim(_Frozen):
    """A claim of the paper in words, its numbers and its section, and our checks.

    `why_untested` says what would be needed to test a claim that has no checks.
    """

    says: str
    paper: str
    section: str
    checks: tuple[Check, ...] = ()
    why_untested: str = ""


class Paper(_Frozen):
    """All tables by their number in the paper, and the claims."""

    score_tables: dict[str, ScoreTable]
    claims: dict[str, PaperClaim]


@cache
def load_paper() -> Paper:
    """The paper's numbers, from the packaged paper.yaml."""
    text = files("serrm.reporting").joinpath("paper.yaml").read_text(encoding="utf-8")
    return Paper.model_validate(yaml.safe_load(text))


def task_name(task: str) -> str:
    """The name of a task; a data set that is not named after a task keeps its name."""
    return TASKS[task].name if task in TASKS else task


def model_name(variant: str) -> str:
    """The paper's name of a model of its table 1; any other variant keeps its name."""
    names = {row.variant: row.name for row in load_paper().score_tables["1"].rows}
    return names.get(variant, variant)


def style(model: str) -> tuple[str, str]:
    """Colour and marker in figures and MLflow: a family's, by its key or its name in tables, else those of OTHER."""
    families = [model_name(family) for family in FAMILIES]
    name = model_name(model)
    return STYLES[families.index(name) % len(STYLES)] if name in families else OTHER


def set_name(name: str) -> str:
    """A set's name in tables: its size, such as 9×9, or the name with hyphens."""
    return name.replace("x", "×") if name[:1].isdigit() else name.replace("_", "-")


ComposedSettings = Mapping[str, Any]
"""The composed settings of a run: `task`, `variant`, and the sections `model`, `train`, `arrays`, `fidelity`."""
HALTING: Final = ("train", "halting kind")
# Keys that are not listed as differences: the seed, what changes no result, and epochs and steps, which are compared as
# optimiser steps.
NOT_LISTED: Final = ("seed", "log_every", "snapshots", "compile", "epochs", "steps")


class Setting(NamedTuple):
    """A setting that differs between a run and profile `paper`'s run of its family, with both values as text."""

    name: str
    run: str
    paper: str

    def __str__(self) -> str:
        """Such as "halting probability 0.2 instead of 0.05"."""
        return f"{self.name} {self.run} instead of {self.paper}"


def differences(run: ComposedSettings, paper: ComposedSettings, num_examples: int) -> list[Setting]:
    """Differences of a run's settings from those of profile `paper`.

    `num_examples` are those of an epoch of the paper.
    """
    run_values, paper_values = dict(_flat(run)), dict(_flat(paper))
    train, paper_train = run["train"], paper["train"]
    if train["steps"]:
        paper_steps = paper_train["epochs"] * num_examples // paper_train["batch_size"]
        run_values["", "optimiser steps"] = _setting_text(train["steps"])
        paper_values["", "optimiser steps"] = _setting_text(paper_steps)
    else:
        run_values["", "epochs"] = _setting_text(train["epochs"])
        paper_values["", "epochs"] = _setting_text(paper_train["epochs"])
    if run_values.get(HALTING) != paper_values.get(HALTING):  # rules of two kinds have no settings in common
        run_values, paper_values = _with_halting_in_one(run_values), _with_halting_in_one(paper_values)
    settings = [
        Setting(key[1], run_values.get(key, "none"), paper_values.get(key, "none"))
        for key in run_values | paper_values
    ]
    return [setting for setting in settings if setting.run != setting.paper]


def _with_halting_in_one(values: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """Values in which the halting rule is one setting, such as "random, probability 0.2"."""
    rule = {
        name.removeprefix("halting "): value
        for (_, name), value in values.items()
        if name.startswith("halting ")
    }
    if not rule:
        return dict(values)
    kind, details = rule.pop("kind", "none"), ", ".join(f"{name} {value}" for name, value in rule.items())
    rest = {key: value for key, value in values.items() if not key[1].startswith("halting ")}
    return rest | {("train", "halting"): f"{kind}, {details}" if details else kind}


def _flat(settings: ComposedSettings) -> Iterator[tuple[tuple[str, str], str]]:
    """((section, name in words), value as text) of every setting."""
    for section, values in settings.items():
        for key, value in values.items() if isinstance(values, Mapping) else ():
            if key in NOT_LISTED:
                continue
            leaves = value.items() if isinstance(value, Mapping) else [("", value)]
            for name, leaf in leaves:
                yield (section, f"{key} {name}".strip().replace("_", " ")), _setting_text(leaf)


def _setting_text(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "on" if value else "off"
        case int() | float():
            return f"{value:,.10g}"
        case list():
            return " and ".join(map(_setting_text, value))
    return str(value)
