"""Settings of the machine in machine.yaml, on which no result depends."""

from pydantic import Field, PositiveInt

from serrm.core.settings import Settings


class Execution(Settings):
    """Settings of the hardware. No result depends on them; they are neither tracked by DVC nor part of any hash."""

    device: str = "auto"  # auto, cpu, cuda, cuda:1, …
    threads: PositiveInt | None = None  # CPU threads of all processes together (null: all cores)
    processes: PositiveInt = 1  # processes that share a run on this machine; torchrun's number wins
    micro_batch: PositiveInt | None = None  # most slots per process that a model takes at once (null: all)
    native: bool = True  # native kernels where they fit; with false PyTorch alone on every CPU
    checkpoint_seconds: float = Field(default=60.0, gt=0)
    max_seconds: float | None = Field(default=None, gt=0)  # then stop with a checkpoint and exit code 75
