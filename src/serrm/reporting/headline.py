"""The scores that one looks at first: table 1 on the terminal, tables 1 and 3 in one table of the README."""

from collections.abc import Iterable, Sequence
from itertools import chain, groupby
from pathlib import Path
from statistics import fmean
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Table as Grid

from serrm.files import between_markers
from serrm.reporting.cells import DASH, NOT_RUN, QUOTED, Comparison, Reading, part_of
from serrm.reporting.names import duration, model_name, reported, set_name, task_name
from serrm.reporting.notes import ARROWS, SIDES, blanks, by_name, data_notes
from serrm.reporting.paper import PaperColumn, load_paper
from serrm.reporting.results import Evaluation, Results, all_runs, load_results
from serrm.reporting.tables import Row, build_table
from serrm.reporting.writers import escape_markdown, markdown_line

TABLES: Final = ("1", "3")
BEGIN: Final = "<!-- serrm headline {}: begin -->"
END: Final = "<!-- serrm headline {}: end -->"
Cells = Sequence[tuple[str, str, int]]


def headline_table(profile: str, cells: Cells, metrics: Path) -> tuple[Grid, list[str]]:
    """Table 1 at 16 steps for the models that a profile ran, and where their puzzles come from.

    ValueError if a metric file of the profile's cells is missing or malformed.
    """
    results = load_results(cells, metrics)
    table = build_table("1", load_paper().score_tables["1"], results)
    title = f"Sudoku, profile {profile}, 16 supervision steps: percent (95% interval)"
    grid = Grid(title=title, caption=SIDES, title_justify="left", caption_justify="left", box=SIMPLE_HEAD)
    for name in ("model", "grid", "FSR ours", "paper", "GPA ours", "paper"):
        grid.add_column(name, justify="left" if name in ("model", "grid") else "right", no_wrap=True)
    for row in table.models:
        if any(cell.ours.words != NOT_RUN for cell in row.cells):
            _add_model(grid, row, [column.group for column in table.columns])
    sudoku = {key: seeds for key, seeds in results.items() if key[0] == "sudoku"}
    return grid, [note.text for note in data_notes(by_name(sudoku))]


def _add_model(grid: Grid, row: Row, groups: Sequence[str]) -> None:
    """One line a grid size; its FSR and GPA are neighbours in the table."""
    by_size = groupby(zip(groups, row.cells, strict=True), lambda pair: pair[0])
    for place, (group, pairs) in enumerate(by_size):
        texts = [text for _, cell in pairs for text in (_ours(cell), str(cell.paper).split(" (")[0])]
        grid.add_row(row.name if place == 0 else "", group, *texts)
    grid.add_section()


def replace_table(page: str, profile: str, cells: Cells, metrics: Path, target: str) -> str:
    """A page with a profile's table between its two markers; `target` is the page's name in the project.

    ValueError if the markers are not there once, in their order, or a metric file is missing or malformed.
    """
    begin, end = (marker.format(profile) for marker in (BEGIN, END))
    return between_markers(page, begin, end, page_table(profile, cells, load_results(cells, metrics), target))


def page_table(profile: str, cells: Cells, results: Results, target: str) -> str:
    """Our score and the paper's of all that its tables 1 and 3 give first and the profile ran: a line a test set.

    A variant that the paper does not have takes one column.
    """
    first, variants = cells[0][0], list(dict.fromkeys(variant for _, variant, _ in cells))
    rows = [("", [(f"**{escape_markdown(model_name(variant))}**", "paper") for variant in variants])]
    for number in TABLES:
        paper = load_paper().score_tables[number]
        models = {row.variant: row for row in build_table(number, paper, results).models}
        for place, column in enumerate(paper.columns.values()):
            if column.metric == reported(column.task).headline and (runs := _runs_of(column, results)):
                compared = [models[variant].cells[place] for variant in variants]
                rows.append((_heading(column, runs, compared), [_both(cell) for cell in compared]))
    trained = [results[first, variant] for variant in variants]
    sizes = [(f"{runs[0].model_info.parameters:,}", "") for runs in trained]
    times = [(duration(round(fmean(run.training.seconds for run in runs), 1)), "") for runs in trained]
    rows += [(f"parameters ({task_name(first)})", sizes), (f"trained for ({task_name(first)})", times)]
    columns = zip(*(pairs for _, pairs in rows[1:]), strict=True)
    widths = [1 + any(paper not in ("", DASH) for _, paper in column) for column in columns]
    lines = [
        markdown_line(
            [label, *chain.from_iterable(pair[:width] for pair, width in zip(pairs, widths, strict=True))]
        )
        for label, pairs in rows
    ]
    lines.insert(1, markdown_line(["---"] * (1 + sum(widths))))
    sources = dict.fromkeys((task_name(run.task), run.data.source) for run in all_runs(results))
    puzzles = escape_markdown(" ".join(f"{task}: {source}." for task, source in sources))
    caption = (
        "Puzzles solved exactly (on ARC-AGI, by one of two answers), in percent of n with 95% intervals, after 16 "
        f"supervision steps. {SIDES} {QUOTED}: quoted by the paper, not run there. Our puzzles: {puzzles} "
        f"Profile `{profile}`, written by `serrm headline --profile {profile} --write {target}`."
    )
    return "\n".join([*lines, "", caption])


def _both(cell: Comparison) -> tuple[str, str]:
    """Our score and the paper's."""
    paper = escape_markdown(str(cell.paper)) + QUOTED * (QUOTED in cell.paper.marks)
    return escape_markdown(_ours(cell)), paper


def _runs_of(column: PaperColumn, results: Results) -> list[Evaluation]:
    runs = [run for run in all_runs(results) if run.task == column.task]
    return [run for run in runs if part_of(run, column)[1] is not None]


def _heading(column: PaperColumn, runs: Sequence[Evaluation], cells: Sequence[Comparison]) -> str:
    """Task and size, with the paper's where ours is another, and how many puzzles either side has."""
    name = task_name(column.task)
    if column.set[:1].isdigit():
        sizes = {part_of(run, column)[0] for run in runs}
        other = "" if sizes == {column.set} else f" (paper: {set_name(column.set)})"
        name = f"{name} {', '.join(map(set_name, sorted(sizes)))}{other}"
    ours, paper = _numbers(cell.ours for cell in cells), _numbers(cell.paper for cell in cells)
    name += f", {number}" if (number := blanks(column, runs)) else ""
    counts = [f"n {ours}"] * bool(ours) + [f"paper {paper}"] * bool(paper)
    return f"{escape_markdown(name)}, {'; '.join(counts)}"


def _numbers(readings: Iterable[Reading]) -> str:
    return " or ".join(f"{number:,}" for number in sorted({each.num_puzzles or 0 for each in readings} - {0}))


def _ours(cell: Comparison) -> str:
    return f"{cell.ours} {ARROWS[cell.side]}".rstrip()
