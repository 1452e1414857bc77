"""The paper's tables and claims as data (paper.yaml), its names, and differences of settings from its own."""

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
# Colours of Okabe and Ito, told apart by all common kinds of colour vision, and markers for print in grey: those of the
# families in their order, which begin again where there are more, and those of every other run.
COLOURS: Final = ("#009e73", "#0072b2", "#d55e00", "#e69f00", "#56b4e9", "#000000")
STYLES: Final = tuple(zip(COLOURS, "^sovPX", strict=True))
OTHER: Final = ("#cc79a7", "D")
PRINTED = re.compile(r"(?P<value>[\d.]+)(?: \((?P<lo>[\d.]+)-(?P<hi>[\d.]+)\))?")

IntervalKind = Literal["wilson", "rounded_down", "continuity", "blank_cells"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PaperEntry(_Frozen):
    """One number of a table as printed, in percent, or words in its place."""

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
        """The value and the two ends of its interval, digits as printed, as far as they are."""
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
    """A column: its heading, the paper's number of puzzles, and where evaluations hold its score."""

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
    """A model with its numbers, by column."""

    name: str
    attributes: tuple[str, ...] = ()
    variant: str
    entries: dict[str, PaperEntry]

    def variant_of(self, column: str) -> str:
        """The variant of one entry: its own or else the row's."""
        entry = self.entries.get(column)
        return entry.variant if entry and entry.variant else self.variant


class ScoreTable(_Frozen):
    """A table of results; `remarks` are on the numbers as printed."""

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
    """A claim of the paper in words, its numbers and its section, and our checks; `lacking` where there are no runs."""

    says: str
    paper: str
    section: str
    checks: tuple[Check, ...] = ()
    lacking: str = ""


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
    """The name of a task; a data set of another name keeps its own."""
    return TASKS[task].name if task in TASKS else task


def model_name(variant: str) -> str:
    """The paper's name of a model of its table 1; any other run keeps its own."""
    names = {row.variant: row.name for row in load_paper().score_tables["1"].rows}
    return names.get(variant, variant)


def style(model: str) -> tuple[str, str]:
    """Colour and marker of a family in figures and MLflow; any other run has those that no family has."""
    places = {model_name(family): place for place, family in enumerate(FAMILIES)}
    return STYLES[places[name] % len(STYLES)] if (name := model_name(model)) in places else OTHER


def set_name(name: str) -> str:
    """A set by its size, such as 9×9, or in words."""
    return name.replace("x", "×") if name[:1].isdigit() else name.replace("_", "-")


Settings = Mapping[str, Any]
"""The composed settings of a run: `task`, `variant`, and the sections `model`, `train`, `arrays`, `fidelity`."""
HALTING: Final = ("train", "halting kind")
# Keys whose difference changes no result, and those that the number of optimiser steps stands for.
UNREMARKABLE: Final = ("seed", "log_every", "snapshots", "compile", "epochs", "steps")


class Setting(NamedTuple):
    """A setting in words that differs between a run and profile `paper`'s run of its family, with both values."""

    name: str
    ours: str
    paper: str

    def __str__(self) -> str:
        """Such as "halting probability 0.2 instead of 0.05"."""
        return f"{self.name} {self.ours} instead of {self.paper}"


def differences(ours: Settings, paper: Settings, num_examples: int) -> list[Setting]:
    """Differences of a run's settings from those of profile `paper`.

    `num_examples` are those of an epoch of the paper.
    """
    here, there = dict(_flat(ours)), dict(_flat(paper))
    train, theirs = ours["train"], paper["train"]
    if train["steps"]:
        here["", "optimiser steps"] = _words(train["steps"])
        there["", "optimiser steps"] = _words(theirs["epochs"] * num_examples // theirs["batch_size"])
    else:
        here["", "epochs"], there["", "epochs"] = _words(train["epochs"]), _words(theirs["epochs"])
    if here.get(HALTING) != there.get(HALTING):  # rules of two kinds have no settings in common
        here, there = _with_halting_in_one(here), _with_halting_in_one(there)
    settings = [Setting(key[1], here.get(key, "none"), there.get(key, "none")) for key in here | there]
    return [setting for setting in settings if setting.ours != setting.paper]


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


def _flat(settings: Settings) -> Iterator[tuple[tuple[str, str], str]]:
    """Every setting by its section and its name in words."""
    for section, values in settings.items():
        for key, value in values.items() if isinstance(values, Mapping) else ():
            for part, each in value.items() if isinstance(value, Mapping) else [("", value)]:
                if key not in UNREMARKABLE:
                    yield (section, f"{key} {part}".strip().replace("_", " ")), _words(each)


def _words(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "on" if value else "off"
        case int() | float():
            return f"{value:,.10g}"
        case list():
            return " and ".join(map(_words, value))
    return str(value)
