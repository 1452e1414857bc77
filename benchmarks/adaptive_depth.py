"""Savings of stopping at a verified answer: FSR, mean steps and time of fixed and of adaptive depth, as a table.

    python benchmarks/adaptive_depth.py CHECKPOINT --num 1000

Generated 9×9 puzzles with 30 to 45 clues, one solution each. The ways are timed in turns on the same parts of the
puzzles, so that a busy machine slows all of them alike.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8

from serrm.core.devices import choose_device
from serrm.inference.predict import load_model, predict, symbols_of
from serrm.inference.search import Limits, Search, search
from serrm.kernels.precision import supported
from serrm.models.layers import DTYPES
from serrm.models.recurrence import RecurrentModel
from serrm.puzzles.sudoku.data import generate_puzzles
from serrm.puzzles.sudoku.rules import solves
from serrm.puzzles.tasks import TASKS
from serrm.scoring.metrics import wilson
from serrm.training.stablemax import Stablemax

SIDE, SYMBOLS, CLUES = 9, 11, (30, 45)
NUM_PARTS = 4
Grids = UInt8[np.ndarray, "N I"]


@dataclass
class Row:
    """A way to predict and what it has taken and solved so far."""

    name: str
    run: Callable[[Grids], tuple[int, int]]  # puzzles → (solved, supervision steps)
    num_solved: int = 0
    num_steps: int = 0
    seconds: float = 0.0


def fixed(
    model: RecurrentModel, questions: Grids, depth: int, size: int, dtype: torch.dtype
) -> tuple[int, int]:
    """Every puzzle gets all steps."""
    num_solved = 0
    for start in range(0, len(questions), size):
        batch = questions[start : start + size]
        tokens = torch.from_numpy(batch.astype(np.int64)).to(model.initial.device)
        ((_, output),) = predict(model, tokens, SYMBOLS, (depth,), dtype)
        num_solved += int(solves(batch, symbols_of(output.logits)).sum())
    return num_solved, depth * len(questions)


def adaptive(
    model: RecurrentModel, questions: Grids, limits: Limits, size: int, dtype: torch.dtype
) -> tuple[int, int]:
    """A puzzle leaves when its answer is verified, or at its limits."""
    puzzles = (Search(number, tokens) for number, tokens in enumerate(questions))
    found = list(search(model, puzzles, SYMBOLS, TASKS["sudoku"], limits, size, Stablemax(), dtype))
    return sum(each.is_verified for each in found), sum(each.steps for each in found)


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--num", type=int, default=1000, help="puzzles")
    parser.add_argument("--depth", type=int, default=128, help="limit on supervision steps")
    parser.add_argument("--patience", type=int, default=16, help="of the last row")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=DTYPES, default="bfloat16")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    device = choose_device(options.device)
    model = load_model(options.checkpoint, device).model
    depth, patience = options.depth, options.patience
    precision = supported(options.precision, device)
    batches = options.batch_size, DTYPES[precision]
    stopping, giving_up = Limits(depth), Limits(depth, patience=patience)
    rows = [
        Row(f"fixed, {depth} steps", lambda part: fixed(model, part, depth, *batches)),
        Row(f"adaptive, up to {depth}", lambda part: adaptive(model, part, stopping, *batches)),
        Row(
            f"adaptive, given up after {patience} unchanged",
            lambda part: adaptive(model, part, giving_up, *batches),
        ),
    ]
    rng = np.random.default_rng(options.seed)
    puzzles = generate_puzzles(SIDE, options.num, rng, CLUES)
    questions = np.stack([puzzle.question for puzzle in puzzles]) + np.uint8(1)
    measure(rows, questions)
    print_table(rows, options.num)


def measure(rows: list[Row], questions: Grids) -> None:
    """Run all ways on one part of the puzzles after the other."""
    for part in np.array_split(questions, min(NUM_PARTS, len(questions))):
        for row in rows:
            start = time.perf_counter()
            num_solved, num_steps = row.run(part)
            row.seconds += time.perf_counter() - start
            row.num_solved += num_solved
            row.num_steps += num_steps


def print_table(rows: list[Row], num: int) -> None:
    """Markdown; shares are of the first row."""
    print("| depth | FSR (95% interval) | mean steps | share of steps | seconds | share of time |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        low, high = (100 * end for end in wilson(row.num_solved, num))
        rate = f"{100 * row.num_solved / num:.2f} ({low:.2f}–{high:.2f})"
        steps, time_share = row.num_steps / rows[0].num_steps, row.seconds / rows[0].seconds
        cost = f"{row.num_steps / num:.1f} | {steps:.3f} | {row.seconds:.1f} | {time_share:.3f}"
        print(f"| {row.name} | {rate} | {cost} |")


if __name__ == "__main__":
    main()
