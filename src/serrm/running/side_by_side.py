"""The pipeline of params.yaml with its data sets and runs side by side, each by a DVC command of its own.

Each run has one thread; the last ones share the CPUs of those that have ended, where that changes no number. On GPUs,
each run has one of them. A run that fails stops no other.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from serrm.config import read_execution, read_params
from serrm.core.files import write_whole
from serrm.core.project import PARAMS, Layout
from serrm.core.resources import Gpus, usable_cpus, usable_gpus, usable_memory
from serrm.inference.summary import score_line
from serrm.running.commands import Commands, environment_of
from serrm.scoring.schema import read_evaluation
from serrm.tracking.background import OUTPUT, end_work, mirror_meanwhile

BYTES_PER_RUN: Final = 4 * 10**9  # a run of the default takes 2 GB, others more
# The first time, Python writes the bytecode of what the runs import, and the kernels are compiled. Where that is not
# possible, the trainings say why.
WARM_UP: Final = """
import torch
from serrm.kernels.cpu.build import has_kernels, library_path
if not library_path(torch.float32).is_file():
    import torch._dynamo, serrm.inference.evaluate, serrm.training.run
    has_kernels(torch.float32)
"""


class Share(NamedTuple):
    """How many runs go at a time, and what of the machine they share."""

    jobs: int
    cpus: int
    memory: int
    gpus: Gpus
    device: str
    """Of machine.yaml."""

    def __str__(self) -> str:
        """Describe what was counted, such as "2 CPUs, 8 GB of memory, 0 GPUs: 2 runs at a time"."""
        remark = f" ({self.gpus.remark})" if self.gpus.remark else ""
        counts = (
            f"{self.cpus} CPUs, {self.memory / 1e9:.0f} GB of memory, {len(self.gpus.names)} GPUs{remark}"
        )
        return f"{counts}: {self.jobs} run{'' if self.jobs == 1 else 's'} at a time"

    @property
    def shares_cpus(self) -> bool:
        """True if runs take over the CPUs of those that have ended."""
        return self.jobs > 1 and not self.gpus.names and "OMP_NUM_THREADS" not in os.environ

    def environment(self, root: Path) -> dict[str, str]:
        """Make the environment of every run, with its number of threads unless one is set or it has the machine."""
        environment = environment_of(root)
        if self.jobs > 1:
            threads = max(1, self.cpus // self.jobs) if self.gpus.names else 1
            environment.setdefault("OMP_NUM_THREADS", str(threads))
        return environment

    def gpu(self, slot: int) -> dict[str, str]:
        """Name the GPU of one of the runs at a time, if machine.yaml names none."""
        if self.jobs == 1 or not self.gpus.names or ":" in self.device:
            return {}
        return {"CUDA_VISIBLE_DEVICES": self.gpus.names[slot % len(self.gpus.names)]}


def share_of(root: Path, jobs: int | None) -> Share:
    """Count what this process may use, and choose the number of runs at a time unless it is given."""
    device, cpus, memory = read_execution(root).device, usable_cpus(), usable_memory()
    gpus = usable_gpus(device, os.environ)
    most_jobs = max(1, memory // BYTES_PER_RUN)
    return Share(jobs or len(gpus.names) or min(cpus, most_jobs), cpus, memory, gpus, device)


class Pipeline:
    """The stages of params.yaml, run by DVC commands with a share of the machine each."""

    def __init__(self, root: Path, share: Share, threads: Path) -> None:
        self.share, self.threads = share, threads
        self.params = read_params(root / PARAMS)
        self.layout = Layout(self.params.profile, root)
        self.commands, self.environment = Commands(root), share.environment(root)
        self.slots = SimpleQueue[int]()  # numbers of the runs at a time, of which the GPU depends
        for slot in range(share.jobs):
            self.slots.put(slot)

    def make_data(self) -> bool:
        """Make the arrays side by side, and list the code of the runs; False if a stage failed.

        An edit of code that the runs do not use, or of data that changes no array, leaves them as they are.
        """
        targets = [*(f"build_arrays@{name}" for name in self.params.data_sets), "hash_code"]
        with ThreadPoolExecutor(self.share.jobs) as pool:
            codes = list(pool.map(lambda target: self.commands.repro(self.environment, target), targets))
        # The puzzles of a user's file may come from a data set, which these stages then make if it is missing.
        if self.params.tests and not any(codes):
            codes.append(self.commands.repro(self.environment, "--glob", "read_tests@*"))
        return not any(codes)

    def train_and_score(self) -> bool:
        """Train and score the unfinished runs, the longest first; False if one failed.

        Runs that start from another run's weights come in a later round.
        """
        runs_folder = f"{self.params.profile}/runs/"
        has_rounds = any(run.init.startswith(runs_folder) for run in self.params.runs.values())
        while runs := self.serrm("forecast", "--ready", "--jobs", str(self.share.jobs)).split():
            self.threads.unlink(missing_ok=True)
            outcomes = list[bool]()
            with ThreadPoolExecutor(self.share.jobs) as pool:
                list(pool.map(partial(self._train_and_score_run, outcomes, len(runs)), runs))
            if not all(outcomes) or not has_rounds:
                return all(outcomes)
        return True

    def _train_and_score_run(self, outcomes: list[bool], num_runs: int, run: str) -> None:
        """Do one run, print its score, and let the last runs share the CPUs of those that have outcomes."""
        slot, start = self.slots.get(), time.monotonic()
        environment = {**self.environment, **self.share.gpu(slot)}
        if self.share.shares_cpus:
            environment["THREADS_FILE"] = str(self.threads)
        code = self.commands.repro(environment, "-s", f"train@{run}", f"evaluate@{run}")
        self.slots.put(slot)
        outcomes.append(code == 0)
        line = f"{run}: not finished"
        if code == 0:
            line = score_line(read_evaluation(self.layout.scores / f"{run}.json"), time.monotonic() - start)
        print_line(f"[{len(outcomes)}/{num_runs}] {line}")
        num_left = num_runs - len(outcomes)
        # A training takes this number of threads at its next line of the log.
        if 0 < num_left < self.share.jobs:
            write_whole(self.threads, str(self.share.cpus // num_left))

    def serrm(self, *arguments: str) -> str:
        """Run a command of `serrm` in a process of its own, which gives its memory back; returns its output."""
        result = subprocess.run(
            [sys.executable, "-m", "serrm.cli", *arguments],
            cwd=self.layout.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if result.returncode:
            raise ValueError(f"serrm {' '.join(arguments)}: exit code {result.returncode}")
        return result.stdout

    def run(self) -> int:
        """Run all stages; returns the exit code."""
        warm_up = subprocess.Popen(
            [sys.executable, "-c", WARM_UP],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        try:
            print_line(self.serrm("prune"))
            is_done = self.make_data()
            warm_up.wait()
            is_done = is_done and self.train_and_score()
            is_done = is_done and self.commands.repro(self.environment) == 0
        finally:
            warm_up.kill()
            warm_up.wait()
        if is_done:
            print_line(self.serrm("prune"))  # brings dvc.lock into one order, whichever run was faster
            return 0
        if self.commands.signal:
            return 128 + self.commands.signal
        print_line("a stage failed (see above); the same command continues with what is missing")
        return 1


def reproduce(root: Path, jobs: int | None) -> int:
    """Run the whole pipeline, mirrored in MLflow meanwhile; returns the exit code."""
    share = share_of(root, jobs)
    print_line(str(share))
    mirror = mirror_meanwhile(root)
    try:
        with TemporaryDirectory() as folder:
            return Pipeline(root, share, Path(folder) / "threads").run()
    finally:
        end_work()
        if mirror is not None:
            mirror.terminate()  # it ends when it has everything
            mirror.wait()
            with suppress(FileNotFoundError):
                sys.stderr.write((root / OUTPUT).read_text(encoding="utf-8"))


def reproduce_run(root: Path, run: str) -> int:
    """Train and score one run while others do the same elsewhere; 75 after a signal, as a training, else 0 or 1."""
    mirror_meanwhile(root)
    commands = Commands(root)
    code = commands.repro(environment_of(root), "-s", f"train@{run}", f"evaluate@{run}")
    return os.EX_TEMPFAIL if commands.signal else min(1, code)


def print_line(line: str) -> None:
    """Print a line whole, also from a thread; nothing if it is empty."""
    if line.strip():
        sys.stdout.write(f"{line.rstrip()}\n")
        sys.stdout.flush()
