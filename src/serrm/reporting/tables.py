"""A table in one neutral form, from which Markdown, CSV, LaTeX and the page are written; and the paper's tables in it.

What a table of scores shows (rows, columns, where our metric files hold the same number) is data: paper.yaml.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from serrm.reporting.cells import NOT_RUN, Comparison, Reading, our_reading, paper_reading
from serrm.reporting.names import METRIC_NAMES, TASKS, model_name, set_name
from serrm.reporting.notes import Note, notes_of
from serrm.reporting.paper import PaperColumn, PaperRow, ScoreTable
from serrm.reporting.results import Evaluation, Results, all_runs

Words = tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A model: its name, its attributes, and a comparison for each column of scores."""

    name: str
    variant: str | None
    attributes: Words
    marks: Words
    cells: tuple[Comparison, ...]


@dataclass(frozen=True)
class Table:
    """A table with notes beneath: leading columns of words (`stub`), then columns of scores, if it has any.

    A row is a model where there are scores, else its words. In the stub "group: name" belongs to a group.
    """

    number: str
    title: str
    caption: str
    stub: Words
    rows: tuple[Row | Words, ...]
    notes: tuple[Note, ...] = ()
    was_run: bool = True
    columns: tuple[PaperColumn, ...] = ()

    @property
    def models(self) -> list[Row]:
        """The rows of a table of scores."""
        return [row for row in self.rows if isinstance(row, Row)]

    @property
    def heading(self) -> str:
        """Number and title; "3-mazes" is an extension of table 3, and what has no number keeps its title."""
        of, _, extension = self.number.partition("-")
        if not of[-1:].isdigit():
            return self.title
        return f"Table {of}, extended: {self.title}" if extension else f"Table {of}: {self.title}"


Cell = str | Row | Comparison | Reading


def lines_of(row: Row | Words) -> Iterable[list[Cell]]:
    """The lines of a row: words as they are; of a model ours (the row stands for its name) and the paper's."""
    if not isinstance(row, Row):
        yield [*row]
        return
    blank = [""] * (1 + len(row.attributes))
    yield [row, *row.attributes, "ours", *row.cells]
    yield [*blank, "paper", *(cell.paper for cell in row.cells)]


def build_table(number: str, paper: ScoreTable, results: Results) -> Table:
    """Set our results beside one of the paper's tables.

    The paper's rows come first, "not run" where we did not run them; then, if the table takes others, every
    other variant that has a result for one of the table's tasks.
    """
    shown = [row for row in paper.rows if not row.optional or any(_ours(row, paper, results))]
    if paper.takes_other_variants:
        tasks = {column.task for column in paper.columns.values()}
        known = {variant for _, variant in paper.places}
        # dict keeps the order of the profile's cells and each name once.
        others = dict.fromkeys(name for task, name in results if task in tasks and name not in known)
        shown += [PaperRow(name=name, variant=name, cells={}) for name in others]
    paper = paper.model_copy(update={"rows": tuple(shown)})
    rows = tuple(
        Row(row.name, row.variant, row.attributes, row.marks, tuple(_cells(row, paper, results)))
        for row in shown
    )
    cells = [cell for row in rows for cell in row.cells]
    return Table(
        number,
        paper.title,
        paper.caption,
        ("Model", *paper.attributes, ""),
        rows,
        notes_of(paper, cells, results),
        any(cell.ours.words != NOT_RUN for cell in cells),
        tuple(paper.columns.values()),
    )


def own_tables(results: Results) -> Iterable[tuple[str, ScoreTable]]:
    """A table of the same form for each task that the paper does not have, by its name: all that its sets tell."""
    for task in dict.fromkeys(task for task, _ in results if task not in TASKS):
        parts = {
            name: part for run in all_runs(results) if run.task == task for name, part in run.scored.items()
        }
        columns = {
            f"{name} {metric}": PaperColumn(
                group=set_name(name), name=words, task=task, set=name, metric=metric, steps=max(part.steps)
            )
            for name, part in parts.items()
            for metric, words in METRIC_NAMES.items()
            if metric in part.steps[max(part.steps)]
        }
        models = [variant for of, variant in results if of == task]
        rows = tuple(PaperRow(name=model_name(variant), variant=variant, cells={}) for variant in models)
        caption = "A task that the paper does not have: scores after the last supervision step, in percent."
        yield task, ScoreTable(title=task, caption=caption, columns=columns, rows=rows)


def _cells(row: PaperRow, paper: ScoreTable, results: Results) -> Iterable[Comparison]:
    for (key, column), evaluations in zip(paper.columns.items(), _ours(row, paper, results), strict=True):
        theirs = paper_reading(row.cells.get(key), column)
        yield Comparison(our_reading(evaluations, column), theirs)


def _ours(row: PaperRow, paper: ScoreTable, results: Results) -> Iterable[list[Evaluation]]:
    """The evaluations behind each cell of a row."""
    for key, column in paper.columns.items():
        variant = row.variant_of(key)
        yield [] if variant is None else results.get((column.task, variant), [])
