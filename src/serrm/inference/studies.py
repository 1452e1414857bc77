"""What an evaluation measures besides the paper's scores: accuracy against compute, and equivariance in practice.

For table 2's extension, the figure of depth and breadth, and the equivariance figure. All of it on puzzles of the size
trained on. (Paper: figures 1 and A2, proposition on symbols; adaptive depth and breadth are extensions.)
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import UInt8

from serrm.arrays.puzzles import PuzzleArrays, open_arrays, trained_size
from serrm.config import HEADLINE_STEPS, EvaluateCell
from serrm.inference.adaptive import Plan
from serrm.inference.evaluate_sets import rows_at_once
from serrm.inference.frontier import RESTARTS, SYMMETRIC, adaptive_curve, breadth_points
from serrm.inference.load import LoadedModel
from serrm.inference.predict import predict
from serrm.inference.verify import VERIFIERS
from serrm.models.formulations import DTYPES
from serrm.puzzles.alphabet import alphabet
from serrm.randomness import Purpose, keyed_rng
from serrm.training.device import supported
from serrm.training.processes import ALONE, Processes

Tokens = UInt8[np.ndarray, "N I"]


def studies(
    loaded: LoadedModel,
    arrays: Path,
    cell: EvaluateCell,
    device: torch.device,
    processes: Processes = ALONE,
) -> dict[str, Any]:
    """The keys `adaptive`, `breadth` and `equivariance` of a metric file, as far as settings and task have them.

    Several processes take whole studies in turns.
    """
    puzzles = of_trained_size(loaded, arrays)
    if puzzles is None:
        return {}
    precision, _ = supported(cell.evaluate.precision, False, device)
    works: list[tuple[str, Callable[[], Any]]] = []
    if cell.evaluate.effort is not None and cell.task in VERIFIERS:
        works += effort(loaded, puzzles, cell, DTYPES[precision])
    if cell.evaluate.equivariance_pairs and cell.task == "sudoku":
        first = puzzles.first(cell.evaluate.equivariance_pairs)
        works.append(("equivariance", partial(equivariance, loaded, first, cell, DTYPES[precision])))
    own = [work() if processes.takes(number) else None for number, (_, work) in enumerate(works)]
    of_all = processes.collect(own)
    found: dict[str, Any] = {}
    for number, (name, _) in enumerate(works):
        result = of_all[number % processes.num][number]
        found[name] = found[name] + result if name in found else result
    return found


def of_trained_size(loaded: LoadedModel, arrays: Path) -> PuzzleArrays | None:
    """The test puzzles of the size trained on; None where a task's arrays hold none by that name."""
    name = trained_size(arrays, loaded.config["side"])
    return None if name is None else open_arrays(arrays, name)


def effort(
    loaded: LoadedModel, puzzles: PuzzleArrays, cell: EvaluateCell, dtype: torch.dtype
) -> list[tuple[str, Callable[[], Any]]]:
    """FSR against mean steps a puzzle: by depth when verified puzzles stop, by restarts, by symmetric images.

    (key, work) of each; the points of the last two stand one behind the other.
    """
    settings = cell.evaluate.effort
    assert settings is not None
    chosen = puzzles.first(settings.num_puzzles)
    questions, answers = np.asarray(chosen.questions), np.asarray(chosen.answers)
    size = rows_at_once(puzzles.side, cell.evaluate.batch_size, puzzles.num_symbols)
    plan = Plan(max(settings.max_steps), size, VERIFIERS[cell.task], dtype=dtype)
    asked = (loaded, questions, answers, puzzles.side)
    short = Plan(settings.attempt_steps, size, VERIFIERS[cell.task], dtype=dtype)
    kinds = {RESTARTS: settings.restarts, SYMMETRIC: settings.symmetries}
    return [
        ("adaptive", partial(adaptive_curve, *asked, plan, settings.max_steps)),
        ("breadth", list),  # a file has the key even if no kind is asked for
        *(
            ("breadth", partial(breadth_points, *asked, short, kind, nums, cell.seed))
            for kind, nums in kinds.items()
            if nums
        ),
    ]


def equivariance(
    loaded: LoadedModel, puzzles: PuzzleArrays, cell: EvaluateCell, dtype: torch.dtype
) -> dict[str, Any]:
    """How many predictions of puzzles with permuted digits are the permuted predictions, and the first pair."""
    questions = np.asarray(puzzles.questions)
    usual = alphabet(puzzles.task, puzzles.side).usual
    permutation = np.arange(puzzles.num_symbols, dtype=np.uint8)
    permutation[list(usual)] = keyed_rng(cell.seed, Purpose.PERMUTATION).permutation(usual)
    size = rows_at_once(puzzles.side, cell.evaluate.batch_size, puzzles.num_symbols)
    plain = _predicted(loaded, questions, dtype, size)
    permuted = _predicted(loaded, permutation[questions], dtype, size)
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


def _predicted(loaded: LoadedModel, questions: Tokens, dtype: torch.dtype, size: int) -> Tokens:
    """Predictions, `size` puzzles at a time."""
    model, side = loaded.model, round(questions.shape[1] ** 0.5)
    num_symbols = alphabet(loaded.cell.task, side).num_symbols
    found = []
    for start in range(0, len(questions), size):
        batch = questions[start : start + size].astype(np.int64)
        tokens = torch.from_numpy(batch).to(model.initial.device)
        ((_, symbols),) = predict(model, tokens, num_symbols, (HEADLINE_STEPS,), dtype, size)
        found.append(symbols.cpu().numpy().astype(np.uint8))
    return np.concatenate(found)
