"""The paper's tables with our numbers, in one neutral form that Markdown, CSV and LaTeX are written from.

What a table shows (rows, columns, where our metric files hold the same number) is data: paper.yaml.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from serrm.reporting.cells import NOT_RUN, Comparison, others_reading, our_reading, paper_reading
from serrm.reporting.notes import Note, notes_of
from serrm.reporting.paper import PaperColumn, PaperRow, ScoreTable, load_paper
from serrm.reporting.results import Evaluation, Results


@dataclass(frozen=True)
class Column:
    """A column's heading: a name within a group, with the marks of its notes."""

    group: str
    name: str
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A model: its name, its attributes, and a comparison for each column."""

    name: str
    variant: str | None
    attributes: tuple[str, ...]
    marks: tuple[str, ...]
    cells: tuple[Comparison, ...]

    @property
    def has_others(self) -> bool:
        """Whether third parties report anything of this model."""
        return any(cell.others for cell in self.cells)


@dataclass(frozen=True)
class Table:
    """A table of the paper beside ours, ready to be written in any format."""

    number: str
    title: str
    caption: str
    attributes: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[Note, ...]

    @property
    def was_run(self) -> bool:
        """Whether any cell has a number or a refusal of ours."""
        return any(cell.ours.words != NOT_RUN for row in self.rows for cell in row.cells)


def build_table(number: str, paper: ScoreTable, results: Results) -> Table:
    """Set our results beside one of the paper's tables.

    The paper's rows come first, "not run" where we did not run them; then, if the table takes others, every
    other variant that has a result for one of the table's tasks.
    """
    paper_rows = [row for row in paper.rows if not row.optional or _has_result(row, paper, results)]
    if paper.takes_other_variants:
        paper_rows += [PaperRow(name=name, variant=name, cells={}) for name in _others(paper, results)]
    columns = tuple(Column(column.group, column.name, column.marks) for column in paper.columns.values())
    rows = tuple(_row(row, paper, results) for row in paper_rows)
    notes = notes_of(paper, paper_rows, [cell for row in rows for cell in row.cells], results)
    return Table(number, paper.title, paper.caption, paper.attributes, columns, rows, notes)


def _row(row: PaperRow, paper: ScoreTable, results: Results) -> Row:
    cells = tuple(_compare(row, key, column, results) for key, column in paper.columns.items())
    return Row(row.name, row.variant, row.attributes, row.marks, cells)


def _compare(row: PaperRow, key: str, column: PaperColumn, results: Results) -> Comparison:
    ours = our_reading(_evaluations(row, key, column, results), column)
    others = load_paper().others(row.variant_of(key), column)
    return Comparison(ours, paper_reading(row.cells.get(key), column), others_reading(others))


def _evaluations(row: PaperRow, key: str, column: PaperColumn, results: Results) -> list[Evaluation]:
    variant = row.variant_of(key)
    return [] if variant is None else results.get((column.task, variant), [])


def _has_result(row: PaperRow, paper: ScoreTable, results: Results) -> bool:
    return any(_evaluations(row, key, column, results) for key, column in paper.columns.items())


def _others(paper: ScoreTable, results: Results) -> Iterable[str]:
    tasks = {column.task for column in paper.columns.values()}
    known = {row.variant_of(key) for row in paper.rows for key in paper.columns}
    # dict keeps the order of the profile's cells and each name once.
    return dict.fromkeys(name for task, name in results if task in tasks and name not in known)
