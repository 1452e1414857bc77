"""The look of a task's grids: what a square shows, lines between squares, marks; colours as #rrggbb.

The official colours of ARC-AGI, and for marks those of Okabe and Ito, which all kinds of colour vision tell apart.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.boxes import Box

Tokens = UInt8[np.ndarray, " I"]
Rows = UInt8[np.ndarray, "_ _"]

INK, PAPER, GIVEN_TINT = "#1A1A1A", "#FFFFFF", "#EFEFEF"
FILLED: Final = "#0072B2"  # digits and paths that were not given
WRONG, WRONG_TINT = "#D55E00", "#F7BCAF"


class Cell(NamedTuple):
    """The look of a square; `plain` is its character where there are no colours."""

    ground: str
    ink: str
    symbol: str
    plain: str


class Keys(NamedTuple):
    """The keys that edit a question as text (`serrm demo`): characters with their labels."""

    labels: Mapping[str, str]
    brush: str = ""  # what a click draws; without one, a click chooses the square that a key fills
    unique: str = ""  # characters that stand in one square each


@dataclass(frozen=True, kw_only=True)
class Look:
    """The look of a task's grids."""

    cell: Callable[[int, bool, bool], Cell]  # of (token, is it given, is it wrong)
    # Squares that bold lines enclose; None on a side without boxes.
    box: Callable[[int], Box | None] = lambda side: None
    has_lines: bool = True  # between all squares
    is_light: bool = False  # symbols that are not given are not bold
    has_crosses: bool = False  # on wrong squares, whose colour stays
    # (tokens, side) → the rows that are shown.
    visible: Callable[[Tokens, int], Rows] = lambda tokens, side: tokens.reshape(side, side)
    legend: str = ""  # for a page of pictures


def digits(symbols: str, box: Callable[[int], Box | None] = lambda side: None) -> Look:
    """Digits of which the given ones are tinted: token 1 is a blank, v + 1 the digit v, with the character symbols[v].

    Larger digits than there are characters for are numbers; padding is "?".
    """

    def cell(token: int, is_given: bool, is_wrong: bool) -> Cell:
        value = token - 1
        shown = {-1: "?", 0: ""} | dict(enumerate(symbols[1:], start=1))
        symbol = shown.get(value, str(value))
        ground = WRONG_TINT if is_wrong else GIVEN_TINT if is_given else PAPER
        return Cell(ground, INK if is_given else FILLED, symbol, symbol or ".")

    legend = "given digits are bold, other digits are blue, and wrong squares are orange"
    return Look(cell=cell, box=box, is_light=True, legend=legend)
