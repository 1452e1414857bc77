"""How far a training is, and in what manner it is computed: what a progress line shows and a resumed training tells."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from serrm.training.tally import Record


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
