"""A panel as lines of text, for a terminal: each cell a character or two, with colours or without.

`terminal` puts blocks side by side. With colours a cell looks as in a figure; without, every mark is a character of
its own. (The paper's tokens, `serrm.puzzles.alphabet`.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

import numpy as np
from jaxtyping import UInt8
from rich.style import Style
from rich.text import Text

from serrm.drawing.colours import (
    ARC_COLOURS,
    CHANGED_TINT,
    FILLED,
    GOAL,
    PAPER,
    START,
    WALL,
    WRONG,
    WRONG_TINT,
    rgb,
)
from serrm.drawing.marks import marked
from serrm.drawing.panels import Panel
from serrm.drawing.paths import links
from serrm.drawing.symbols import sudoku_symbol
from serrm.puzzles.arc.canvas import END_OF_GRID, FIRST_COLOUR, PADDING
from serrm.puzzles.maze import grid as maze
from serrm.puzzles.sudoku.grid import box_for_side

FILLED_DIGIT: Final = Style(color="#1F8FD1")  # readable on black and on white
WRONG_DIGIT: Final = Style(color="#FFFFFF", bgcolor="#B5301A")
HATCH: Final = Style(color="#888888")
LINE: Final = Style(dim=True)
CHANGED: Final = Style(underline=True)
BOLD: Final = Style(bold=True)

# By the neighbours that a path cell is joined with: 1 above, 2 right, 4 below, 8 left.
PATH_LINES: Final = "•╹╺┗╻┃┏┣╸┛━┻┓┫┳╋"
MAZE_CHARACTERS: Final = "?# SGo"
ARC_CHARACTERS: Final = ".|0123456789"


@dataclass(frozen=True)
class Manner:
    """What a terminal can show: colours or not, more than ASCII or not, two characters a cell or only half of one."""

    has_colours: bool
    is_ascii: bool = False
    is_small: bool = False


def sudoku_block(panel: Panel, manner: Manner) -> list[Text]:
    """n + the lines between boxes; a cell is its digit and, without colours, its mark."""
    side = panel.num_rows
    box = box_for_side(side)
    upright, level, crossing = "|-+" if manner.is_ascii else "│─┼"
    rule = Text(crossing.join([level * (2 * box.cols + 1)] * box.rows), LINE)
    lines = []
    for row in range(side):
        if row and row % box.rows == 0:
            lines.append(rule)
        line = Text()
        for column in range(side):
            if column % box.cols == 0:
                line.append(f"{upright} " if column else " ", LINE)
            line.append_text(_sudoku_cell(panel, row, column, manner))
        lines.append(line)
    return lines


def _sudoku_cell(panel: Panel, row: int, column: int, manner: Manner) -> Text:
    symbol = sudoku_symbol(int(panel.cells[row, column])) or "."
    is_wrong, is_changed = bool(panel.is_wrong[row, column]), bool(panel.is_changed[row, column])
    if not manner.has_colours:
        return Text(symbol + _plain_mark(is_wrong, is_changed))
    style = BOLD if panel.is_given[row, column] else LINE if symbol == "." else FILLED_DIGIT
    style += WRONG_DIGIT if is_wrong else Style()
    return Text.assemble((symbol, style + CHANGED if is_changed else style), " ")


def _plain_mark(is_wrong: bool, is_changed: bool) -> str:
    return "*" if is_wrong else "'" if is_changed else " "


def maze_block(panel: Panel, manner: Manner) -> list[Text]:
    """Walls, ends, and the path as a line; without colours the characters of a maze file, and marks."""
    if not manner.has_colours:
        return [Text("".join(row)) for row in _maze_characters(panel)]
    if manner.is_small:
        return half_blocks(_maze_colours(panel))
    arms, masks = _arms(panel), marked(panel)
    lines = []
    for row in range(panel.num_rows):
        line = Text()
        for column in range(panel.num_columns):
            place = row, column
            line.append_text(_maze_cell(panel, place, int(arms[place]), bool(masks["missed"][place]), manner))
        lines.append(line)
    return lines


def _maze_characters(panel: Panel) -> list[list[str]]:
    masks = marked(panel)
    characters = np.array(list(MAZE_CHARACTERS))[panel.cells]
    for name, character in (("overwritten", "!"), ("stray", "x"), ("missed", ".")):
        characters[masks[name]] = character
    rows: list[list[str]] = characters.tolist()
    return rows


def _maze_cell(panel: Panel, place: tuple[int, int], arms: int, is_missed: bool, manner: Manner) -> Text:
    token, is_wrong = int(panel.cells[place]), bool(panel.is_wrong[place])
    is_stray = is_wrong and token == maze.PATH
    ground = CHANGED_TINT if panel.is_changed[place] else PAPER
    if is_wrong and panel.is_given[place]:
        ground = WRONG_TINT
    elif token == maze.WALL:
        ground = WALL
    line = Style(color=WRONG if is_stray else FILLED, bgcolor=ground)
    right = ("-" if manner.is_ascii else "━") if arms & 2 else " "
    if token in (maze.START, maze.GOAL):
        end = Style(color=PAPER, bgcolor=START if token == maze.START else GOAL, bold=True)
        return Text.assemble((MAZE_CHARACTERS[token], end), (right, line))
    if token == maze.PATH:
        return Text(("o" if manner.is_ascii else PATH_LINES[arms]) + right, line)
    return Text((("." if manner.is_ascii else "◦") if is_missed else " ") + " ", line)


def _arms(panel: Panel) -> UInt8[np.ndarray, "_ _"]:
    """For each cell the neighbours that the path joins it with, as in PATH_LINES."""
    arms = np.zeros(panel.cells.shape, dtype=np.uint8)
    for first, second in links(panel.cells):
        if second != first:
            is_level = second[0] == first[0]
            arms[first] |= 2 if is_level else 4
            arms[second] |= 8 if is_level else 1
    return arms


def arc_block(panel: Panel, manner: Manner) -> list[Text]:
    """Coloured cells; without colours the digit of each and its mark."""
    if manner.has_colours and manner.is_small:
        return half_blocks(_arc_colours(panel))
    lines = []
    for row in range(panel.num_rows):
        line = Text()
        for column in range(panel.num_columns):
            line.append_text(_arc_cell(panel, (row, column), manner))
        lines.append(line)
    return lines


def _arc_cell(panel: Panel, place: tuple[int, int], manner: Manner) -> Text:
    token = int(panel.cells[place])
    is_wrong, is_changed = bool(panel.is_wrong[place]), bool(panel.is_changed[place])
    if not manner.has_colours:
        return Text(ARC_CHARACTERS[token] + _plain_mark(is_wrong, is_changed))
    corner = "'" if manner.is_ascii else "▝"
    text = (">" if is_wrong else " ") + (corner if is_changed else "<" if is_wrong else " ")
    if token in (PADDING, END_OF_GRID):
        hatch = ARC_CHARACTERS[token] if manner.is_ascii else "░▒"[token]
        return Text(text.replace(" ", hatch), HATCH)
    ground = ARC_COLOURS[token - FIRST_COLOUR]
    return Text(text, Style(color=_ink_on(ground), bgcolor=ground, bold=True))


def half_blocks(colours: Sequence[Sequence[str]]) -> list[Text]:
    """Two rows of cells a line, a character a cell: a grid in half the width, without marks."""
    lines = []
    for top, bottom in zip_longest(colours[::2], colours[1::2]):
        line = Text()
        for place, colour in enumerate(top):
            line.append("▀", Style(color=colour, bgcolor=bottom[place] if bottom else None))
        lines.append(line)
    return lines


def _maze_colours(panel: Panel) -> list[list[str]]:
    tokens = (WRONG_TINT, WALL, PAPER, START, GOAL, FILLED)
    return [
        [WRONG if is_stray else tokens[token] for token, is_stray in zip(*pair, strict=True)]
        for pair in zip(panel.cells.tolist(), marked(panel)["stray"].tolist(), strict=True)
    ]


def _arc_colours(panel: Panel) -> list[list[str]]:
    tokens = ("#E4E4E4", "#888888", *ARC_COLOURS)
    return [[tokens[token] for token in row] for row in panel.cells.tolist()]


def _ink_on(ground: str) -> str:
    """Black or white, whichever is further from a colour in lightness."""
    red, green, blue = rgb(ground)
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 127 else "#FFFFFF"
