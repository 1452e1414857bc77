"""Settings of the machine in machine.yaml, on which results depend only by rounding and dropout masks."""

from pydantic import Field, PositiveInt

from serrm.core.settings import Settings


class Execution(Settings):
    """Settings of the hardware.

    Results depend on them only by rounding and, with dropout, by its masks. They are neither tracked by DVC nor part of
    any hash.
    """

    device: str = "auto"
    """`auto`, `cpu`, `cuda`, `cuda:1`, …."""
    threads: PositiveInt | None = None
    """CPU threads of all processes together; null: all cores."""
    processes: PositiveInt = 1
    """Processes that share a training run or an evaluation ([scale](scale.md)); torchrun's number wins."""
    micro_batch: PositiveInt | None = None
    """Limit on the puzzles of one forward pass of training in each process; null: none."""
    native: bool = True
    """Use the C++ kernels where possible ([performance](performance.md))."""
    triton: bool = False
    """Use the Triton kernels on a GPU where possible; not measured so far ([performance](performance.md))."""
    checkpoint_seconds: float = Field(default=60.0, gt=0)
    """Time between checkpoints of a training run."""
    resume_other_code: bool = False
    """Continue an unfinished training of the same settings and data whose code has changed; its record says so."""
    max_seconds: float | None = Field(default=None, gt=0)
    """Stop with a checkpoint and exit code 75 after this time; null: never."""
