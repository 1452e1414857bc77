"""The short table that closes a reproduction: FSR and GPA by grid size, ours and the paper's (table 1)."""

import io
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as Grid

from serrm.reporting.cells import NOT_RUN, Comparison, Reading
from serrm.reporting.notes import SIDES
from serrm.reporting.paper import load_paper
from serrm.reporting.render import ARROWS, plain
from serrm.reporting.results import load_language_models, load_results
from serrm.reporting.tables import Row, Table, build_table


def headline(
    profile: str,
    cells: Sequence[tuple[str, str, int]],
    metrics: Path,
    places: Sequence[Path],
    is_terminal: bool = False,
    width: int = 110,
) -> str:
    """Table 1 at 16 steps for the models that a profile ran, and the places where the rest lies.

    Plain text unless `is_terminal`, which adds the terminal's colours.

    Raises:
        ValueError: a metric file of the profile's cells is missing or malformed.
    """
    results = load_results(cells, metrics) | load_language_models(metrics)
    table = build_table("1", load_paper().score_tables["1"], results)
    text = io.StringIO()
    console = Console(
        file=text, force_terminal=is_terminal, width=width, highlight=False, no_color=not is_terminal
    )
    console.print(_grid(profile, table))
    for place in places:
        console.print(f"  {place}", markup=False, soft_wrap=True)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _grid(profile: str, table: Table) -> Grid:
    grid = Grid(
        title=f"Sudoku, profile {profile}, 16 supervision steps: percent (95% interval)",
        caption=SIDES,
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
    )
    for name in ("model", "grid"):
        grid.add_column(name, no_wrap=True)
    for name in ("FSR ours", "paper", "GPA ours", "paper"):
        grid.add_column(name, justify="right", no_wrap=True)
    for row in table.rows:
        if any(cell.ours.words != NOT_RUN for cell in row.cells):
            _add_model(grid, row, [column.group for column in table.columns])
    return grid


def _add_model(grid: Grid, row: Row, groups: Sequence[str]) -> None:
    """One line a grid size; its FSR and GPA are neighbours in the table."""
    by_size = groupby(zip(groups, row.cells, strict=True), lambda pair: pair[0])
    for place, (group, pairs) in enumerate(by_size):
        readings = [text for _, cell in pairs for text in (_ours(cell), _paper(cell.paper))]
        grid.add_row(row.name if place == 0 else "", group, *readings)
    grid.add_section()


def _ours(cell: Comparison) -> str:
    return f"{plain(cell.ours)} {ARROWS[cell.side]}".rstrip()


def _paper(reading: Reading) -> str:
    return reading.words if reading.value is None else str(reading.value)
