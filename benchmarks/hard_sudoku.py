"""Hard Sudoku: puzzles solved within a number of supervision steps, by one attempt or with guesses, as JSON and CSV.

    python benchmarks/hard_sudoku.py CHECKPOINT --max-steps 16 --guesses 1020 --out guesses.json
    python benchmarks/hard_sudoku.py CHECKPOINT --max-steps 128 --out one_attempt.json

Scores the first test puzzles of a profile's arrays. A puzzle ends at its first answer that obeys the rules, so a row
"within 64 steps" is what a run with that limit gives. FLOPs are those of matrix products; `--training` names the metric
files of the runs that made the checkpoint. With `--ratings` the publisher's rating of every puzzle stands beside its
steps. Seconds are of the process on one thread, CPU time and clock.
"""

import argparse
import csv
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from serrm.arrays.stream import PuzzleArrays, open_arrays
from serrm.core.progress import with_progress
from serrm.inference.predict import LoadedModel, load_model
from serrm.inference.search import Limits, Search, search
from serrm.models.flops import flops
from serrm.models.layers import DTYPES
from serrm.models.settings import ModelSizes
from serrm.puzzles.sudoku.data import TEXT
from serrm.puzzles.tables import read_table
from serrm.puzzles.tasks import TASKS
from serrm.scoring.metrics import RATE
from serrm.scoring.schema import read_evaluation


def main() -> None:
    """Parse the command line, measure, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--arrays", type=Path, default=Path("data/published/arrays/sudoku"))
    parser.add_argument("--num", type=int, default=1000, help="puzzles")
    parser.add_argument("--max-steps", type=int, default=16, help="supervision steps of the first attempt")
    parser.add_argument("--guesses", type=int, default=0, help="attempts after it, each with a guess more")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--precision", choices=DTYPES, default="bfloat16")
    parser.add_argument(
        "--training",
        type=Path,
        nargs="*",
        default=[],
        help="files of scores, data/<profile>/scores/<run>.json",
    )
    parser.add_argument("--ratings", type=Path, help="the publisher's CSV file of the test puzzles")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    loaded = load_model(options.checkpoint, torch.device("cpu"))
    puzzles = open_arrays(options.arrays, "9x9").first(options.num)
    limits = Limits(options.max_steps, options.guesses)
    result = {
        "checkpoint": options.checkpoint.name,
        "puzzles": {"first": len(puzzles), "of": str(options.arrays), "set": puzzles.name},
        "first_attempt_steps": limits.max_steps,
        "guesses": limits.more_attempts,
        "precision": options.precision,
        "flops_training": sum(_training_flops(path) for path in options.training),
        **measure(loaded, puzzles, limits, options.batch_size, DTYPES[options.precision]),
    }
    if options.ratings is not None:
        result["ratings_of_puzzles"] = ratings(puzzles, options.ratings)
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    write_table(result, options.out.with_suffix(".csv"))


def measure(
    loaded: LoadedModel, puzzles: PuzzleArrays, limits: Limits, batch_size: int, dtype: torch.dtype
) -> dict[str, Any]:
    """Solve all puzzles; a row of scores for 1, 2, 4, … steps and for the whole budget."""
    start, cpu = time.perf_counter(), time.process_time()
    asked = (Search(number, question) for number, question in enumerate(puzzles.questions))
    loss = loaded.settings.train.loss
    found = search(
        loaded.model, asked, puzzles.num_symbols, TASKS[puzzles.task], limits, batch_size, loss, dtype
    )
    steps, is_right = np.zeros(len(puzzles), int), np.zeros(len(puzzles), bool)
    num_wrong = 0
    for each in with_progress(found, "hard Sudoku", len(puzzles), unit="puzzle"):
        assert each.answer is not None
        equal = np.array_equal(each.answer, puzzles.answers[each.key])
        steps[each.key], is_right[each.key] = each.steps, each.is_verified and equal
        num_wrong += each.is_verified and not equal
    a_step = flops(loaded.settings.model, ModelSizes(puzzles.num_symbols, puzzles.side**2))
    seconds = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    budgets = sorted({2**power for power in range(limits.budget.bit_length())} | {limits.budget})
    return {
        "flops_per_step": a_step,
        "flops_inference": int(steps.sum()) * a_step,
        **{name: round(value, 1) for name, value in seconds.items()},
        "verified_but_not_the_answer": int(num_wrong),
        "within": [
            {
                "steps": budget,
                "mean_steps": float(np.minimum(steps, budget).mean()),
                "num_solved": (num := int((is_right & (steps <= budget)).sum())),
                **RATE.scores("fsr", {"total": num, "num": len(puzzles)}),
            }
            for budget in budgets
        ],
        "steps_of_puzzles": [
            int(each) if right else None for each, right in zip(steps, is_right, strict=True)
        ],
    }


def ratings(puzzles: PuzzleArrays, published: Path) -> list[int | None]:
    """Look up the rating of every puzzle in a published file."""
    rating_of = {puzzle.question.tobytes(): puzzle.rating for puzzle in read_table(TEXT, published)}
    return [rating_of[question.tobytes()] for question in puzzles.questions]


def write_table(result: dict[str, Any], path: Path) -> None:
    """One row per number of steps, scores in percent with their 95% intervals."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        num = result["puzzles"]["first"]
        writer.writerow(["limit on steps", "solved", f"of {num}, percent", "mean steps", "GFLOPs per puzzle"])
        for row in result["within"]:
            rate, low, high = (100 * row[name] for name in ("fsr", "fsr_lo", "fsr_hi"))
            score = f"{rate:.2f} ({low:.2f}-{high:.2f})"
            mean, gflops = (
                f"{row['mean_steps']:.1f}",
                f"{row['mean_steps'] * result['flops_per_step'] / 1e9:.1f}",
            )
            writer.writerow([row["steps"], row["num_solved"], score, mean, gflops])


def _training_flops(scores: Path) -> int:
    return read_evaluation(scores).training.flops


if __name__ == "__main__":
    main()
