"""What an evaluation measures besides the paper's scores: accuracy against compute, and equivariance in practice.

For table 2's extension, the figure of depth and breadth, and the equivariance figure. All of it on puzzles of the size
trained on. (Paper: figures 1 and A2, proposition on symbols; adaptive depth and breadth are extensions.)
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import UInt8

from serrm.arrays.puzzles import PuzzleArrays, open_arrays, trained_size
from serrm.inference.adaptive import Plan
from serrm.inference.frontier import RESTARTS, SYMMETRIC, adaptive_curve, breadth_points
from serrm.inference.predict import Work, predict, rows_at_once
from serrm.inference.settings import HEADLINE_STEPS
from serrm.inference.tasks import TASKS
from serrm.puzzles.alphabet import alphabet
from serrm.randomness import Purpose, keyed_rng

Tokens = UInt8[np.ndarray, "N I"]
Study = tuple[str, Callable[[], Any]]  # key of the metric file, and what finds its value


def studies(work: Work, arrays: Path, seed: int) -> dict[str, Any]:
    """The keys `adaptive`, `breadth` and `equivariance` of a metric file, as far as settings and task have them.

    Several processes take whole studies in turns; those of one key stand one behind the other.
    """
    puzzles, processes = of_trained_size(work, arrays), work.processes
    asked = [] if puzzles is None else list(_studies(work, puzzles, seed))
    own = [study() if processes.takes(number) else None for number, (_, study) in enumerate(asked)]
    of_all = processes.collect(own)
    found: dict[str, Any] = {}
    for number, (name, _) in enumerate(asked):
        result = of_all[number % processes.num][number]
        found[name] = found[name] + result if name in found else result
    return found


def of_trained_size(work: Work, arrays: Path) -> PuzzleArrays | None:
    """The test puzzles of the size trained on; None where a task's arrays hold none by that name."""
    name = trained_size(arrays, work.loaded.config["side"])
    return None if name is None else open_arrays(arrays, name)


def _studies(work: Work, puzzles: PuzzleArrays, seed: int) -> Iterator[Study]:
    """FSR against mean steps a puzzle: by depth when verified puzzles stop, by restarts, by symmetric images."""
    settings, loaded, task = work.settings, work.loaded, TASKS[puzzles.task]
    effort, pairs = settings.effort, settings.equivariance_pairs
    if effort is not None and task.verify is not None:
        first, size = puzzles.first(effort.num_puzzles), _size(work, puzzles)
        plan = Plan(max(effort.max_steps), size, task.verify, dtype=work.dtype)
        short = Plan(effort.attempt_steps, size, task.verify, dtype=work.dtype)
        yield "adaptive", partial(adaptive_curve, loaded, first, plan, effort.max_steps)
        yield "breadth", list  # a file has the key even if no kind is asked for
        for kind, nums in {RESTARTS: effort.restarts, SYMMETRIC: effort.symmetries}.items():
            if nums:
                yield "breadth", partial(breadth_points, loaded, first, short, kind, nums, seed)
    if pairs and task.has_digits:
        yield "equivariance", partial(equivariance, work, puzzles.first(pairs), seed)


def equivariance(work: Work, puzzles: PuzzleArrays, seed: int) -> dict[str, Any]:
    """How many predictions of puzzles with permuted digits are the permuted predictions, and the first pair."""
    questions = np.asarray(puzzles.questions)
    usual = alphabet(puzzles.task, puzzles.side).usual
    permutation = np.arange(puzzles.num_symbols, dtype=np.uint8)
    permutation[list(usual)] = keyed_rng(seed, Purpose.PERMUTATION).permutation(usual)
    plain, permuted = (_predicted(work, puzzles, each) for each in (questions, permutation[questions]))
    is_identical = (permutation[plain] == permuted).all(axis=1)
    return {
        "num_pairs": len(questions),
        "num_identical": int(is_identical.sum()),
        "example": {
            "set": puzzles.name,
            "side": puzzles.side,
            "permutation": permutation.tolist(),
            "question": questions[0].tolist(),
            "prediction": plain[0].tolist(),
            "permuted_question": permutation[questions[0]].tolist(),
            "permuted_prediction": permuted[0].tolist(),
        },
    }


def _predicted(work: Work, puzzles: PuzzleArrays, questions: Tokens) -> Tokens:
    """Predictions for questions of the puzzles' size, a batch at a time."""
    model, size, found = work.loaded.model, _size(work, puzzles), []
    for start in range(0, len(questions), size):
        batch = questions[start : start + size].astype(np.int64)
        tokens = torch.from_numpy(batch).to(model.initial.device)
        ((_, symbols),) = predict(model, tokens, puzzles.num_symbols, (HEADLINE_STEPS,), work.dtype, size)
        found.append(symbols.cpu().numpy().astype(np.uint8))
    return np.concatenate(found)


def _size(work: Work, puzzles: PuzzleArrays) -> int:
    return rows_at_once(puzzles.side, work.settings.batch_size, puzzles.num_symbols)
