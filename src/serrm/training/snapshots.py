"""Averaged weights kept along the way, for learning curves: when, and as what files."""

from pathlib import Path

from safetensors.torch import save

from serrm.files import write_whole
from serrm.training.loop import Trainer

SNAPSHOTS = "snapshots"  # the folder, in a checkpoint and beside those of an unfinished training


def snapshot_steps(trainer: Trainer) -> set[int]:
    """Evenly spaced steps at which the training log has a record, the last one among them."""
    last, every, num = trainer.num_steps, trainer.settings.log_every, trainer.settings.snapshots
    return {min(last, -(-last * part // (num * every)) * every) for part in range(1, num + 1)}


def write_snapshot(folder: Path, trainer: Trainer, loss: float) -> None:
    """The trainer's averaged weights of now, with step, examples drawn and the last record's loss."""
    target = folder / f"step_{trainer.step:09d}.safetensors"
    weights = {name: value.contiguous() for name, value in trainer.averaged_weights().items()}
    facts = {"step": trainer.step, "samples": trainer.slots.position, "loss": loss}
    write_whole(target, save(weights, metadata={key: str(value) for key, value in facts.items()}))
