"""Which cells of a panel bear which mark, what each mark means in words, and which cells of a maze a line joins.

Pictures and terminals draw marks differently but put the same ones on the same cells, and explain those that occur.
"""

from collections.abc import Iterable
from typing import Final

from serrm.drawing.panels import Cells, Mask, Panel
from serrm.drawing.tasks import BLANK
from serrm.puzzles.arc.canvas import END_OF_GRID, PADDING
from serrm.puzzles.maze.grid import GOAL, PATH, START

Cell = tuple[int, int]

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
    """The R × C cells that bear each of its marks, by the mark's name in MEANINGS and in its order."""
    cells, is_wrong, is_given = panel.cells, panel.is_wrong, panel.is_given
    if panel.look == "digits":
        masks = {"given": is_given, "filled": (cells > BLANK) & ~is_given, "wrong": is_wrong}
    elif panel.look == "maze":
        is_path = cells == PATH
        masks = {"path": is_path & ~is_wrong, "stray": is_path & is_wrong}
        masks |= {"missed": ~is_path & is_wrong & ~is_given, "overwritten": is_wrong & is_given}
    else:
        masks = {"wrong": is_wrong, "end": cells == END_OF_GRID, "padding": cells == PADDING}
    return masks | {"changed": panel.is_changed}


def marks_of(panels: Iterable[Panel]) -> list[str]:
    """The marks that occur in any of the panels and need an explanation, in the order of MEANINGS."""
    found = {name for panel in panels for name, mask in marked(panel).items() if mask.any()}
    if "filled" not in found:  # what stands in a question is all given
        found.discard("given")
    return [name for name in MEANINGS if name in found]


def places(mask: Mask) -> list[Cell]:
    """Row and column of each cell of a mask."""
    return [(row, column) for row, column in zip(*(part.tolist() for part in mask.nonzero()), strict=True)]


def links(cells: Cells) -> list[tuple[Cell, Cell]]:
    """Pairs of neighbouring (row, column) that a maze's path joins; a path cell without a neighbour with itself.

    Start and goal are joined with path cells, not with each other.
    """
    is_path = cells == PATH
    is_on = is_path | (cells == START) | (cells == GOAL)
    is_alone = is_path.copy()
    joined: list[tuple[Cell, Cell]] = []
    for row, column in places(is_on):
        for other in ((row, column + 1), (row + 1, column)):
            is_inside = other[0] < cells.shape[0] and other[1] < cells.shape[1]
            if is_inside and is_on[other] and (is_path[row, column] or is_path[other]):
                joined.append(((row, column), other))
                is_alone[row, column] = is_alone[other] = False
    return joined + [(cell, cell) for cell in places(is_alone)]
