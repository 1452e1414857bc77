"""Faults around a small pipeline, caused on purpose; `dvc repro` has to give the same results afterwards.

    python -m benchmarks.faults --write benchmarks/faults.md

Works in a temporary folder on clones of the committed files, and leaves nothing.
"""

import argparse
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten
from urllib.request import urlopen

from benchmarks.fault_project import NAME, STAGES, Project
from serrm.core.files import between_markers, write_whole
from serrm.tracking import ui_command

# In the stage that writes them, no file may grow beyond half of these.
LIMITED = {
    "choose_puzzles": ("data/ci/puzzles/sudoku/train.parquet",),
    "build_arrays": ("data/ci/arrays/sudoku/training/questions.npy",),
    "train": (f"data/ci/runs/{NAME}/model.safetensors", f"data/ci/runs/{NAME}/training_state.pt"),
    "evaluate": (f"data/ci/predictions/{NAME}/predictions.parquet",),
    "tabulate": ("reports/ci/tables/table1.md",),
}
TRACK = (sys.executable, "-m", "serrm.cli", "track")
BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"
COLUMNS = ("fault", "times", "message", "half-written or left over", "results after `dvc repro`")


@dataclass
class Row:
    """A fault: the message each time, the files half-written or left over, and whether the results are the same."""

    fault: str
    messages: list[str] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    is_same: bool = True

    def __str__(self) -> str:
        """A line of the table."""
        messages, files = "; ".join(dict.fromkeys(self.messages)), ", ".join(sorted(self.files))
        same = "the same" if self.is_same else "**others**"
        return f"| {self.fault} | {len(self.messages)} | {messages} | {files or 'nothing'} | {same} |"


