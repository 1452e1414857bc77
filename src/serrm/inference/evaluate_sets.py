"""Scoring Sudoku and maze sets: one answer a puzzle, compared with the label at every depth."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import UInt8

from serrm.arrays.puzzles import PuzzleArrays, evaluation_sets, open_arrays, trained_size
from serrm.config import HEADLINE_STEPS, EvaluateCell, EvaluateSettings
from serrm.inference.gallery import Gallery
from serrm.inference.load import LoadedModel
from serrm.inference.predict import predict
from serrm.kernels.accelerate import accelerate
from serrm.models.formulations import DTYPES
from serrm.models.recurrence import CannotExtrapolate, RecurrentModel
from serrm.progress import watch
from serrm.puzzles.alphabet import alphabet
from serrm.scoring.mazes import MazeTally
from serrm.scoring.metrics import SudokuTally, added_up
from serrm.training.device import supported
from serrm.training.processes import ALONE, Processes

Grids = UInt8[np.ndarray, "N I"]
Tally = SudokuTally | MazeTally
Watch = Callable[[int, int, tuple[Grids, Grids], Grids], None]
TALLIES: dict[str, Callable[[], Tally]] = {"sudoku": SudokuTally, "maze": MazeTally}


def evaluate_sets(
    loaded: LoadedModel,
    arrays: Path,
    cell: EvaluateCell,
    device: torch.device,
    gallery: Gallery,
    is_curve: bool = False,
    processes: Processes = ALONE,
) -> dict[str, Any]:
    """Scores of every test set by name; for a learning curve of the size trained on alone, its first puzzles."""
    num, names = cell.evaluate.curve_puzzles, evaluation_sets(arrays)
    if is_curve:
        names = [name for name in names if name == trained_size(arrays, loaded.config["side"])]
    opened = (open_arrays(arrays, name) for name in names)
    chosen = (puzzles.first(num) if is_curve else puzzles for puzzles in opened)
    return {
        puzzles.name: score_set(loaded, puzzles, cell.evaluate, device, gallery, processes)
        for puzzles in chosen
    }


def score_set(
    loaded: LoadedModel,
    puzzles: PuzzleArrays,
    settings: EvaluateSettings,
    device: torch.device,
    gallery: Gallery | None = None,
    processes: Processes = ALONE,
) -> dict[str, Any]:
    """Scores of one set at every depth of the settings, or the reason why the model cannot take its size.

    Several processes take the batches in turns: each batch is what it would be for one.
    """
    size = rows_at_once(puzzles.side, settings.batch_size, puzzles.num_symbols)
    gallery = gallery or Gallery(puzzles.task, 0)

    def watch(number: int, step: int, batch: tuple[Grids, Grids], predicted: Grids) -> None:
        first = (number // size * processes.num + processes.rank) * size  # of this batch, in the set
        for place in range(max(0, min(len(predicted), gallery.num - first))):
            question, answer = (part[place] for part in batch)
            name = f"{puzzles.name} puzzle {first + place + 1}"
            shown = (name, question, answer, step, predicted[place], first + place)
            gallery.add(puzzles.name, puzzles.side, *shown)

    own: dict[int, Tally] | str
    counted: dict[int, Tally] = {}
    try:
        for num, (part, of_part) in enumerate(parts_of(puzzles, settings)):
            batches = _batches(part, size, processes)
            told = None if num else watch
            tallied = score_batches(loaded, batches, part.side, of_part, device, part.task, told)
            counted |= {
                step: added_up([counted[step], new] if num else [new]) for step, new in tallied.items()
            }
        own = counted
    except CannotExtrapolate as error:
        own = str(error)
    gallery.share(puzzles.name, processes)
    of_all: list[dict[int, Tally] | str] = processes.collect(own)
    for found in of_all:
        if isinstance(found, str):
            return {"status": "cannot_extrapolate", "reason": found}
    tallies = [found for found in of_all if not isinstance(found, str)]
    return scored({step: added_up([each[step] for each in tallies]) for step in settings.steps})


def parts_of(
    puzzles: PuzzleArrays, settings: EvaluateSettings
) -> list[tuple[PuzzleArrays, EvaluateSettings]]:
    """The set with its settings; where fewer puzzles go deeper, those, and the others at the usual steps."""
    num, usual = settings.deep_puzzles, tuple(step for step in settings.steps if step <= HEADLINE_STEPS)
    if num is None or num >= len(puzzles) or usual == settings.steps:
        return [(puzzles, settings)]
    rest = (puzzles.part(num), settings.model_copy(update={"steps": usual}))
    return [(puzzles.first(num), settings), *([rest] if usual else [])]


def score_batches(
    loaded: LoadedModel,
    batches: Iterable[tuple[Grids, Grids]],
    side: int,
    settings: EvaluateSettings,
    device: torch.device,
    task: str = "sudoku",
    watch: Watch | None = None,
) -> dict[int, Tally]:
    """A tally for every depth over batches of (questions, answers), tokens of one size of grid.

    `watch` sees every prediction: number of the batch's first puzzle, depth, (questions, answers), predictions.
    """
    precision, compiles = supported(settings.precision, settings.compile, device)
    accelerate(loaded.model, compiles=compiles)
    tallies = {step: TALLIES[task]() for step in settings.steps}
    num_symbols, number = alphabet(task, side).num_symbols, 0
    rows = rows_at_once(side, settings.batch_size, num_symbols)
    for batch in batches:
        for step, predicted in add_batch(tallies, loaded.model, *batch, num_symbols, DTYPES[precision], rows):
            if watch is not None:
                watch(number, step, batch, predicted)
        number += len(batch[0])
    return tallies


def add_batch(
    tallies: Mapping[int, Tally],
    model: RecurrentModel,
    questions: Grids,
    answers: Grids,
    num_symbols: int,
    dtype: torch.dtype,
    rows: int | None = None,
) -> Iterator[tuple[int, Grids]]:
    """Predict one batch of tokens, all of one size of grid, and count it in the tally of every depth.

    Yields each depth with its predictions once they are counted. `rows` as in `predict_logits`.
    """
    tokens = torch.from_numpy(questions.astype(np.int64)).to(model.initial.device)
    for step, symbols in predict(model, tokens, num_symbols, tuple(tallies), dtype, rows):
        predicted = symbols.cpu().numpy().astype(np.uint8)
        tallies[step].add(questions, predicted, answers)
        yield step, predicted


def scored(tallies: Mapping[int, Tally]) -> dict[str, Any]:
    """The entry of a scored set in a metric file; a step says of how many puzzles it is if those are fewer."""
    most = max(tallies.values(), key=lambda tally: tally.num_puzzles)
    scores = {str(step): tally.scores() for step, tally in tallies.items()}
    for step, tally in tallies.items():
        if tally.num_puzzles < most.num_puzzles:
            scores[str(step)]["num_puzzles"] = float(tally.num_puzzles)
    return {
        "status": "scored",
        "num_puzzles": most.num_puzzles,
        "num_blank": most.num_blank,
        "steps": scores,
    }


def _batches(puzzles: PuzzleArrays, size: int, processes: Processes) -> Iterator[tuple[Grids, Grids]]:
    """This process's batches of `size` puzzles."""
    starts = range(processes.rank * size, len(puzzles), processes.num * size)
    name, is_quiet = f"evaluating {puzzles.name}", not processes.is_first
    for start in watch(starts, name, len(starts), unit="batch", is_quiet=is_quiet):
        rows = slice(start, start + size)
        yield np.asarray(puzzles.questions[rows]), np.asarray(puzzles.answers[rows])


def rows_at_once(side: int, batch_size: int, num_symbols: int | None = None) -> int:
    """How many puzzles of a side need the memory of `batch_size` 9×9 Sudoku: attention grows with I²K.

    `num_symbols` is K, that of Sudoku if not given.
    """
    usual = side if num_symbols is None else num_symbols - 2
    return max(1, batch_size * 9**5 // (side**4 * usual))
