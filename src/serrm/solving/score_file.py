"""Any file of Sudoku puzzles scored with a checkpoint, whatever its format and the sizes of its grids.

The same scores as the evaluate stage, for puzzles that never went through the pipeline. Puzzles are read one by
one and wait until a batch of their size is full, so memory does not grow with the file.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from serrm.datasets.sets import check_answers
from serrm.inference.load import load_model
from serrm.inference.predict import predict, refusal, rows_at_once, symbols_of
from serrm.inference.sets import entry_of
from serrm.models.formulations import DTYPES
from serrm.models.recurrence import RecurrentModel
from serrm.progress import watch
from serrm.puzzles.raw import Numbered
from serrm.puzzles.sudoku.parse import Puzzle, read_puzzles
from serrm.puzzles.sudoku.solve import answered
from serrm.puzzles.tasks import grid_task
from serrm.scoring.metrics import SudokuTally
from serrm.training.device import supported

BATCH_SIZE = {"cpu": 64, "cuda": 512}  # 9×9 puzzles at once


@dataclass
class SizeScores:
    """The puzzles of one side: those that wait for a full batch, and counts of all others."""

    model: RecurrentModel
    side: int
    tallies: dict[int, SudokuTally]  # by number of supervision steps
    source: str
    refusal: str | None  # why the model cannot take this size
    waiting: list[Numbered] = field(default_factory=list)
    num_answers_computed: int = 0
    num_without_solution: int = 0

    def add(self, number: int, puzzle: Puzzle) -> None:
        """Let a puzzle wait, with its answer. `number` is its place in the file."""
        found = answered(puzzle)
        if found is None:
            self.num_without_solution += 1
            return
        self.num_answers_computed += puzzle.answer is None
        self.waiting.append((number, found))

    def count(self, dtype: torch.dtype) -> None:
        """Score the puzzles that wait."""
        if not self.waiting:
            return
        check_answers(self.waiting, self.side, self.source, grid_task("sudoku"))
        questions = np.stack([puzzle.question for _, puzzle in self.waiting]) + np.uint8(1)
        answers = np.stack([puzzle.answer for _, puzzle in self.waiting if puzzle.answer is not None])
        self.waiting.clear()
        tokens = torch.from_numpy(questions.astype(np.int64)).to(self.model.initial.device)
        for step, output in predict(self.model, tokens, self.side + 2, tuple(self.tallies), dtype):
            self.tallies[step].add(questions, symbols_of(output.logits), answers + np.uint8(1))

    def entry(self) -> dict[str, Any]:
        """As in the metric file of an evaluation, with the counts of puzzles that came without an answer."""
        if self.refusal is not None:
            return {"status": "cannot_extrapolate", "reason": self.refusal}
        has_blanks = next(iter(self.tallies.values())).num_blank > 0
        return {
            **(entry_of(self.tallies) if has_blanks else {"status": "nothing_to_score"}),
            "num_answers_computed": self.num_answers_computed,
            "num_without_solution": self.num_without_solution,
        }


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
    precision, _ = supported(precision, False, device)
    try:
        sizes = _read_and_count(loaded.model, puzzles, depths_up_to(steps), batch_size, DTYPES[precision])
    except torch.OutOfMemoryError as error:
        raise ValueError(f"{device} has too little memory for {batch_size} puzzles at once") from error
    sets = {f"{side}x{side}": size.entry() for side, size in sorted(sizes.items())}
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


def _read_and_count(
    model: RecurrentModel, file: Path, depths: list[int], batch_size: int, dtype: torch.dtype
) -> dict[int, SizeScores]:
    """What is known of the puzzles of a file, by side."""
    sizes: dict[int, SizeScores] = {}
    for number, puzzle in enumerate(watch(read_puzzles(file), "scoring", unit="puzzle")):
        side = puzzle.side
        if side not in sizes:
            tallies = {depth: SudokuTally() for depth in depths}
            sizes[side] = SizeScores(model, side, tallies, str(file), refusal(model, side, side + 2))
        size = sizes[side]
        if size.refusal is None:
            size.add(number, puzzle)
            if len(size.waiting) == rows_at_once(side, batch_size):
                size.count(dtype)
    for size in sizes.values():
        size.count(dtype)
    return sizes


def depths_up_to(steps: int) -> list[int]:
    """1, 2, 4, … and `steps` itself."""
    return sorted({2**power for power in range(steps.bit_length())} | {steps})
