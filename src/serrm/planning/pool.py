"""Runs jobs in a few processes, each as soon as those before it are done, that before the longest row of others first.

What follows a failed job is not run, but for jobs of the whole profile, which go on with the cells that are left.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

from serrm.grid import Grid
from serrm.planning.pipeline import Job, path_lengths
from serrm.progress import progress_bar
from serrm.resolve import write

WORKER = "serrm.planning.worker"
MOST_PROCESSES = 4
NOT_COMPILED = "is to run compiled, and no compiled graph ran"


@dataclass(frozen=True)
class Result:
    """How a job ended: the first line of its error or None, seconds, graphs compiled, calls of compiled graphs."""

    job: Job
    error: str | None
    seconds: float = 0.0
    compiled: int = 0
    calls: int = 0


class Worker:
    """A process that runs stages in a folder; a new one takes the place of one that died."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.environment = folder, environment_of(folder)
        self.process = self._start()

    def run(self, job: Job, *, compiles: bool = False) -> Result:
        """Run one job; what it printed is in logs/. One that is to run compiled graphs and runs none has failed."""
        if self.process.poll() is not None:
            self.stop()
            self.process = self._start()
        log = self.folder / "logs" / f"{job.stage}-{job.of}.log"
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(json.dumps({"arguments": job.arguments, "log": str(log), "compiles": compiles}) + "\n")
        stdin.flush()
        answer = stdout.readline()
        if not answer:
            return Result(job, f"the process ended with exit code {self.process.wait()}")
        found = json.loads(answer)
        error = found.pop("error")
        if compiles and error is None and not found["calls"]:
            error = NOT_COMPILED
        return Result(job, error and (said(log) or error), **found)

    def stop(self) -> None:
        """End the process and its compilers, whatever they do."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
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
                start_new_session=True,
            )


def said(log: Path) -> str | None:
    """The error that a stage printed, in one line; None if it printed none."""
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return errors[-1] if errors else None


def num_processes() -> int:
    """One a core, and not too many for one machine's memory."""
    return min(MOST_PROCESSES, os.cpu_count() or 1)


def run_all(
    jobs: Sequence[Job],
    num: int,
    folder: Path,
    lengths: Mapping[tuple[str, str], int],
    compiling: Collection[tuple[str, str]],
) -> list[Result]:
    """Run jobs in a folder by so many processes; results in their order.

    `lengths` says how long jobs are to one another, `compiling` which have to run compiled graphs, by (stage, of).
    """
    behind = path_lengths(jobs, lengths)
    workers = [Worker(folder) for _ in range(min(num, len(jobs)))]
    idle, ready = list(workers), list[int]()
    results: dict[int, Result] = {}
    running: dict[Future[Result], tuple[int, Worker]] = {}
    order = TopologicalSorter({number: job.after for number, job in enumerate(jobs)})
    order.prepare()
    with (
        ThreadPoolExecutor(len(workers)) as threads,
        progress_bar("rehearsal", len(jobs), unit="stage") as bar,
    ):
        try:
            while order.is_active():
                ready = sorted([*ready, *order.get_ready()], key=lambda each: (behind[each], -each))
                while ready and idle:
                    job = jobs[number := ready.pop()]
                    if (reason := _why_not(job, jobs, results, folder)) is None:
                        worker, compiles = idle.pop(), (job.stage, job.of) in compiling
                        running[threads.submit(worker.run, job, compiles=compiles)] = number, worker
                    else:
                        results[number] = Result(job, reason)
                        order.done(number)
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    number, worker = running.pop(future)
                    idle.append(worker)
                    results[number] = future.result()
                    order.done(number)
                bar.update(len(results) - bar.n)
        finally:
            for worker in workers:
                worker.stop()
    return [results[number] for number in range(len(jobs))]


def _why_not(job: Job, jobs: Sequence[Job], results: Mapping[int, Result], folder: Path) -> str | None:
    """Why a job is not run, or None. One of the whole profile is given the cells that are left, if there are any."""
    failed = [results[number] for number in job.after if results[number].error is not None]
    if not failed:
        return None
    lost = {each.job.cell for each in failed}
    left = list(dict.fromkeys(each.cell for each in jobs if each.cell and each.cell not in lost))
    if "task" in job.item or not left:
        return f"not run, after {failed[0].job.stage} of {failed[0].job.of}"
    blocks = [{"tasks": [task], "models": [model], "seeds": [seed]} for task, model, seed in left]
    write({job.stage: Grid.model_validate(blocks)}, folder / "data" / "config" / job.of)
    return None


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
