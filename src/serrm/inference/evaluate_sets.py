"""Scoring Sudoku and maze sets: one answer a puzzle, compared with the label at every depth."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from serrm.arrays.puzzles import PuzzleArrays, evaluation_sets, open_arrays, trained_size
from serrm.arrays.stream import Examples
from serrm.inference.gallery import Gallery
from serrm.inference.predict import Questions, Work, predict_batches
from serrm.inference.tasks import TASKS
from serrm.models.recurrence import CannotExtrapolate
from serrm.scoring.metrics import SudokuTally, added_up


def evaluate_sets(work: Work, arrays: Path, gallery: Gallery, is_curve: bool = False) -> dict[str, Any]:
    """Scores of every test set by name; for a learning curve of the size trained on alone, its first puzzles."""
    if not is_curve:
        return {name: score_set(work, open_arrays(arrays, name), gallery) for name in evaluation_sets(arrays)}
    puzzles = of_trained_size(work, arrays)
    if puzzles is None:
        return {}
    return {puzzles.name: score_set(work, puzzles.first(work.settings.curve_puzzles), gallery)}


def of_trained_size(work: Work, arrays: Path) -> PuzzleArrays | None:
    """The test puzzles of the size trained on; None where a task's arrays hold none by that name."""
    name = trained_size(arrays, work.loaded.config["side"])
    return None if name is None else open_arrays(arrays, name)


def score_set(work: Work, puzzles: PuzzleArrays, gallery: Gallery) -> dict[str, Any]:
    """Scores of one set at every depth of the settings, or the reason why the model cannot take its size."""
    own: dict[int, SudokuTally] | str
    try:
        own = _tallies_of(work, puzzles, gallery)
    except CannotExtrapolate as error:
        own = str(error)
    gallery.share(puzzles.name, work.processes)
    of_all: list[dict[int, SudokuTally] | str] = work.processes.collect(own)
    if reasons := [each for each in of_all if isinstance(each, str)]:
        return {"status": "cannot_extrapolate", "reason": reasons[0]}
    counted = [each for each in of_all if not isinstance(each, str)]
    return entry_of({step: added_up([each[step] for each in counted]) for step in work.settings.steps})


def _tallies_of(work: Work, puzzles: PuzzleArrays, gallery: Gallery) -> dict[int, SudokuTally]:
    """A tally for every depth of the batches that are this process's; the gallery keeps the first puzzles."""
    tally = TASKS[puzzles.task].tally
    assert tally is not None, "a task scored by votes has no such sets"
    tallies, most = {step: tally() for step in work.settings.steps}, gallery.num
    for found in predict_batches(work, questions_of(puzzles), f"evaluating {puzzles.name}"):
        questions, answers, _ = found.batch
        tallies[found.step].add(questions, found.tokens, answers)
        for place, number in enumerate(range(found.start, min(found.start + len(questions), most))):
            name = f"{puzzles.name} puzzle {number + 1}"
            gallery.add(puzzles.name, puzzles.side, number, name, found, place)
    return tallies


def entry_of(tallies: Mapping[int, SudokuTally]) -> dict[str, Any]:
    """The entry of a scored set in a metric file."""
    first = next(iter(tallies.values()))
    return {
        "status": "scored",
        "num_puzzles": first.num_puzzles,
        "num_blank": first.num_blank,
        "steps": {str(step): tally.scores() for step, tally in tallies.items()},
    }


def questions_of(puzzles: PuzzleArrays) -> Questions:
    """All puzzles of a set, in order."""

    def gather(start: int, num: int) -> Examples:
        rows = slice(start, start + num)
        questions, answers = np.asarray(puzzles.questions[rows]), np.asarray(puzzles.answers[rows])
        return Examples(questions, answers, np.zeros(num, dtype=np.int64))

    return Questions(puzzles.side, puzzles.num_symbols, len(puzzles), gather)
