"""The terminal: panels as coloured cells or plain characters, and tables of scores."""

import sys
from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from serrm.drawing.puzzles import Panel, cell_of
from serrm.scoring.metrics import RATE, Statistic, interval

PLAIN_WIDTH = 110  # characters of a line off a terminal
BOLD, DIM = Style(bold=True), Style(dim=True)


def print_panels(screen: Console, rows: Sequence[Sequence[Panel]], title: str) -> None:
    """Print the title, the panels of one task, side by side if they fit, and a legend of their marks."""
    screen.print(Text(title, BOLD, no_wrap=True, overflow="crop"))
    for row in rows:
        blocks = [_block(panel, screen.color_system is not None) for panel in row]
        screen.print(Text(), Columns(blocks, padding=(1, 4)), sep="\n")
    panels = [panel for row in rows for panel in row]
    legend = []
    if any(panel.is_wrong.any() for panel in panels):
        legend.append("* wrong")
    if any(panel.is_changed.any() for panel in panels):
        legend.append("' changed since the panel before")
    if legend:
        screen.print(Text("\n" + "    ".join(legend)))


def print_grid(screen: Console, panel: Panel) -> None:
    """Print the grid of a panel without its caption and remark."""
    screen.print(Text("\n").join(_lines(panel, screen.color_system is not None)), no_wrap=True, crop=True)


def _block(panel: Panel, has_colours: bool) -> Text:
    """Join caption, remark and grid of a panel."""
    block = Text("\n").join([Text(panel.caption, BOLD), Text(panel.remark, DIM), *_lines(panel, has_colours)])
    block.no_wrap, block.overflow = True, "crop"
    return block


def _lines(panel: Panel, has_colours: bool) -> list[Text]:
    """Write the lines of a grid; a cell is its symbol and its mark."""
    rows, columns = panel.cells.shape
    lines = list[Text]()
    box = panel.look.box(rows)
    for row in range(rows):
        if box and row and row % box.rows == 0:
            lines.append(Text("┼".join(["─" * (2 * box.cols + 1)] * (columns // box.cols)), DIM))
        line = Text()
        for column in range(columns):
            if box and column % box.cols == 0:
                line.append("│ " if column else " ", DIM)
            line.append(_cell(panel, row, column, has_colours))
        lines.append(line)
    return lines


def _cell(panel: Panel, row: int, column: int, has_colours: bool) -> Text:
    cell, position = cell_of(panel, row, column), (row, column)
    mark = "*" if panel.is_wrong[position] else "'" if panel.is_changed[position] else " "
    if not has_colours:
        return Text(cell.plain + mark)
    look = Style(color=cell.ink, bgcolor=cell.ground, bold=bool(panel.is_given[position]))
    return Text((cell.symbol or " ") + mark, look)


def console(width: int = PLAIN_WIDTH) -> Console:
    """Open standard output, which is plain and of a fixed width unless it is a terminal."""
    return Console(width=None if sys.stdout.isatty() else width, highlight=False)


def table(*columns: str) -> Table:
    """Open a table without rows; the first column is aligned for names, the others for numbers."""
    result = Table(box=SIMPLE_HEAD)
    for column in columns:
        result.add_column(column, justify="left" if column == columns[0] else "right", overflow="fold")
    return result


def with_interval(values: Mapping[str, float], metric: str, statistic: Statistic = RATE) -> str:
    """Format a score with its interval, by default a rate in percent; a dash if there is no score."""
    if metric not in values:
        return "—"
    ends = interval(metric, statistic, values)
    score, low, high = (statistic.factor * number for number in (values[metric], *ends))
    return f"{score:.2f} ({low:.2f} to {high:.2f})"
