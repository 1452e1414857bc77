"""The paper's printed tables as typed data: paper.yaml behind frozen models (tables 1 to 3 and A2 to A7)."""

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from serrm.inference.settings import HEADLINE_STEPS

PRINTED = re.compile(r"(?P<value>[\d.]+)(?: \((?P<lo>[\d.]+)-(?P<hi>[\d.]+)\))?")
BOLD = re.compile(r"\*\*(?P<text>.*)\*\*")

IntervalKind = Literal["wilson", "rounded_down", "continuity", "blank_cells"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Marked(_Frozen):
    """Something that footnotes or remarks, called by their marks, speak of."""

    marks: tuple[str, ...] = ()


class PaperCell(_Marked):
    """One cell as printed, in percent; empty where the paper prints a dash, `**` around it where it is bold."""

    printed: str = Field(default="", pattern=rf"^({PRINTED.pattern})?$")
    is_bold: bool = False
    quoted: bool = False
    num: int | None = None
    interval: IntervalKind | None = None
    variant: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, cell: Any) -> Any:
        data = {"printed": cell} if isinstance(cell, str) else cell
        if isinstance(data, dict) and (bold := BOLD.fullmatch(str(data.get("printed")))):
            return data | {"printed": bold["text"], "is_bold": True}
        return data

    @property
    def numbers(self) -> tuple[Decimal | None, Decimal | None, Decimal | None]:
        """The value and the two ends of its interval, digits as printed; None for what is not printed."""
        match = PRINTED.fullmatch(self.printed)
        texts = (match["value"], match["lo"], match["hi"]) if match else (None, None, None)
        value, lo, hi = (None if text is None else Decimal(text) for text in texts)
        return value, lo, hi


class PaperColumn(_Marked):
    """A column: its heading, the paper's number of puzzles, and where our metric files hold its score.

    One that `takes_other_sizes` shows the only set of its task where we scored no set of the paper's size. `blanks` is
    the paper's mean number of blanks in a puzzle, in words, where it is known.
    """

    group: str
    name: str
    task: str
    set: str
    takes_other_sizes: bool = False
    metric: str
    steps: int = HEADLINE_STEPS
    num: int | None = None
    interval: IntervalKind | None = None
    blanks: str = ""


class PaperRow(_Marked):
    """A model; `variant` is its name in params.yaml, and an `optional` row appears where we ran it."""

    name: str
    attributes: tuple[str, ...] = ()
    variant: str | None = None
    optional: bool = False
    cells: dict[str, PaperCell]

    def variant_of(self, column: str) -> str | None:
        """The variant behind one cell: the cell's own or else the row's."""
        cell = self.cells.get(column)
        return cell.variant if cell and cell.variant else self.variant


class ScoreTable(_Frozen):
    """A table of results, with the paper's `footnotes` and our `remarks`, both called by their marks."""

    title: str
    caption: str
    attributes: tuple[str, ...] = ()
    takes_other_variants: bool = False
    columns: dict[str, PaperColumn]
    rows: tuple[PaperRow, ...]
    footnotes: dict[str, str] = {}
    remarks: dict[str, str] = {}

    @property
    def marks(self) -> set[str]:
        """The marks that stand in the headings and in the rows."""
        cells = [cell for row in self.rows for cell in row.cells.values()]
        return {mark for part in (*self.columns.values(), *self.rows, *cells) for mark in part.marks}

    @property
    def places(self) -> list[tuple[PaperColumn, str | None]]:
        """The column of every cell, and the variant whose score stands there."""
        return [(column, row.variant_of(key)) for row in self.rows for key, column in self.columns.items()]


class HyperparameterRow(_Frozen):
    """One hyperparameter as printed, for each column's model."""

    name: str
    cells: tuple[str, ...]


class HyperparameterTable(_Frozen):
    """Hyperparameters of some tasks: rows by our key, columns by variant with the model's printed name."""

    tasks: tuple[str, ...]
    title: str
    columns: dict[str, str]
    rows: dict[str, HyperparameterRow]


class PaperCheck(_Frozen):
    """Scores to compare: of some models on some tasks or sets of one task, by a rule of `claims.RULES`.

    The first `needs` models have to be there (all, unless it says), and `least` in all. `what` names what is missing
    where they are not. A comparison that `needs_solved` says nothing where every score is zero. Models `beside`, which
    the paper did not run, are shown and not judged.
    """

    tasks: tuple[str, ...]
    sets: tuple[str, ...] = ()
    metric: str = "fsr"
    models: tuple[str, ...]
    needs: int | None = None
    least: int = 1
    rule: str
    what: str
    needs_solved: bool = False
    beside: tuple[str, ...] = ()

    def has_enough(self, variants: Sequence[str]) -> bool:
        """Whether a place has scores of the models that are needed."""
        return {*self.models[: self.needs]} <= {*variants} and len(variants) >= self.least


class PaperClaim(_Frozen):
    """What the paper says in words, its numbers for it, and the section where it does; how it is checked.

    One that is `over_baselines` compares SE-RRM with TRM or HRM, whose settings are part of the comparison.
    """

    says: str
    paper: str
    section: str
    check: PaperCheck | None = None
    over_baselines: bool = False


class Paper(_Frozen):
    """All tables with numbers, by the paper's own table number, and the claims."""

    score_tables: dict[str, ScoreTable]
    extension_tables: dict[str, ScoreTable]
    hyperparameter_tables: dict[str, HyperparameterTable]
    claims: dict[str, PaperClaim]


@cache
def load_paper() -> Paper:
    """The paper's numbers, from the packaged paper.yaml."""
    text = files("serrm.reporting").joinpath("paper.yaml").read_text(encoding="utf-8")
    return Paper.model_validate(yaml.safe_load(text))
