"""What an evaluation measures besides the paper's scores: accuracy against compute, and equivariance in practice.

For table 2's extension, the figure of depth and breadth, and the figures of equivariance. All of it on puzzles of the
size trained on. (Paper: figures 1, A1 and A2, proposition on symbols; adaptive depth and breadth are extensions.)
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from serrm.arrays.arc_stream import open_arc_evaluation
from serrm.arrays.puzzles import PuzzleArrays
from serrm.arrays.stream import Examples
from serrm.inference.adaptive import Plan, Verify
from serrm.inference.evaluate_sets import of_trained_size, questions_of
from serrm.inference.frontier import adaptive_curve, breadth_points
from serrm.inference.predict import Questions, TaskVectors, Work, predict_batches, rows_at_once
from serrm.inference.settings import HEADLINE_STEPS, EffortSettings
from serrm.inference.tasks import TASKS
from serrm.puzzles.arc.canvas import PADDING, decoded_sizes
from serrm.puzzles.tasks import alphabet
from serrm.randomness import Purpose, keyed_rng
from serrm.training.processes import ALONE

Tokens = UInt8[np.ndarray, "N I"]
Study = tuple[str, Callable[[], Any]]  # key of the metric file, and what finds its value


def studies(work: Work, arrays: Path, seed: int) -> dict[str, Any]:
    """The keys `adaptive`, `breadth` and `equivariance` of a metric file, as far as settings and task have them.

    Several processes take whole studies in turns; those of one key stand one behind the other.
    """
    processes, asked = work.processes, list(_studies(work, arrays, seed))
    own = [study() if processes.takes(number) else None for number, (_, study) in enumerate(asked)]
    of_all = processes.collect(own)
    found: dict[str, Any] = {}
    for number, (name, _) in enumerate(asked):
        result = of_all[number % processes.num][number]
        found[name] = found[name] + result if name in found else result
    return found


def _studies(work: Work, arrays: Path, seed: int) -> Iterator[Study]:
    task = TASKS[work.loaded.cell.task]
    puzzles = None if task.tally is None else of_trained_size(work, arrays)
    if puzzles is not None and work.settings.effort is not None and task.verify is not None:
        yield from _efforts(work, puzzles, work.settings.effort, task.verify, seed)
    if work.settings.equivariance_pairs and task.is_symmetric:
        if puzzles is not None:
            yield "equivariance", partial(equivariance, work, puzzles.name, questions_of(puzzles), seed)
        elif task.tally is None:
            inputs = open_arc_evaluation(arrays, num_variants=1)  # as they are
            asked = Questions(inputs.side, inputs.num_symbols, inputs.num_examples, inputs.gather)
            yield "equivariance", partial(equivariance, work, inputs.set_name, asked, seed)


def _efforts(
    work: Work, puzzles: PuzzleArrays, effort: EffortSettings, verify: Verify, seed: int
) -> Iterator[Study]:
    """FSR against mean steps a puzzle: by depth when verified puzzles stop, and by each kind of breadth."""
    first, loaded = puzzles.first(effort.num_puzzles), work.loaded
    size = rows_at_once(puzzles.side, work.settings.batch_size, puzzles.num_symbols)
    plan = Plan(max(effort.max_steps), size, verify, dtype=work.dtype)
    short = Plan(effort.attempt_steps, size, verify, dtype=work.dtype)
    yield "adaptive", partial(adaptive_curve, loaded, first, plan, effort.max_steps)
    yield "breadth", list  # a file has the key even if no kind is asked for
    guesses = () if TASKS[loaded.cell.task].blank is None else effort.guesses
    kinds = {"restarts": effort.restarts, "symmetries": effort.symmetries, "guesses": guesses}
    for kind, nums in kinds.items():
        if nums:
            yield "breadth", partial(breadth_points, loaded, first, short, kind, nums, seed)


def equivariance(work: Work, of: str, asked: Questions, seed: int) -> dict[str, Any]:
    """How many predictions of puzzles with permuted symbols are the permuted predictions, and the first pair.

    In ARC-AGI the colours of the grid that is read off count, and where a task type tells of colours, those are
    permuted as well.
    """
    model, usual = work.loaded.model, alphabet(work.loaded.cell.task, asked.side).usual
    permutation = np.arange(asked.num_symbols, dtype=np.uint8)
    permutation[list(usual)] = keyed_rng(seed, Purpose.PERMUTATION).permutation(usual)

    def permuted(start: int, num: int) -> Examples:
        return (batch := asked.gather(start, num))._replace(questions=permutation[batch.questions])

    def vectors(_: int, batch: Examples) -> Float[Tensor, "B W"] | None:
        rows = model.task_vectors(torch.from_numpy(batch.task_types).to(model.initial.device))
        moved = torch.from_numpy(permutation).long().to(model.initial.device)
        return None if rows is None else model.embedding.permuted(rows, moved)

    num = min(work.settings.equivariance_pairs, asked.num)
    plain = _predicted(work, asked._replace(num=num))
    after = _predicted(work, asked._replace(num=num, gather=permuted), vectors)
    question = asked.gather(0, 1).questions[0]
    return {
        "num_pairs": num,
        "num_identical": int((permutation[plain] == after).all(axis=1).sum()),
        "precision": "float32",
        "example": {
            "set": of,
            "side": asked.side,
            "permutation": permutation.tolist(),
            "question": question.tolist(),
            "prediction": plain[0].tolist(),
            "permuted_question": permutation[question].tolist(),
            "permuted_prediction": after[0].tolist(),
        },
    }


def _predicted(work: Work, asked: Questions, vectors: TaskVectors | None = None) -> Tokens:
    """Predictions by this process alone, in float32, for equivariance holds but for rounding.

    Of ARC-AGI padding where no grid is read off.
    """
    steps = work.settings.model_copy(update={"steps": (HEADLINE_STEPS,)})
    alone = replace(work, settings=steps, dtype=torch.float32, processes=ALONE)
    found = predict_batches(alone, asked, "permuted symbols", vectors)
    tokens = np.concatenate([part.tokens for part in found])
    if TASKS[work.loaded.cell.task].tally is not None:
        return tokens
    rows, columns = decoded_sizes(tokens, asked.side).T[..., None]
    row, column = np.divmod(np.arange(asked.side**2), asked.side)
    return np.where((row < rows) & (column < columns), tokens, PADDING).astype(np.uint8)
