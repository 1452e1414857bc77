"""Several processes of a test: a program run by torchrun on this machine."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def torchrun(num: int, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a program, a file or `-m MODULE` with its arguments, in so many processes of one thread each."""
    agent = (sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={num}")
    return subprocess.run(
        [*agent, *command], cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )


def environment() -> dict[str, str]:
    """The variables of a process that finds the tests' modules."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
