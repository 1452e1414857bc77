"""The colours of all drawings: the official ones of ARC-AGI, and our own for marks.

Ours are those of Okabe and Ito, told apart by all common kinds of colour vision, and tints of them; a mark never
rests on its colour alone where it may stand on a coloured cell. (The paper's figures of ARC use the official colours.)
"""

from typing import Final

ARC_COLOURS: Final = (
    "#000000",
    "#0074D9",
    "#FF4136",
    "#2ECC40",
    "#FFDC00",
    "#AAAAAA",
    "#F012BE",
    "#FF851B",
    "#7FDBFF",
    "#870C25",
)
"""The ten colours of ARC-AGI in their order."""
ARC_LINE: Final = "#555555"

INK: Final = "#1A1A1A"
FAINT_INK: Final = "#666666"
LINE: Final = "#B4B4B4"
GIVEN_TINT: Final = "#EFEFEF"
PAPER: Final = "#FFFFFF"
FILLED: Final = "#0072B2"  # digits and paths that were not given
WRONG: Final = "#D55E00"
WRONG_TINT: Final = "#F7BCAF"
CHANGED: Final = "#E69F00"
CHANGED_TINT: Final = "#FBE3A8"
WALL: Final = "#3A3A3A"
START: Final = "#009E73"
GOAL: Final = "#CC79A7"


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255 each, of a colour written #RRGGBB."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue
