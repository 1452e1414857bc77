"""Operations of a whole cell, from its resolved settings: the training, and everything an evaluation predicts.

An evaluation's are exact but for the studies of effort, whose puzzles stop when an answer is verified: there it is the
most that they can come to.
"""

from serrm.inference.settings import GUESS_STEPS, HEADLINE_STEPS, EvaluateSettings
from serrm.models.operations import count_work
from serrm.models.settings import SeRrmSettings, TrmSettings
from serrm.planning.tasks import TASKS, Counts
from serrm.puzzles.alphabet import alphabet
from serrm.training.settings import TrainCell


def training_operations(cell: TrainCell, counts: Counts) -> int:
    """Of all optimiser steps: forward, backward, and what the halting rule predicts besides."""
    work = count_work(cell.model, counts.side**2, alphabet(cell.task, counts.side).num_symbols)
    num_steps = cell.train.num_steps(counts.num_train)
    return num_steps * cell.train.batch_size * work.training(cell.train.halting)


def evaluation_operations(
    cell: TrainCell, settings: EvaluateSettings, counts: Counts, *, pools_snapshots: bool = False
) -> int:
    """Of every set at its deepest steps, the learning curve, the studies of effort and the pairs of equivariance."""
    votes = num_votes(cell)
    kinds = len(settings.task_types) * (cell.train.snapshots if pools_snapshots else 1) if votes else 1
    of_sets = sum(
        kinds * _set_steps(settings, num) * (votes or 1) * _a_step(cell, side)
        for side, num in counts.tests.items()
        if can_take(cell, counts.side, side)
    )
    num = counts.tests[counts.side]
    steps = settings.curve_steps * cell.train.snapshots * min(settings.curve_puzzles, num) * (votes or 1)
    steps += max(settings.steps) * min(settings.demonstration_pairs, counts.num_demonstrations)
    if not votes:
        steps += _effort_steps(cell.task, settings, num)
    if TASKS[cell.task].is_symmetric:
        steps += 2 * HEADLINE_STEPS * min(settings.equivariance_pairs, num)
    return of_sets + steps * _a_step(cell, counts.side)


def num_votes(cell: TrainCell) -> int:
    """Variants in which a test input of ARC-AGI is asked; 0 for a task without votes."""
    if not TASKS[cell.task].has_votes:
        return 0
    return cell.arrays.num_augmentations + 1 + cell.fidelity.identity_twice


def can_take(cell: TrainCell, side: int, other: int) -> bool:
    """Whether a model trained on grids of a side takes those of the other."""
    learned, asked = (alphabet(cell.task, each).num_symbols for each in (side, other))
    if isinstance(cell.model, SeRrmSettings):
        return cell.model.symbols == "tied" or asked == learned
    is_bound = isinstance(cell.model, TrmSettings) and cell.model.mixer == "mlp"
    return asked <= learned and not (is_bound and other != side)


def _a_step(cell: TrainCell, side: int) -> int:
    return count_work(cell.model, side**2, alphabet(cell.task, side).num_symbols).evaluation


def _set_steps(settings: EvaluateSettings, num: int) -> int:
    """Supervision steps of a set of `num` puzzles, of which fewer may go deeper."""
    deepest, num_deep = max(settings.steps), min(settings.deep_puzzles or num, num)
    usual = max(settings.usual_steps, default=0) if settings.deep_puzzles else deepest
    return num_deep * deepest + (num - num_deep) * usual


def _effort_steps(task: str, settings: EvaluateSettings, num: int) -> int:
    """Supervision steps of the puzzles if none is ever solved."""
    effort = settings.effort
    if effort is None:
        return 0
    symmetries = min(max(effort.symmetries, default=0), TASKS[task].most_symmetries)
    attempts = max(effort.restarts, default=0) + symmetries
    steps = max(effort.max_steps) + attempts * effort.attempt_steps
    if effort.guesses and TASKS[task].has_blanks:
        steps += effort.attempt_steps + (max(effort.guesses) - 1) * GUESS_STEPS
    return min(effort.num_puzzles, num) * steps
