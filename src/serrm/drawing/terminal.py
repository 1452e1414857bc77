"""Panels in a terminal, for `serrm show` and `serrm solve`: coloured cells, or characters that say the same.

Panels stand side by side as far as the width allows and below each other from there on; a line below explains the
marks that occur.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Final

import numpy as np
from jaxtyping import UInt8
from rich.columns import Columns
from rich.console import Console, ConsoleOptions
from rich.style import Style
from rich.text import Text

from serrm.drawing import colours
from serrm.drawing.marks import MEANINGS, links, marked, marks_of
from serrm.drawing.panels import Panel
from serrm.drawing.tasks import sudoku_symbol
from serrm.puzzles.arc.canvas import END_OF_GRID, FIRST_COLOUR, PADDING
from serrm.puzzles.maze import grid as maze
from serrm.puzzles.sudoku.grid import box_for_side

GAP: Final = 4
FILLED_DIGIT: Final = Style(color="#1F8FD1")  # readable on black and on white
WRONG_DIGIT: Final = Style(color="#FFFFFF", bgcolor="#B5301A")
HATCH: Final = Style(color="#888888")
DIM: Final = Style(dim=True)
CHANGED: Final = Style(underline=True)
BOLD: Final = Style(bold=True)
# By the neighbours that a path cell is joined with: 1 above, 2 right, 4 below, 8 left.
PATH_LINES: Final = "•╹╺┗╻┃┏┣╸┛━┻┓┫┳╋"
MAZE_CHARACTERS: Final = "?# SGo"
ARC_CHARACTERS: Final = ".|0123456789"
ASCII: Final = str.maketrans(PATH_LINES, "o" * len(PATH_LINES)) | str.maketrans("━◦▝▒░×│─┼", "-.'|.x|-+")

_ON_PAPER: Final = Style(color=colours.FILLED, bgcolor=colours.PAPER)
Samples = dict[str, tuple[str, Style]]
COLOURED: Final[dict[str, Samples]] = {
    "digits": {
        "given": ("5", BOLD), "filled": ("5", FILLED_DIGIT), "wrong": ("5", WRONG_DIGIT), "changed": ("5", CHANGED),
    },
    "maze": {
        "path": ("━━", _ON_PAPER),
        "stray": ("━━", Style(color=colours.WRONG, bgcolor=colours.PAPER)),
        "missed": ("◦ ", _ON_PAPER),
        "overwritten": ("  ", Style(bgcolor=colours.WRONG_TINT)),
        "changed": ("  ", Style(bgcolor=colours.CHANGED_TINT)),
    },
    "colours": {"wrong": ("><", BOLD), "changed": (" ▝", BOLD), "end": ("▒▒", HATCH), "padding": ("░░", HATCH)},
}  # fmt: skip
PLAIN: Final[dict[str, Samples]] = {
    "digits": {"wrong": ("*", BOLD), "changed": ("'", BOLD)},
    "maze": {"stray": ("x", BOLD), "missed": (".", BOLD), "overwritten": ("!", BOLD)},
    "colours": {"wrong": ("*", BOLD), "changed": ("'", BOLD), "end": ("|", BOLD), "padding": (".", BOLD)},
}
"""How a mark looks with colours and without, where some need none."""


@dataclass(frozen=True, eq=False)
class Drawing:
    """Panels of one task as something to print: `console.print(Drawing(rows, title))`.

    Each row begins on a new line; None leaves a place out.
    """

    rows: Sequence[Sequence[Panel | None]]
    title: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text | Columns]:
        """Title, panels and legend for what the terminal can do: colours or not, more than ASCII or not."""
        has_colours = console.color_system is not None
        fitted = partial(_fitted, is_ascii=options.ascii_only)
        rows = [[panel for panel in row if panel is not None] for row in self.rows]
        yield fitted(Text(self.title, BOLD))
        for row in rows:
            blocks = (_block(panel, has_colours, options.max_width) for panel in row)
            yield from (Text(), Columns(map(fitted, blocks), padding=(1, GAP)))
        if legend := _legend(list(chain.from_iterable(rows)), COLOURED if has_colours else PLAIN):
            yield from (Text(), fitted(legend))


def _fitted(text: Text, is_ascii: bool) -> Text:
    """Lines that end where the terminal does, in characters that it has."""
    if is_ascii:
        text.plain = text.plain.translate(ASCII).encode("ascii", "replace").decode("ascii")
    text.no_wrap, text.overflow = True, "crop"
    return text


def _block(panel: Panel, has_colours: bool, width: int) -> Text:
    """Caption, remark and grid of a panel; a maze that is too wide in colours has a character a cell."""
    grid = GRIDS[panel.look](panel, has_colours)
    if panel.look == "maze" and max(map(len, grid)) > width:
        grid = GRIDS[panel.look](panel, False)
    return Text("\n").join([Text(panel.caption, BOLD), Text(panel.remark, DIM), *grid])


def _sudoku(panel: Panel, has_colours: bool) -> list[Text]:
    """n + the lines between boxes; a cell is its digit and, without colours, its mark."""
    box = box_for_side(len(panel.cells))
    rule = Text("┼".join(["─" * (2 * box.cols + 1)] * box.rows), DIM)
    lines = []
    for row in range(len(panel.cells)):
        if row and row % box.rows == 0:
            lines.append(rule)
        cells = [_sudoku_cell(panel, (row, column), has_colours) for column in range(len(panel.cells))]
        starts = range(0, len(cells), box.cols)
        boxes = (Text.assemble(" ", *cells[start : start + box.cols]) for start in starts)
        lines.append(Text("│", DIM).join(boxes))
    return lines


def _sudoku_cell(panel: Panel, place: tuple[int, int], has_colours: bool) -> Text:
    symbol = sudoku_symbol(int(panel.cells[place])) or "."
    if not has_colours:
        return Text(symbol + _mark(panel, place))
    style = BOLD if panel.is_given[place] else DIM if symbol == "." else FILLED_DIGIT
    style += WRONG_DIGIT if panel.is_wrong[place] else Style()
    return Text.assemble((symbol, style + CHANGED if panel.is_changed[place] else style), " ")


def _mark(panel: Panel, place: tuple[int, int]) -> str:
    return "*" if panel.is_wrong[place] else "'" if panel.is_changed[place] else " "


def _maze(panel: Panel, has_colours: bool) -> list[Text]:
    """Walls, ends, and the path as a line; without colours the characters of a maze file, and marks."""
    masks, arms = marked(panel), _arms(panel)
    if has_colours:
        return _by_cells(
            panel, lambda place: _maze_cell(panel, place, int(arms[place]), bool(masks["missed"][place]))
        )
    characters = np.array(list(MAZE_CHARACTERS))[panel.cells]
    for name, character in (("overwritten", "!"), ("stray", "x"), ("missed", ".")):
        characters[masks[name]] = character
    return [Text("".join(row)) for row in characters]


def _maze_cell(panel: Panel, place: tuple[int, int], arms: int, is_missed: bool) -> Text:
    token, is_wrong = int(panel.cells[place]), bool(panel.is_wrong[place])
    ground = colours.CHANGED_TINT if panel.is_changed[place] else colours.PAPER
    if is_wrong and panel.is_given[place]:
        ground = colours.WRONG_TINT
    elif token == maze.WALL:
        ground = colours.WALL
    line = Style(color=colours.WRONG if is_wrong and token == maze.PATH else colours.FILLED, bgcolor=ground)
    right = "━" if arms & 2 else " "
    if token in (maze.START, maze.GOAL):
        own = colours.START if token == maze.START else colours.GOAL
        return Text.assemble(
            (MAZE_CHARACTERS[token], Style(color=colours.PAPER, bgcolor=own, bold=True)), (right, line)
        )
    return Text(PATH_LINES[arms] + right if token == maze.PATH else "◦ " if is_missed else "  ", line)


def _arms(panel: Panel) -> UInt8[np.ndarray, "_ _"]:
    """For each cell the neighbours that the path joins it with, as in PATH_LINES."""
    arms = np.zeros(panel.cells.shape, dtype=np.uint8)
    for first, second in links(panel.cells):
        if second != first:
            is_level = second[0] == first[0]
            arms[first] |= 2 if is_level else 4
            arms[second] |= 8 if is_level else 1
    return arms


def _arc(panel: Panel, has_colours: bool) -> list[Text]:
    """Coloured cells; without colours the digit of each and its mark."""
    if has_colours:
        return _by_cells(panel, lambda place: _arc_cell(panel, place))
    return _by_cells(panel, lambda place: Text(ARC_CHARACTERS[panel.cells[place]] + _mark(panel, place)))


def _arc_cell(panel: Panel, place: tuple[int, int]) -> Text:
    token, is_wrong = int(panel.cells[place]), bool(panel.is_wrong[place])
    text = (">" if is_wrong else " ") + ("▝" if panel.is_changed[place] else "<" if is_wrong else " ")
    if token in (PADDING, END_OF_GRID):
        return Text(text.replace(" ", "░▒"[token]), HATCH)
    ground = colours.ARC_COLOURS[token - FIRST_COLOUR]
    red, green, blue = colours.rgb(ground)
    ink = "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 127 else "#FFFFFF"
    return Text(text, Style(color=ink, bgcolor=ground, bold=True))


def _by_cells(panel: Panel, cell: Callable[[tuple[int, int]], Text]) -> list[Text]:
    rows, columns = range(len(panel.cells)), range(panel.cells.shape[1])
    return [Text().join(cell((row, column)) for column in columns) for row in rows]


GRIDS: Final[dict[str, Callable[[Panel, bool], list[Text]]]] = {
    "digits": _sudoku,
    "maze": _maze,
    "colours": _arc,
}


def _legend(panels: Sequence[Panel], samples: dict[str, Samples]) -> Text:
    """What the marks mean that need to be explained; nothing without any."""
    kind = samples[panels[0].look]
    explained = [Text.assemble(kind[name], f" {MEANINGS[name]}") for name in marks_of(panels) if name in kind]
    return Text("    ").join(explained)
