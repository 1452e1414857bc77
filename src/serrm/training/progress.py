"""What a training tells: its records, what a progress line shows, and in what manner it is computed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

Record = dict[str, int | float]


@dataclass
class Tally:
    """Sums since the last record, on the device, so that no step waits for them; every process has those of all."""

    loss: Tensor
    num_halted: Tensor
    num_solved: Tensor
    num_steps: int = 0

    @classmethod
    def zero(cls, device: torch.device) -> "Tally":
        """Nothing counted yet."""
        loss, num_halted, num_solved = torch.zeros(3, device=device).unbind()
        return cls(loss, num_halted, num_solved)

    def record(self, step: int, samples: int, rate: float) -> Record:
        """Means since the last record: loss a puzzle, share of halted slots whose puzzle was solved."""
        halted = max(1.0, float(self.num_halted))
        return {
            "step": step,
            "samples": samples,
            "loss": float(self.loss) / max(1, self.num_steps),
            "train_fsr": float(self.num_solved) / halted,
            "learning_rate": rate,
        }


@dataclass
class Progress:
    """What has been measured so far; part of every checkpoint."""

    records: list[Record] = field(default_factory=list)
    seconds: float = 0.0

    def words(self, batch_size: int) -> str:
        """Beside the steps and the time to go that the progress bar shows: loss, share solved, puzzles a second."""
        last = self.records[-1]
        rate = last["step"] * batch_size / max(self.seconds, 1e-9)
        return f"loss {last['loss']:.4g}, {last['train_fsr']:.1%} solved, {rate:.3g} puzzles/s"


@dataclass(frozen=True)
class Manner:
    """On what a training is computed; changes nothing but rounding, and the masks of dropout."""

    device: str
    processes: int = 1
    micro_batch: int | None = None
    native: bool = True

    @classmethod
    def of(cls, training: Mapping[str, Any]) -> "Manner":
        """As the `training` section of a config.json says."""
        numbers = training.get("processes", 1), training.get("micro_batch")
        return cls(training["device"], *numbers, training.get("native", True))

    def words(self) -> str:
        """Such as "cpu, 2 processes, 8 puzzles at once, without native kernels"."""
        processes = f", {self.processes} processes" if self.processes > 1 else ""
        at_once = f", {self.micro_batch} puzzles at once" if self.micro_batch else ""
        return self.device + processes + at_once + ("" if self.native else ", without native kernels")

    def change_to(self, now: "Manner", dropout: float) -> str | None:
        """What a training begun in this manner should be told when it goes on in another; None if nothing changes."""
        if self == now:
            return None
        masks = " and in the masks of dropout" if dropout else ""
        return (
            f"begun on {self.words()}, resuming on {now.words()}: the numbers will differ in rounding{masks}, "
            "nothing else"
        )
