"""Tables as Markdown, to be read, and as CSV, to be computed with."""

import csv
import io

from serrm.reporting.cells import Comparison, Reading
from serrm.reporting.notes import ABOVE, BELOW, QUOTED
from serrm.reporting.tables import Column, Row, Table

ARROWS = {"": "", "above": ABOVE, "below": BELOW}

CSV_HEADER = [
    *("table", "model", "variant", "attributes", "group", "column"),
    *("ours", "ours_lo", "ours_hi", "ours_sd", "ours_seeds", "ours_puzzles", "ours_words"),
    *("paper", "paper_lo", "paper_hi", "paper_puzzles", "paper_interval", "paper_quoted", "paper_words"),
    *("ours_lies", "others"),
]


def plain(reading: Reading) -> str:
    """A reading in words, without its marks: "61.33 (55.23–67.09)" or "61.20 ± 1.10 (54.02–68.11)"."""
    if reading.value is None:
        return reading.words
    spread = "" if reading.sd is None else f" ± {reading.sd}"
    interval = "" if reading.lo is None else f" ({reading.lo}–{reading.hi})"
    return f"{reading.value}{spread}{interval}"


def heading(number: str, title: str) -> str:
    """A table's heading; "3-mazes" is an extension of table 3, and what has no number keeps its title."""
    of, _, extension = number.partition("-")
    if not of[-1:].isdigit():
        return title
    return f"Table {of}, extended: {title}" if extension else f"Table {of}: {title}"


def to_markdown(table: Table) -> str:
    """Two lines a model, ours above the paper's, a third for third parties, and the notes beneath."""
    header = ["Model", *table.attributes, "", *(_heading(column) for column in table.columns)]
    lines = [_markdown_row(header), _markdown_row(["---"] * len(header))]
    for row in table.rows:
        stub = [
            f"**{escape_markdown(row.name)}**{_superscript(row.marks)}",
            *map(escape_markdown, row.attributes),
        ]
        lines.append(_markdown_row([*stub, "ours", *(_ours(cell) for cell in row.cells)]))
        blank = [""] * len(stub)
        lines.append(_markdown_row([*blank, "paper", *(_paper(cell.paper) for cell in row.cells)]))
        if row.has_others:
            lines.append(_markdown_row([*blank, "others", *(cell.others for cell in row.cells)]))
    notes = [f"- {_superscript((note.mark,))}{escape_markdown(note.text)}" for note in table.notes]
    title = f"### {heading(table.number, table.title)}"
    return "\n".join([title, "", table.caption, "", *lines, "", *notes, ""])


def to_csv(table: Table) -> str:
    """One line a cell, both sides as plain numbers in percent; empty where there is none."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            writer.writerow(_csv_row(table.number, row, column, cell))
    return text.getvalue()


def _csv_row(number: str, row: Row, column: Column, cell: Comparison) -> list[object]:
    ours, paper = cell.ours, cell.paper
    seeds = ours.num_seeds if ours.value is not None else None
    return [
        *(number, row.name, row.variant, "; ".join(row.attributes), column.group, column.name),
        *(ours.value, ours.lo, ours.hi, ours.sd, seeds, ours.num_puzzles, ours.words),
        *(paper.value, paper.lo, paper.hi, paper.num_puzzles, paper.interval),
        *("yes" if paper.is_quoted else "", paper.words, cell.side, cell.others),
    ]


def _heading(column: Column) -> str:
    return f"{escape_markdown(column.group)}: {escape_markdown(column.name)}{_superscript(column.marks)}"


def _ours(cell: Comparison) -> str:
    if cell.ours.value is None:
        return f"*{cell.ours.words}*"
    seeds = f", {cell.ours.num_seeds} seeds" if cell.ours.num_seeds > 1 else ""
    arrow = f" {ARROWS[cell.side]}" if cell.side else ""
    return f"{plain(cell.ours)}{seeds}, n={cell.ours.num_puzzles:,}{arrow}"


def _paper(reading: Reading) -> str:
    return plain(reading) + _superscript((*reading.marks, QUOTED) if reading.is_quoted else reading.marks)


def _superscript(marks: tuple[str, ...]) -> str:
    text = ",".join(marks)
    return f"<sup>{text}</sup>" if text else ""


def _markdown_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escape_markdown(text: str) -> str:
    """Plain text as Markdown, within a table's cell."""
    for character in r"\|*_<`":
        text = text.replace(character, f"\\{character}")
    return text
