"""When a training has gone wrong beyond repair: numbers that are not finite, or a loss far above that of guessing.

Looked at when a record is written and before a checkpoint is: no step waits for it, and no bad checkpoint takes the
place of a good one.
"""

import math
from pathlib import Path

from serrm.training.loop import Trainer

FAR = 10.0  # times the loss of guessing, log K


class Diverged(ValueError):
    """The training cannot be saved by going on; the last good checkpoint is kept."""


def check_loss(loss: float, num_symbols: int, step: int, good: Path | None) -> None:
    """Raise Diverged if a mean loss a puzzle is no number, or far above log K."""
    limit = FAR * math.log(num_symbols)
    if not loss <= limit:
        far = f"more than {limit:.3g}, {FAR:g} times that of guessing"
        why = far if math.isfinite(loss) else "not finite"
        raise Diverged(f"the loss is {loss:.4g} at step {step}, {why}; {_kept(good)}")


def check_trainer(trainer: Trainer, good: Path | None) -> None:
    """Raise Diverged if what would be saved is unsound. All processes have to ask together."""
    tally = trainer.tally
    if tally.num_steps:
        check_loss(float(tally.loss) / tally.num_steps, trainer.num_symbols, trainer.step, good)
    if not trainer.is_sound():
        raise Diverged(f"weights or states are not finite at step {trainer.step}; {_kept(good)}")


def _kept(good: Path | None) -> str:
    where = "there is no checkpoint yet" if good is None else f"the last good checkpoint is {good}"
    return f"training stopped (lower train.learning_rate?), {where}"
