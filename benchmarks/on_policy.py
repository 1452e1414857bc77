"""Partly solved training puzzles where a model fails, in the form of a mirror: to continue training on.

python benchmarks/on_policy.py CHECKPOINT MIRROR TARGET; params.yaml: source: {kind: mirror, root: TARGET, …}
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import typer

from serrm.core.progress import watch
from serrm.inference.predict import load_model
from serrm.inference.search import Limits, Search, Shares, fillings, search
from serrm.puzzles import raw
from serrm.puzzles.sudoku import data as sudoku_data
from serrm.puzzles.sudoku import symmetries as sudoku_symmetries
from serrm.puzzles.task import Task
from serrm.puzzles.tasks import TASKS


class Guided(Search):
    """A search that guesses where the model does, but always fills in the right symbol; it keeps those fillings."""

    def __init__(self, key: int, puzzle: raw.Puzzle) -> None:
        """Begin with the question of a puzzle whose answer is known."""
        assert puzzle.answer is not None
        super().__init__(key, puzzle.question + 1)
        self.right, self.found = puzzle.answer + 1, list[raw.Puzzle]()

    def branch(self, shares: Shares, task: Task) -> None:
        """Queue the right filling alone."""
        for _, filled in fillings(self.asked, shares, task):
            if ((filled == 1) | (filled == self.right)).all():
                self.waiting.append((0.0, self.attempts, filled))
                self.found.append(raw.Puzzle(filled - 1, self.right - 1, "on-policy"))


def augmented(puzzles: list[raw.Puzzle], num: int) -> Iterator[raw.Puzzle]:
    """The puzzles, and then `num` − 1 random symmetric copies of each."""
    yield from puzzles
    for each in range(1, num):
        for number, puzzle in enumerate(puzzles):
            assert puzzle.answer is not None
            row = sudoku_symmetries.draw_symmetry(0, number, each, puzzle.side)[None]
            tokens = (puzzle.question[None] + 1, puzzle.answer[None] + 1)
            moved = (sudoku_symmetries.apply_symmetries(part, row, puzzle.side)[0] - 1 for part in tokens)
            yield raw.Puzzle(*moved)


def main(
    checkpoint: Path, mirror: Path, target: Path, copies: int = 2, guesses: int = 8, seed: int = 0
) -> None:
    """Copy `mirror` to `target` and add to its training puzzles the fillings of those that the model fails."""
    loaded, rng = load_model(checkpoint, torch.device("cpu")), np.random.default_rng(seed)
    shutil.copytree(mirror, target)
    file = target / "sudoku-extreme-1k" / "train.csv"
    puzzles = list(sudoku_data.TEXT.read_table(file))
    asked = [Guided(number, each) for number, each in enumerate(augmented(puzzles, copies))]
    task, limits = TASKS["sudoku"], Limits(16, guesses)
    done = search(loaded.model, iter(asked), 11, task, limits, 32, loaded.settings.train.loss, torch.bfloat16)
    steps = sum(each.steps for each in watch(done, "on-policy", len(asked), unit="puzzle"))
    found = [each for guided in asked for each in guided.found]
    failed = sum(bool(guided.found) for guided in asked)
    print(f"{failed} of {len(asked)} failed; {len(found)} partly solved puzzles; {steps} supervision steps")
    everything = puzzles + found
    sudoku_data.TEXT.write_table(file, [everything[number] for number in rng.permutation(len(everything))])


if __name__ == "__main__":
    typer.run(main)
