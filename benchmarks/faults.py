"""What goes wrong around a pipeline, done to a small one on purpose; `dvc repro` has to give the same results then.

    python -m benchmarks.faults --write docs/reliability.md

Works in a temporary folder on clones of the committed files, and leaves nothing.
"""

import argparse
import os
import random
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
from serrm.files import between_markers, write_whole
from serrm.tracking.server import ENVIRONMENT, ui_command

# In the stage that writes them, no file may grow beyond half of these.
LIMITED = {
    "augment": ("data/ci/augmented/sudoku/train.parquet",),
    "build_arrays": ("data/ci/arrays/sudoku/train/questions.npy",),
    "train": (f"data/ci/runs/{NAME}/model.safetensors", f"data/ci/runs/{NAME}/training_state.pt"),
    "evaluate": (f"data/ci/predictions/{NAME}/examples.json",),
    "tabulate": ("reports/ci/tables/table1.md",),
}
SYNC = (sys.executable, "-m", "serrm.cli", "track", "sync", "--profile", "ci")
BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"
COLUMNS = ("fault", "times", "what it told", "half-written or left over", "results after `dvc repro`")


@dataclass
class Row:
    """A fault: what was told each time, what was found half-written or left over, whether the results are the same."""

    fault: str
    told: list[str] = field(default_factory=list)
    found: set[str] = field(default_factory=set)
    is_same: bool = True

    def __str__(self) -> str:
        """A line of the table."""
        told, found = "; ".join(dict.fromkeys(self.told)), ", ".join(sorted(self.found))
        same = "the same" if self.is_same else "**others**"
        return f"| {self.fault} | {len(self.told)} | {told} | {found or 'nothing'} | {same} |"


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
        environment, quiet = {**os.environ, **ENVIRONMENT}, subprocess.DEVNULL
        self.process = subprocess.Popen(
            self.command, cwd=self.place, env=environment, stdout=quiet, stderr=quiet, start_new_session=True
        )
        wait_for(self.answers)

    def answers(self) -> bool:
        """Whether it does."""
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
    """The faults, each done to a project of its own below a folder."""

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
        """`dvc repro` to the end; what is half-written or left over then goes into the rows, and what differs."""
        project.repro()
        results = project.results()
        for row in rows:
            row.found |= project.half_written() | (results.keys() - self.expected.keys())
            row.is_same &= all(results.get(name) == value for name, value in self.expected.items())

    def one_after_the_other(self, times: int) -> list[Row]:
        """Each stage killed with DVC at a random moment, in as many projects as times; in the first, limited before."""
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
        any(words.startswith(f"Running stage '{stage}@") for words in process.stdout)
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        row.told.append(f"after {seconds:.1f} s")
        row.found |= project.half_written() | project.restored()

    def limited(self, project: Project, stage: str) -> Iterator[Row]:
        """A stage that writes more than a few words, with a limit to the size of files, as on a full disk."""
        for file in LIMITED.get(stage, ()):
            project.repro(target(before(stage)))
            limit = self.sizes[file] // 2
            store = {"MLFLOW_TRACKING_URI": self.server.address}  # whose database is not limited
            code, words = project.run(*project.command(stage), limit=limit, **store)
            told = f"exit {code}: {last_line(words, project)}"
            fault = f"`{stage}`: no file beyond {limit:,} bytes, half of {Path(file).name}"
            yield Row(fault, [told], project.half_written())

    def together(self) -> list[Row]:
        """Two `dvc repro` at once; then MLflow's server gone in the middle of a training, twice."""
        project, rows = self.project("together", self.server.address), []
        both = [project.start("dvc", "repro") for _ in range(2)]
        ended = [(process.communicate()[0], process.returncode) for process in both]
        told = "; ".join(f"exit {code}: {last_line(words, project)}" for words, code in ended)
        rows.append(Row("two `dvc repro` at once", [told], project.half_written()))
        rows.append(self.without_server(project, is_soon_back=True))
        rows.append(self.without_server(project, is_soon_back=False))
        self.finish(project, rows)
        code, words = project.run(*SYNC)
        synced = "\n".join(each for each in words.splitlines() if NAME in each) or words
        rows[-1].told[0] += f"; `serrm track sync` afterwards: exit {code}, {last_line(synced, project)}"
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
        words = training.communicate()[0]
        if not is_soon_back:
            self.server.start()
        about = [shown(each, project) for each in words.splitlines() if "MLflow" in each]
        fault = (
            f"MLflow's server gone in a training, back {'at once' if is_soon_back else 'when it has ended'}"
        )
        return Row(fault, [": ".join([f"exit {training.returncode}", *about])], project.half_written())


def before(stage: str) -> str:
    """The stage in front of one."""
    return list(STAGES)[list(STAGES).index(stage) - 1]


def target(stage: str) -> str:
    """A stage's name for DVC."""
    return f"{stage}@{STAGES[stage]}".rstrip("@")


def wait_for(happens: Callable[[], bool]) -> None:
    """Until something happens, for minutes at most."""
    for _ in range(3000):
        if happens():
            return
        time.sleep(0.1)
    raise TimeoutError("waited for five minutes")


def last_line(words: str, project: Project) -> str:
    """What a command said at its end; that it showed a traceback."""
    told = shown((words.strip().splitlines() or [""])[-1], project)
    return f"**traceback**, {told}" if "Traceback" in words else told


def shown(words: str, project: Project) -> str:
    """A line for a cell of the table, paths as seen from the project."""
    return shorten(words.replace(f"{project.root}/", "").replace("|", "\\|"), 200, placeholder=" …")


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
    """Parse the command line, do the harm, print the table or write it."""
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
    sys.exit(any(row.found or not row.is_same for row in done))


if __name__ == "__main__":
    main()