class Server:
    """An MLflow server on a free port, which can be killed and started again."""

    def __init__(self, place: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        self.place, self.address = place, f"http://127.0.0.1:{port}"
        (place / "server.db").touch()  # an empty file is an empty database
        store = ui_command(f"sqlite:///{place / 'server.db'}", "127.0.0.1", port)
        self.command = [*store, "--artifacts-destination", str(place / "artifacts")]
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(
            self.command, cwd=self.place, stdout=quiet, stderr=quiet, start_new_session=True
        )
        wait_for(self.answers)

    def answers(self) -> bool:
        """Check that it answers."""
        try:
            with urlopen(f"{self.address}/health", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def kill(self) -> None:
        """`kill -9` of all its processes."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Faults:
    """The faults, each in a project of its own below a folder."""

    def __init__(self, place: Path, server: Server) -> None:
        self.place, self.server, self.rng = place, server, random.Random(0)
        undisturbed = self.project("undisturbed")
        self.seconds = undisturbed.repro()
        self.expected = undisturbed.results()
        self.sizes = {name: (undisturbed.root / name).stat().st_size for name in self.expected}

    def project(self, name: str, address: str = "") -> Project:
        """A project in which nothing has run."""
        return Project.create(self.place / name, address)

    def finish(self, project: Project, rows: list[Row]) -> None:
        """`dvc repro` to the end; adds to the rows what is half-written or left over then, and what differs."""
        project.repro()
        results = project.results()
        for row in rows:
            row.files |= project.half_written() | (results.keys() - self.expected.keys())
            row.is_same &= all(results.get(name) == value for name, value in self.expected.items())

    def one_after_the_other(self, times: int) -> list[Row]:
        """Each stage killed with DVC at a random moment, in `times` projects; in the first also with limits."""
        killed = {stage: Row(f"`kill -9` of `{stage}`, with DVC") for stage in STAGES}
        limited: list[Row] = []
        for number in range(times):
            project = self.project(f"killed-{number}")
            for stage, row in killed.items():
                if not number:
                    limited += list(self.limited(project, stage))
                self.kill(project, stage, row)
            self.finish(project, [*limited, *killed.values()])
        return [*limited, *killed.values()]

    def kill(self, project: Project, stage: str, row: Row) -> None:
        """`dvc repro`, killed a random moment after a stage began."""
        seconds = self.rng.uniform(0, self.seconds[stage])
        process = project.start("dvc", "repro")
        assert process.stdout is not None
        any(line.startswith(f"Running stage '{target(stage)}'") for line in process.stdout)
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        row.messages.append(f"after {seconds:.1f} s")
        row.files |= project.half_written() | project.restored()

    def limited(self, project: Project, stage: str) -> Iterator[Row]:
        """A stage with a limit to the size of its files, as on a full disk."""
        for file in LIMITED.get(stage, ()):
            project.repro(target(before(stage)))
            limit = self.sizes[file] // 2
            store = {"MLFLOW_TRACKING_URI": self.server.address}  # whose database is not limited
            code, output = project.run(*project.command(stage), limit=limit, **store)
            message = f"exit {code}: {last_line(output, project)}"
            fault = f"`{stage}`: files limited to {limit:,} bytes, half of {Path(file).name}"
            yield Row(fault, [message], project.half_written())

    def together(self) -> list[Row]:
        """Two `dvc repro` at once; then MLflow's server killed during a training run, twice."""
        project, rows = self.project("together", self.server.address), []
        both = [project.start("dvc", "repro") for _ in range(2)]
        ended = [(process.communicate()[0], process.returncode) for process in both]
        message = "; ".join(f"exit {code}: {last_line(output, project)}" for output, code in ended)
        rows.append(Row("two `dvc repro` at once", [message], project.half_written()))
        rows.append(self.without_server(project, is_soon_back=True))
        rows.append(self.without_server(project, is_soon_back=False))
        self.finish(project, rows)
        code, output = project.run(*TRACK)
        synced = "\n".join(each for each in output.splitlines() if NAME in each) or output
        rows[-1].messages[0] += f"; `serrm track` afterwards: exit {code}, {last_line(synced, project)}"
        return rows

    def without_server(self, project: Project, *, is_soon_back: bool) -> Row:
        """MLflow's server killed in the middle of a training, started again at once or when the training has ended."""
        options = ("--force", "--single-item", target("train"))
        few = {} if is_soon_back else {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1"}
        training = project.start("dvc", "repro", *options, **few)
        wait_for(lambda: any(project.root.glob("data/scratch/*/snapshots/step_*.safetensors")))
        self.server.kill()
        if is_soon_back:
            self.server.start()
        output = training.communicate()[0]
        if not is_soon_back:
            self.server.start()
        about = [shown(each, project) for each in output.splitlines() if "MLflow" in each]
        fault = f"MLflow's server killed during training, back {'at once' if is_soon_back else 'after it'}"
        return Row(fault, [": ".join([f"exit {training.returncode}", *about])], project.half_written())


def before(stage: str) -> str:
    """The stage in front of one."""
    return list(STAGES)[list(STAGES).index(stage) - 1]


def target(stage: str) -> str:
    """A stage's name for DVC."""
    return f"{stage}@{STAGES[stage]}".rstrip("@")


def wait_for(happens: Callable[[], bool]) -> None:
    """Wait until something happens, for five minutes at most."""
    for _ in range(3000):
        if happens():
            return
        time.sleep(0.1)
    raise TimeoutError("waited for five minutes")


def last_line(output: str, project: Project) -> str:
    """The last line of a command's output, and a note of a traceback in it."""
    line = shown((output.strip().splitlines() or [""])[-1], project)
    return f"**traceback**, {line}" if "Traceback" in output else line


def shown(line: str, project: Project) -> str:
    """Shorten a line for the table: paths relative to the project, no digests."""
    line = re.sub("[0-9a-f]{64}", "HASH", line.replace(f"{project.root}/", "")).replace("|", "\\|")
    return shorten(line, 60, placeholder=" …")


def rows(place: Path, times: int) -> Iterator[Row]:
    """Every fault, one after the other."""
    server = Server(place)
    try:
        faults = Faults(place, server)
        yield from faults.together()
        yield from faults.one_after_the_other(times)
    finally:
        server.kill()


def main() -> None:
    """Parse the command line, cause the faults, print the table or write it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, help="put the table between this page's markers")
    parser.add_argument("--times", type=int, default=2, help="that each stage is killed")
    options = parser.parse_args()
    done = []
    with tempfile.TemporaryDirectory() as place:
        for row in rows(Path(place), options.times):
            print(row, flush=True)
            done.append(row)
    if options.write is not None:
        header = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"
        table = "\n".join([header, *map(str, done)])
        write_whole(options.write, between_markers(options.write.read_text(), BEGIN, END, table))
    sys.exit(any(row.files or not row.is_same for row in done))


if __name__ == "__main__":
    main()
