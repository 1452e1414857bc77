"""Which cells of a maze a drawn path joins: path cells, start and goal with those beside them.

Both ways of drawing show a path as a line. (The paper's mazes mark a path cell by cell.)
"""

import numpy as np

from serrm.drawing.panels import Cells
from serrm.puzzles.maze.grid import GOAL, PATH, START

Cell = tuple[int, int]


def links(cells: Cells) -> list[tuple[Cell, Cell]]:
    """Pairs of neighbouring (row, column) that a line joins; a path cell without a neighbour with itself.

    Start and goal are joined with path cells, not with each other.
    """
    is_path = cells == PATH
    is_end = (cells == START) | (cells == GOAL)
    is_on = is_path | is_end
    joined: list[tuple[Cell, Cell]] = []
    is_alone = is_path.copy()
    for row, column in np.argwhere(is_on).tolist():
        for other in ((row, column + 1), (row + 1, column)):
            is_inside = other[0] < cells.shape[0] and other[1] < cells.shape[1]
            if is_inside and is_on[other] and (is_path[row, column] or is_path[other]):
                joined.append(((row, column), other))
                is_alone[row, column] = is_alone[other] = False
    return joined + [((row, column), (row, column)) for row, column in np.argwhere(is_alone).tolist()]
