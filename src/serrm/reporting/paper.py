"""The paper's tables and claims as data (paper.yaml), and the names of tasks, models and sets in tables."""

import re
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from serrm.inference.settings import HEADLINE_STEPS
from serrm.puzzles.tasks import TASKS

DASH: Final = "—"  # no number: not run here, or not in the paper
CANNOT_EXTRAPOLATE: Final = "cannot extrapolate"  # no number: the model does not take grids of this size
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
        """Split the value and the ends of its interval, if there is one, as printed; empty if there is no number."""
        match = PRINTED.fullmatch(self.printed)
        return tuple(text for text in match.groups() if text) if match else ()


class Blanks(_Frozen):
    """The paper's mean number of blanks in a puzzle."""

    num: int
    is_exact: bool = False

    def __str__(self) -> str:
        """Write such as "about 56"."""
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
        """Choose the variant of an entry: the entry's if it names one, else the row's."""
        entry = self.entries.get(column)
        return entry.variant if entry and entry.variant else self.variant


class ScoreTable(_Frozen):
    """A table of results; `remarks` are about the numbers as printed. The head of paper.yaml explains `ablation`."""

    title: str
    caption: str
    ablation: bool = False
    attributes: tuple[str, ...] = ()
    columns: dict[str, PaperColumn]
    rows: tuple[PaperRow, ...]
    remarks: tuple[str, ...] = ()


class Check(_Frozen):
    """A comparison of ours that tests a part of a claim: a rule on scores (an entry of CHECKS), and its words."""

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


class Cost(_Frozen):
    """Size and cost of a training run: parameters without the task-type embeddings, and training FLOPs."""

    parameters: int
    flops: int


class Paper(_Frozen):
    """All tables by their number in the paper, the claims, and the costs of runs by task and variant."""

    score_tables: dict[str, ScoreTable]
    claims: dict[str, PaperClaim]
    costs: dict[str, Cost]


@cache
def load_paper() -> Paper:
    """Load the paper's numbers, from the packaged paper.yaml."""
    text = files("serrm.reporting").joinpath("paper.yaml").read_text(encoding="utf-8")
    return Paper.model_validate(yaml.safe_load(text))


def paper_cost(task: str, variant: str) -> Cost | None:
    """Look up the cost of profile `paper`'s run; None if there is no such run."""
    return load_paper().costs.get(f"{task}/{variant}")


def data_set_name(data_set: str) -> str:
    """Name a data set as tables do: by the task after which it is named, else by its own name."""
    return TASKS[data_set].name if data_set in TASKS else data_set


def model_name(variant: str) -> str:
    """Name a model as the paper's table 1 does; any other variant keeps its name."""
    names = {row.variant: row.name for row in load_paper().score_tables["1"].rows}
    return names.get(variant, variant)


def set_name(name: str) -> str:
    """Name a set as tables do: by its size, such as 9×9, or by its name with hyphens."""
    return name.replace("x", "×") if name[:1].isdigit() else name.replace("_", "-")


def puzzle_set(data_set: str, test_set: str) -> str:
    """Name a set of puzzles, such as "Sudoku 9×9", or "ARC-AGI-1" where the set has no size."""
    name = data_set_name(data_set)
    return f"{name} {set_name(test_set)}" if test_set[:1].isdigit() else name
