"""Runs jobs in a few processes, each as soon as those before it are done; what follows a failed one is not run."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

from serrm.planning.pipeline import Job
from serrm.progress import Bar

WORKER = "serrm.planning.worker"
MOST_PROCESSES = 4


@dataclass(frozen=True)
class Result:
    """How a job ended: the first line of its error or None, seconds, graphs traced, graphs compiled anew."""

    job: Job
    error: str | None
    seconds: float = 0.0
    traced: int = 0
    compiled: int = 0


class Worker:
    """A process that runs stages in a folder; a new one takes the place of one that died."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder, self.environment = folder, dict(environment)
        self.process = self._start()

    def run(self, job: Job) -> Result:
        """Run one job; what it printed is in logs/."""
        if self.process.poll() is not None:
            self.stop()
            self.process = self._start()
        log = self.folder / "logs" / f"{job.stage}-{job.of}.log"
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(json.dumps({"arguments": job.arguments, "log": str(log)}) + "\n")
        stdin.flush()
        answer = stdout.readline()
        if not answer:
            return Result(job, f"the process ended with exit code {self.process.wait()}")
        found = json.loads(answer)
        error = found.pop("error")
        return Result(job, error and (said(log) or error), **found)

    def stop(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def _start(self) -> "subprocess.Popen[str]":
        with (self.folder / "logs" / "workers.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", WORKER],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )


def said(log: Path) -> str | None:
    """The error that a stage printed, in one line; None if it printed none."""
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return errors[-1] if errors else None


def num_processes() -> int:
    """One a core, and not too many for one machine's memory."""
    return min(MOST_PROCESSES, os.cpu_count() or 1)


def run_all(jobs: Sequence[Job], num: int, folder: Path) -> list[Result]:
    """Run every job in a folder by so many processes, but for those after one that failed; results in their order."""
    hands = [Worker(folder, environment_of(folder)) for _ in range(min(num, len(jobs)))]
    idle: Queue[Worker] = Queue()
    for worker in hands:
        idle.put(worker)
    results: dict[int, Result] = {}
    running: dict[Future[Result], int] = {}

    def run(job: Job) -> Result:
        worker = idle.get()
        try:
            return worker.run(job)
        finally:
            idle.put(worker)

    pool = ThreadPoolExecutor(len(hands))
    try:
        with Bar("rehearsal", len(jobs), unit="stage") as bar:
            while len(results) < len(jobs):
                num_before = len(results)
                for number in _ready(jobs, results, set(running.values())):
                    if (failed := _failed(jobs[number], results)) is not None:
                        reason = f"not run, after {failed.job.stage} of {failed.job.of}"
                        results[number] = Result(jobs[number], reason)
                    elif len(running) < len(hands):
                        running[pool.submit(run, jobs[number])] = number
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    results[running.pop(future)] = future.result()
                bar.update(len(results) - num_before)
    finally:
        for worker in hands:
            worker.stop()
        pool.shutdown()
    return [results[number] for number in range(len(jobs))]


def _ready(jobs: Sequence[Job], results: Mapping[int, Result], running: set[int]) -> list[int]:
    taken = running | results.keys()
    return [
        number
        for number, job in enumerate(jobs)
        if number not in taken and all(other in results for other in job.after)
    ]


def _failed(job: Job, results: Mapping[int, Result]) -> Result | None:
    """The first job before it that failed itself."""
    before = [results[number] for number in job.after]
    return next((each for each in before if each.error is not None), None)


def environment_of(folder: Path) -> dict[str, str]:
    """Of the processes: stages of the folder, a store of its own for MLflow, a cache of compiled graphs for all."""
    left_out = ("MLFLOW_TRACKING_URI", "DVC_ROOT")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return kept | {
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": "1",
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "compiled"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
