"""Search effort of CP-SAT with and without the network's digits as hints, as a table.

    python -m benchmarks.exact > benchmarks/exact.md

G-RRM (arXiv 2607.02491), by the paper's authors, guides exact solvers with the digits of an SE-RRM. `serrm solve
--exact` does so with CP-SAT on the puzzles that the network leaves unsolved. Here every puzzle is solved in four ways:
without hints, with the digits of which the network is sure, as `--exact` has them, with all its digits, and with
the right ones. The puzzles are generated and have one solution each. The network is the packaged checkpoint for the
size. CP-SAT runs as `--exact` runs it, and without its presolve, which leaves nothing to search in most puzzles. One
worker with a fixed seed makes conflicts and branches reproducible; seconds are not.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from statistics import fmean, median
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, UInt8

from serrm.core.progress import with_progress
from serrm.inference.predict import LoadedModel, load_model, predict, symbols_of
from serrm.puzzles.raw import Puzzle
from serrm.puzzles.sudoku.data import generate_puzzles
from serrm.puzzles.sudoku.rules import BLANK
from serrm.puzzles.sudoku.search import cp_sat_model, cp_sat_solver
from serrm.puzzles.tasks import alphabet
from serrm.solving.model import PACKAGED
from serrm.solving.solve import CONFIDENT, FIRST_STEPS

NO_HINTS = "none"
HEADER = (
    "Grid",
    "Presolve",
    "Hints",
    "Right hints",
    "Conflicts, median and mean",
    "Branches, median and mean",
    "Seconds, mean",
)


class Case(NamedTuple):
    """Generated puzzles of a side, and the packaged checkpoint that answers them."""

    side: int
    clues: tuple[int, int]
    num: int
    checkpoint: str


class Effort(NamedTuple):
    """What one search took."""

    conflicts: int
    branches: int
    seconds: float


CASES = (
    Case(9, (22, 27), 200, "sudoku_extreme"),
    Case(16, (96, 110), 20, "sudoku"),
    Case(25, (310, 330), 8, "sudoku"),
)


class Proposal(NamedTuple):
    """The network's digits for a puzzle, and the blank cells of which it is sure."""

    digits: UInt8[np.ndarray, " I"]  # as tokens
    is_sure: Bool[np.ndarray, " I"]


def propose(loaded: LoadedModel, side: int, question: UInt8[np.ndarray, " I"]) -> Proposal:
    """The network's digits after a first attempt's steps."""
    tokens = torch.from_numpy(question.astype(np.int64))[None]
    num_symbols = alphabet("sudoku", side).num_symbols
    ((_, output),) = predict(loaded.model, tokens, num_symbols, (FIRST_STEPS,))
    certainty = output.logits.softmax(-1).amax(-1)[0].numpy()
    digits = symbols_of(output.logits)[0]
    return Proposal(digits, (question == BLANK) & (certainty >= CONFIDENT))


def hints_of(puzzle: Puzzle, proposal: Proposal) -> dict[str, dict[int, int]]:
    """Digits by cell, for every way to solve the puzzle."""
    blank = puzzle.question == BLANK

    def by_cell(digits: UInt8[np.ndarray, " I"], chosen: Bool[np.ndarray, " I"]) -> dict[int, int]:
        return {cell: int(digits[cell]) for cell in np.flatnonzero(chosen).tolist()}

    return {
        NO_HINTS: {},
        f"probability at least {CONFIDENT:g}": by_cell(proposal.digits, proposal.is_sure),
        "all digits of the network": by_cell(proposal.digits, blank),
        "the right digits": by_cell(puzzle.answer, blank),
    }


def effort_of(puzzle: Puzzle, hints: dict[int, int], *, has_presolve: bool) -> Effort:
    """Solve a puzzle once."""
    (model, stands), solver = cp_sat_model(puzzle.question, hints), cp_sat_solver()
    solver.parameters.cp_model_presolve = has_presolve
    start = time.perf_counter()
    solver.solve(model)
    seconds = time.perf_counter() - start
    assert all(solver.boolean_value(stands[cell, int(digit)]) for cell, digit in enumerate(puzzle.answer))
    return Effort(solver.num_conflicts, solver.num_branches, seconds)


def rows_of(case: Case, seed: int) -> Iterator[tuple[str, ...]]:
    """A row for every kind of hints, with and without presolve."""
    loaded = load_model(PACKAGED / case.checkpoint, torch.device("cpu"))
    puzzles = generate_puzzles(case.side, case.num, np.random.default_rng(seed), case.clues)
    efforts: dict[tuple[bool, str], list[Effort]] = {}
    right: dict[str, list[bool]] = {}
    num_solved = 0
    for puzzle in with_progress(puzzles, f"{case.side}×{case.side}", case.num, unit="puzzle"):
        proposal = propose(loaded, case.side, puzzle.question)
        num_solved += bool((proposal.digits == puzzle.answer)[puzzle.question == BLANK].all())
        for name, hints in hints_of(puzzle, proposal).items():
            right.setdefault(name, []).extend(puzzle.answer[cell] == digit for cell, digit in hints.items())
            for has_presolve in (True, False):
                effort = effort_of(puzzle, hints, has_presolve=has_presolve)
                efforts.setdefault((has_presolve, name), []).append(effort)
    blanks = fmean(int((puzzle.question == BLANK).sum()) for puzzle in puzzles)
    share = f"{100 * num_solved / case.num:.1f}%"
    about = f"{case.side}×{case.side}, {case.num} puzzles, {blanks:.0f} blanks, network solves {share}"
    for (has_presolve, name), found in sorted(efforts.items(), key=lambda item: not item[0][0]):
        hits = f"{100 * fmean(right[name]):.1f}%" if right[name] else "–"
        conflicts, branches, seconds = zip(*found, strict=True)
        counts = (f"{median(numbers):,.1f}, {fmean(numbers):,.1f}" for numbers in (conflicts, branches))
        yield about, "yes" if has_presolve else "no", name, hits, *counts, f"{fmean(seconds):.3f}"
        about = ""


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = [HEADER, ("---",) * len(HEADER)]
    for case in CASES:
        lines.extend(rows_of(case, options.seed))
    sys.stdout.writelines(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main()
