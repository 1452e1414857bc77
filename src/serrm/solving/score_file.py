"""Any file of Sudoku puzzles scored with a checkpoint, whatever its format and the sizes of its grids.

The same scores as the evaluate stage, for puzzles that never went through the pipeline. Puzzles are read one by
one and wait until a batch of their size is full, so memory does not grow with the file.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from serrm.datasets.sudoku import check_puzzles
from serrm.datasets.sudoku_raw import Numbered
from serrm.inference.evaluate_sets import add_batch, rows_at_once, scored
from serrm.inference.load import load_model
from serrm.inference.predict import refusal
from serrm.models.formulations import DTYPES
from serrm.models.recurrence import RecurrentModel
from serrm.progress import watch
from serrm.puzzles.sudoku.grid import box_for_side
from serrm.puzzles.sudoku.parse import Puzzle, read_puzzles
from serrm.puzzles.sudoku.solve import solve
from serrm.scoring.metrics import SudokuTally
from serrm.training.device import supported

BATCH_SIZE = {"cpu": 64, "cuda": 512}  # 9×9 puzzles at once


@dataclass
class SizeScores:
    """What is known of the puzzles of one side: those that wait for a full batch, and counts of all others."""

    tallies: dict[int, SudokuTally]
    batch_size: int
    refusal: str | None = None  # why the model cannot take this size
    waiting: list[Numbered] = field(default_factory=list)
    num_answers_computed: int = 0
    num_without_solution: int = 0

    def entry(self) -> dict[str, Any]:
        """As in the metric file of an evaluation, with the counts of puzzles that came without an answer."""
        if self.refusal is not None:
            return {"status": "cannot_extrapolate", "reason": self.refusal}
        counts = {
            "num_answers_computed": self.num_answers_computed,
            "num_without_solution": self.num_without_solution,
        }
        has_blanks = next(iter(self.tallies.values())).num_blank > 0
        return {**(scored(self.tallies) if has_blanks else {"status": "nothing_to_score"}), **counts}


class FileScorer:
    """A model and the scores so far, by side of the grid."""

    def __init__(
        self, model: RecurrentModel, source: str, depths: Sequence[int], batch_size: int, precision: str
    ) -> None:
        self.model, self.source, self.depths, self.batch_size = model, source, depths, batch_size
        self.precision, _ = supported(precision, False, model.initial.device)
        self.sizes: dict[int, SizeScores] = {}

    def add(self, number: int, puzzle: Puzzle) -> None:
        """Count a puzzle, or keep it until a batch of its size is full. `number` is its place in the file."""
        side = puzzle.side
        if side not in self.sizes:
            tallies = {depth: SudokuTally() for depth in self.depths}
            why_not = refusal(self.model, side, side + 2)
            self.sizes[side] = SizeScores(tallies, rows_at_once(side, self.batch_size), why_not)
        size = self.sizes[side]
        if size.refusal is not None:
            return
        if puzzle.answer is None:
            answer = solve(puzzle.question, box_for_side(side))
            if answer is None:
                size.num_without_solution += 1
                return
            size.num_answers_computed += 1
            puzzle = replace(puzzle, answer=answer)
        size.waiting.append((number, puzzle))
        if len(size.waiting) == size.batch_size:
            self._flush(side)

    def finish(self) -> dict[str, Any]:
        """Score what still waits; the entries of all sizes, smallest first."""
        for side in self.sizes:
            self._flush(side)
        return {f"{side}x{side}": self.sizes[side].entry() for side in sorted(self.sizes)}

    def _flush(self, side: int) -> None:
        size = self.sizes[side]
        if not size.waiting:
            return
        check_puzzles(size.waiting, side, self.source)
        questions = np.stack([puzzle.question for _, puzzle in size.waiting]) + np.uint8(1)
        answers = np.stack([puzzle.answer for _, puzzle in size.waiting if puzzle.answer is not None])
        size.waiting.clear()
        dtype = DTYPES[self.precision]
        for _ in add_batch(size.tallies, self.model, questions, answers + np.uint8(1), side + 2, dtype):
            pass  # counted, which is all that is wanted


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
    loaded = load_model(checkpoint, device)
    batch_size = batch_size or BATCH_SIZE.get(device.type, BATCH_SIZE["cpu"])
    scorer = FileScorer(loaded.model, str(puzzles), depths_up_to(steps), batch_size, precision)
    try:
        for number, puzzle in enumerate(watch(read_puzzles(puzzles), "scoring", unit="puzzle")):
            scorer.add(number, puzzle)
        sets = scorer.finish()
    except torch.OutOfMemoryError as error:
        raise ValueError(f"{device} has too little memory for {batch_size} puzzles at once") from error
    if not any(entry["status"] == "scored" for entry in sets.values()):
        reasons = {
            entry.get("reason", "no puzzle with a blank cell and a solution") for entry in sets.values()
        }
        raise ValueError(f"{puzzles}: nothing to score: {'; '.join(sorted(reasons))}")
    return {
        "checkpoint": str(checkpoint),
        "puzzles": str(puzzles),
        "model_info": {
            "family": loaded.cell.model.family,
            "parameters": loaded.config["parameters"],
            "parameters_with_task_types": loaded.config["parameters_with_task_types"],
        },
        "device": str(device),
        "precision": scorer.precision,
        "sets": sets,
    }


def depths_up_to(steps: int) -> list[int]:
    """1, 2, 4, … and `steps` itself."""
    return sorted({2**power for power in range(steps.bit_length())} | {steps})
