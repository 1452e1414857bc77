"""The paper's printed tables and claims as typed data: paper.yaml behind frozen models (tables 1 to 3 and A2 to A7)."""

import re
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from serrm.inference.settings import HEADLINE_STEPS

PRINTED = re.compile(r"(?P<value>[\d.]+)(?: \((?P<lo>[\d.]+)-(?P<hi>[\d.]+)\))?")

IntervalKind = Literal["wilson", "rounded_down", "continuity", "blank_cells"]
Marks = tuple[str, ...]  # of the remarks that speak of something


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PaperCell(_Frozen):
    """One cell as printed, in percent, or words in its place."""

    printed: str = Field(default="", pattern=rf"^({PRINTED.pattern})?$")
    words: str = ""
    quoted: bool = False
    num: int | None = None
    interval: IntervalKind | None = None
    variant: str | None = None
    marks: Marks = ()

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, cell: Any) -> Any:
        return {"printed": cell} if isinstance(cell, str) else cell

    @property
    def numbers(self) -> tuple[str, ...]:
        """The value and the two ends of its interval, digits as printed, as far as they are."""
        match = PRINTED.fullmatch(self.printed)
        return tuple(text for text in match.groups() if text) if match else ()


class PaperColumn(_Frozen):
    """A column: its heading, the paper's number of puzzles, and where metric files hold its score."""

    group: str
    name: str
    task: str
    set: str
    takes_other_sizes: bool = False
    metric: str
    steps: int = HEADLINE_STEPS
    num: int
    interval: IntervalKind | None = None
    blanks: str = ""
    unpublished: bool = False
    marks: Marks = ()


class PaperRow(_Frozen):
    """A model with its cells."""

    name: str
    attributes: tuple[str, ...] = ()
    variant: str
    cells: dict[str, PaperCell]
    marks: Marks = ()

    def variant_of(self, column: str) -> str:
        """The run behind one cell: the cell's own or else the row's."""
        cell = self.cells.get(column)
        return cell.variant if cell and cell.variant else self.variant


class ScoreTable(_Frozen):
    """A table of results; `remarks` are on what is printed, by their marks."""

    title: str
    caption: str
    attributes: tuple[str, ...] = ()
    columns: dict[str, PaperColumn]
    rows: tuple[PaperRow, ...]
    remarks: dict[str, str] = {}


class HyperparameterRow(_Frozen):
    """One hyperparameter as printed, for each column's model."""

    name: str
    cells: tuple[str, ...]


class HyperparameterTable(_Frozen):
    """Hyperparameters of some tasks: rows by a key of `settings.READERS`, columns by the model's run."""

    tasks: tuple[str, ...]
    title: str
    columns: dict[str, str]
    rows: dict[str, HyperparameterRow]


class PaperClaim(_Frozen):
    """What the paper says in words, its numbers for it, and the section where it does."""

    says: str
    paper: str
    section: str


class Paper(_Frozen):
    """All tables with numbers, by the paper's own table number, and the claims."""

    score_tables: dict[str, ScoreTable]
    hyperparameter_tables: dict[str, HyperparameterTable]
    claims: dict[str, PaperClaim]


@cache
def load_paper() -> Paper:
    """The paper's numbers, from the packaged paper.yaml."""
    text = files("serrm.reporting").joinpath("paper.yaml").read_text(encoding="utf-8")
    return Paper.model_validate(yaml.safe_load(text))
