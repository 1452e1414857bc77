"""The look of a task's grids: colours (#rrggbb) and symbols of cells, lines between cells, marks.

ARC-AGI has its official colours. Marks have colours of Okabe and Ito, which all kinds of colour vision tell apart.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from serrm.puzzles.boxes import Box
from serrm.puzzles.raw import Cells, Tokens

INK, PAPER, GIVEN_TINT = "#1A1A1A", "#FFFFFF", "#EFEFEF"
FILLED: Final = "#0072B2"  # digits and paths that are not in the question
WRONG, WRONG_TINT = "#D55E00", "#F7BCAF"


class CellLook(NamedTuple):
    """The look of a cell; `plain` is its character on a screen without colours."""

    ground: str
    ink: str
    symbol: str
    plain: str


class Keys(NamedTuple):
    """The keys that edit a question as text (`serrm demo`): characters with their labels."""

    labels: Mapping[str, str]
    brush: str = ""  # the character that a click draws; without one, it chooses the cell that a key fills
    unique: str = ""  # characters that may stand in one cell only


@dataclass(frozen=True, kw_only=True)
class Look:
    """The look of a task's grids."""

    cell: Callable[[int, bool, bool], CellLook]  # (token, is_given, is_wrong) → its look
    # side → the boxes that bold lines enclose; None for a side without boxes.
    box: Callable[[int], Box | None] = lambda side: None
    has_lines: bool = True  # between all cells
    bolds_only_givens: bool = False  # else all symbols are bold
    has_crosses: bool = False  # on wrong cells, which keep their colour
    # (tokens, side) → the rows to draw.
    visible: Callable[[Tokens, int], Cells] = lambda tokens, side: tokens.reshape(side, side)
    legend: str = ""  # for a page of pictures


def digits(symbols: str, box: Callable[[int], Box | None] = lambda side: None) -> Look:
    """Describe the look of a digit puzzle. Given digits are tinted. Token 1 is a blank, token v + 1 the digit v.

    `symbols[v]` is the character of digit v; digits without a character are written as numbers, and padding as "?".
    """

    def cell(token: int, is_given: bool, is_wrong: bool) -> CellLook:
        value = token - 1
        symbol_of = {-1: "?", 0: ""} | dict(enumerate(symbols[1:], start=1))
        symbol = symbol_of.get(value, str(value))
        ground = WRONG_TINT if is_wrong else GIVEN_TINT if is_given else PAPER
        return CellLook(ground, INK if is_given else FILLED, symbol, symbol or ".")

    legend = "given digits are bold, other digits are blue, and wrong squares are orange"
    return Look(cell=cell, box=box, bolds_only_givens=True, legend=legend)
