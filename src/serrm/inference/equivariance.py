"""Symbol equivariance of a checkpoint, on puzzles of the size trained on (the paper's section on such models)."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from serrm.arrays.arc import ArcEvaluation
from serrm.arrays.stream import Examples, PuzzleArrays, Stream
from serrm.core.processes import ALONE
from serrm.core.randomness import Purpose, keyed_rng
from serrm.inference import predict
from serrm.inference.settings import HEADLINE_STEPS
from serrm.inference.votes import arc_questions
from serrm.puzzles.arc.grids import PADDING, decoded_sizes
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS, alphabet
from serrm.scoring.schema import Equivariance, PermutedPuzzle


def symmetric_questions(loaded: predict.LoadedModel, arrays: Path) -> PuzzleArrays | ArcEvaluation | None:
    """Open the puzzles whose symbols may be permuted, or ARC's test inputs as they are; None if there are none."""
    task = TASKS[loaded.settings.task]
    if not task.has_permutations:
        return None
    if isinstance(task, GridTask):
        return predict.puzzles_of_trained_size(loaded, arrays)
    return replace(arc_questions(loaded, arrays), num_votes=1)


def equivariance(
    predictor: predict.Predictor, questions: PuzzleArrays | ArcEvaluation, num: int, seed: int
) -> Equivariance:
    """Compare f(πx) with πf(x): predictions for permuted puzzles, and permuted predictions for the puzzles.

    Both are those after 16 supervision steps, or after the most that the family scores; headline steps have no effect.
    They have no dropout, even if `fidelity.dropout_at_evaluation` is on, because the two would have different masks.
    The example is the first pair that differs, or the first pair if none differs.

    In ARC-AGI only the colours of the decoded grid are compared, and task types that hold colours are permuted too.
    """
    model, usual = predictor.loaded.model, alphabet(predictor.loaded.settings.task, questions.side).usual
    permutation = np.arange(questions.num_symbols, dtype=np.uint8)
    permutation[list(usual)] = keyed_rng(seed, Purpose.PERMUTATION).permutation(usual)

    def permuted(start: int, num_examples: int) -> Examples:
        batch = questions.gather(start, num_examples)
        return batch._replace(questions=permutation[batch.questions])

    def permuted_vectors(_: int, batch: Examples) -> Float[Tensor, "B W"] | None:
        rows = model.task_vectors(torch.from_numpy(batch.task_types).to(model.initial.device))
        tokens = torch.from_numpy(permutation).long().to(model.initial.device)
        return None if rows is None else model.embedding.permuted(rows, tokens)

    num = min(num, questions.num_examples)
    # Streams stand for their first `num` questions (`Questions`).
    stream = Stream(questions.side, questions.num_symbols, num, questions.gather)
    plain = _predict_alone(predictor, stream)
    after = _predict_alone(predictor, replace(stream, gather=permuted), permuted_vectors)
    is_identical = (permutation[plain] == after).all(axis=1)
    index = int(np.argmin(is_identical))
    question = questions.gather(index, 1).questions[0]
    return Equivariance(
        num_pairs=num,
        num_identical=int(is_identical.sum()),
        precision="float32",
        example=PermutedPuzzle(
            side=questions.side,
            permutation=permutation.tolist(),
            question=question.tolist(),
            prediction=plain[index].tolist(),
            permuted_question=permutation[question].tolist(),
            permuted_prediction=after[index].tolist(),
        ),
    )


def _predict_alone(
    predictor: predict.Predictor, questions: Stream, task_vectors_of: predict.TaskVectorsOf | None = None
) -> UInt8[np.ndarray, "N I"]:
    """Predict by this process alone, in float32 and without dropout: equivariance holds only up to rounding.

    In ARC-AGI all cells outside the decoded grid are padding.
    """
    alone, model = replace(predictor, dtype=torch.float32, processes=ALONE), predictor.loaded.model
    is_training = model.training  # True with `fidelity.dropout_at_evaluation`
    model.eval()
    batches = alone.batches(questions, (HEADLINE_STEPS,), "permuted symbols", task_vectors_of)
    tokens = np.concatenate([predicted.predictions for predicted in batches])
    model.train(is_training)
    if isinstance(TASKS[predictor.loaded.settings.task], GridTask):
        return tokens
    rows, columns = decoded_sizes(tokens, questions.side).T[..., None]
    row, column = np.divmod(np.arange(questions.side**2), questions.side)
    return np.where((row < rows) & (column < columns), tokens, PADDING).astype(np.uint8)
