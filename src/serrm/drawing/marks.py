"""Which cells of a panel bear which mark, and what each mark means in words.

Figures and terminals draw marks differently but put the same ones on the same cells, and explain those that
occur. (The paper's pictures of predictions have no marks.)
"""

from collections.abc import Iterable
from typing import Final

from serrm.drawing.panels import Mask, Panel
from serrm.drawing.symbols import BLANK
from serrm.puzzles.arc.canvas import END_OF_GRID, PADDING
from serrm.puzzles.maze.grid import PATH

MEANINGS: Final = {
    "given": "given",
    "filled": "filled in",
    "path": "path",
    "stray": "not on the answer's path",
    "missed": "on the answer's path only",
    "overwritten": "not as given",
    "wrong": "wrong",
    "end": "end of grid",
    "padding": "padding",
    "changed": "changed since the panel before",
}


def marked(panel: Panel) -> dict[str, Mask]:
    """The R × C cells that bear each of a task's marks, by the mark's name in MEANINGS and in its order."""
    if panel.task == "sudoku":
        is_filled = (panel.cells > BLANK) & ~panel.is_given
        masks = {"given": panel.is_given, "filled": is_filled, "wrong": panel.is_wrong}
    elif panel.task == "maze":
        is_path = panel.cells == PATH
        masks = {
            "path": is_path & ~panel.is_wrong,
            "stray": is_path & panel.is_wrong,
            "missed": ~is_path & panel.is_wrong & ~panel.is_given,
            "overwritten": panel.is_wrong & panel.is_given,
        }
    else:
        is_end, is_padding = panel.cells == END_OF_GRID, panel.cells == PADDING
        masks = {"wrong": panel.is_wrong, "end": is_end, "padding": is_padding}
    return masks | {"changed": panel.is_changed}


def marks_of(panels: Iterable[Panel]) -> list[str]:
    """The marks that occur in any of the panels and need an explanation, in the order of MEANINGS."""
    found = {name for panel in panels for name, mask in marked(panel).items() if mask.any()}
    if "filled" not in found:  # what stands in a question is all given
        found.discard("given")
    return [name for name in MEANINGS if name in found]
