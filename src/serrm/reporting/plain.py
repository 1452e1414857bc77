"""Tables of words: hyperparameters, claims, runs; in one neutral form with its three writers.

Tables of scores are `tables.Table`; here a cell is a text. A heading "group: name" belongs to a group of columns.
"""

import csv
import io
from dataclasses import dataclass

from serrm.reporting.latex import PREAMBLE, escape
from serrm.reporting.render import escape_markdown, heading

DIFFERS = "\N{NO-BREAK SPACE}≠"
"""Stands behind a value that is not the paper's."""


@dataclass(frozen=True)
class PlainTable:
    """A table of texts, with sentences beneath."""

    number: str
    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    was_run: bool = True

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.header) for row in self.rows), self.number


def plain_markdown(table: PlainTable) -> str:
    """A table with its notes beneath, to be read."""
    lines = [_markdown_row(table.header), _markdown_row(("---",) * len(table.header))]
    lines += [_markdown_row(tuple(map(escape_markdown, row))) for row in table.rows]
    notes = [f"- {escape_markdown(note)}" for note in table.notes]
    title = f"### {heading(table.number, table.title)}"
    return "\n".join([title, "", table.caption, "", *lines, "", *notes, ""])


def plain_csv(table: PlainTable) -> str:
    """The table's texts, to be computed with."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.header, *table.rows])
    return text.getvalue()


def plain_latex(table: PlainTable) -> str:
    """A table* float that compiles as it stands after booktabs, graphicx and amsmath."""
    lines = [
        r"\begin{table*}[t]",
        r"\centering",
        rf"\caption{{{escape(table.title)}. {escape(table.caption)}}}",
        rf"\label{{tab:ours_{table.number}}}",
        r"\resizebox{\linewidth}{!}{%",
        rf"\begin{{tabular}}{{{'l' * len(table.header)}}}",
        r"\toprule",
        _latex_row(table.header),
        r"\midrule",
        *map(_latex_row, table.rows),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\par\medskip\raggedright\footnotesize",
        *(f"{escape(note)}\\par" for note in table.notes),
        r"\end{table*}",
    ]
    return PREAMBLE + "\n".join(lines) + "\n"


def _markdown_row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _latex_row(cells: tuple[str, ...]) -> str:
    return " & ".join(map(escape, cells)) + r" \\"
