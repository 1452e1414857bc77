"""Any file of Sudoku puzzles scored with a checkpoint, whatever its format and the sizes of its grids.

The same scores as the evaluate stage, for puzzles that never went through the pipeline.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from serrm.arrays.stream import PuzzleArrays
from serrm.datasets.sets import check_answers
from serrm.devices import supported
from serrm.inference.load import load_model
from serrm.inference.predict import Predictor, refusal
from serrm.inference.sets import score_set
from serrm.models.layers import DTYPES
from serrm.puzzles.files import read_sudokus
from serrm.puzzles.raw import Numbered
from serrm.puzzles.sudoku import BLANK
from serrm.puzzles.sudoku_solver import answered
from serrm.puzzles.tasks import grid_task

BATCH_SIZE = {"cpu": 64, "cuda": 512}  # 9×9 puzzles at once


def score_file(
    checkpoint: Path,
    puzzles: Path,
    *,
    steps: int,
    device: torch.device,
    precision: str = "float32",
    batch_size: int | None = None,
) -> dict[str, Any]:
    """FSR and GPA of a checkpoint on the puzzles of a file, by size of grid, at 1, 2, 4, … and `steps` steps.

    Puzzles without an answer are solved exactly and those without a solution left out; both are counted. The
    result has the sets of a metric file (see `evaluate`).

    Raises ValueError for a damaged checkpoint, a malformed file or a wrong answer, and if nothing can be scored.
    """
    loaded, depths = load_model(checkpoint, device), depths_up_to(steps)
    precision, _ = supported(precision, False, device)
    predictor = Predictor(loaded, batch_size or BATCH_SIZE[device.type], DTYPES[precision])
    by_side: dict[int, list[Numbered]] = {}
    for number, puzzle in enumerate(read_sudokus(puzzles)):
        by_side.setdefault(puzzle.side, []).append((number, puzzle))
    try:
        sets = {
            f"{side}x{side}": _entry(predictor, side, own, depths, str(puzzles))
            for side, own in sorted(by_side.items())
        }
    except torch.OutOfMemoryError as error:
        raise ValueError(
            f"{device} has too little memory for {predictor.batch_size} puzzles at once"
        ) from error
    if not any(entry["status"] == "scored" for entry in sets.values()):
        nothing = "no puzzle with a blank cell and a solution"
        reasons = sorted({entry.get("reason", nothing) for entry in sets.values()})
        raise ValueError(f"{puzzles}: nothing to score: {'; '.join(reasons)}")
    return {
        "checkpoint": str(checkpoint),
        "puzzles": str(puzzles),
        "model_info": loaded.info,
        "device": str(device),
        "precision": precision,
        "sets": sets,
    }


def _entry(
    predictor: Predictor, side: int, numbered: Sequence[Numbered], depths: Sequence[int], source: str
) -> dict[str, Any]:
    """As in the metric file of an evaluation, with the counts of puzzles that came without an answer."""
    if reason := refusal(predictor.loaded.model, side, side + 2):
        return {"status": "cannot_extrapolate", "reason": reason}
    found = [(number, answered(puzzle)) for number, puzzle in numbered]
    solved = [(number, puzzle) for number, puzzle in found if puzzle is not None]
    scores: dict[str, Any] = {"status": "nothing_to_score"}
    if any((puzzle.question == 0).any() for _, puzzle in solved):
        check_answers(solved, side, source, grid_task("sudoku"))
        questions = np.stack([puzzle.question for _, puzzle in solved]) + np.uint8(BLANK)
        answers = np.stack([puzzle.answer for _, puzzle in solved if puzzle.answer is not None])
        puzzles = PuzzleArrays(f"{side}x{side}", side, questions, answers + np.uint8(BLANK))
        scores = score_set(predictor, puzzles, depths)
    return {
        **scores,
        "num_answers_computed": sum(puzzle.answer is None for _, puzzle in numbered)
        - len(found)
        + len(solved),
        "num_without_solution": len(found) - len(solved),
    }


def depths_up_to(steps: int) -> list[int]:
    """1, 2, 4, … and `steps` itself."""
    return sorted({2**power for power in range(steps.bit_length())} | {steps})
