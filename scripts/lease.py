"""The GPU profiles on a machine that is there for minutes, such as a spot machine, in the order of their worth.

    python scripts/lease.py --seconds 540 --results DIR       # the same command on the next machine goes on
    python scripts/lease.py --seconds 0 --results DIR         # prints what is done and what remains
    python scripts/lease.py --rehearse --seconds 900          # everything with tiny models on a CPU, on two machines

Runs of a part share the GPU, one process each. Before the end a training gets SIGTERM and writes a checkpoint. DIR then
gets at most 8 files of 16 MiB: scores, logs, weights, and the state of unfinished trainings without their slots, which
are filled anew on the next machine (docs/scale.md). What does not fit is named; it has to end on one machine. Puzzles
are downloaded unless the arrays of a profile are in place. At home, `dvc commit` records the results.

The recipes of gpu_sudoku_long are those that did best in gpu_sudoku_tuning; the last lines name them, to be put into
the profile.
"""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import typer
from pydantic import JsonValue

PROJECT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT), str(PROJECT / "src")]

from serrm import command_line  # noqa: E402
from serrm.commands.profile import use  # noqa: E402
from serrm.config import Params, read_params, write_yaml  # noqa: E402
from serrm.core.files import write_whole  # noqa: E402
from serrm.core.project import MACHINE_FILE, PARAMS, PROFILES, REGRESSION, Layout  # noqa: E402
from serrm.core.settings import parse  # noqa: E402
from serrm.planning.forecast import flops_by_run  # noqa: E402
from serrm.planning.rehearse import miniature  # noqa: E402
from serrm.running.commands import environment_of  # noqa: E402
from serrm.scoring.schema import Evaluation, read_evaluation  # noqa: E402
from serrm.tracking.background import without_mirror  # noqa: E402
from serrm.training.checkpoint import copy_for_prediction, copy_without_slots, latest_sound  # noqa: E402
from serrm.training.identity import Unfinished, unfinished_trainings  # noqa: E402

FILE_BYTES, MOST_BYTES = 16 * 2**20, 45 * 2**20
RESERVE = 60.0  # seconds for the last checkpoint and the files of results
POLL_SECONDS = 0.2
CHECKS = Path("data/lease")  # what the checks print
# Stages of a run in one process, which starts and compiles once.
STAGES: Final = """
import sys
import torch
from serrm.command_line import print_error
from stages.evaluate import evaluate
from stages.train import train
for name in sys.argv[1:]:
    stage, _, run = name.partition("@")
    try:
        {"train": train, "evaluate": evaluate}[stage](run)
    except ValueError as error:
        print_error(f"{name}: {error}")
        sys.exit(1)
    torch._dynamo.reset()
"""


class Part(NamedTuple):
    """Runs of a profile, by patterns of their names. A run that others continue is trained and not scored."""

    title: str
    profile: str
    runs: tuple[str, ...] = ("*",)
    has_dvc: bool = False  # by `dvc repro` rather than in one process
    keeps_weights: bool = True


PARTS: Final = (
    Part("ARC-AGI-1, through DVC", "gpu_arc", has_dvc=True),
    Part("Sudoku: tuning", "gpu_sudoku_tuning", keeps_weights=False),
    Part("Sudoku: 1e16 FLOPs", "gpu_sudoku_long", ("*_trunk-s0", "*_1e16-s0")),
    Part("Sudoku: 3e16 FLOPs", "gpu_sudoku_long", ("*_trunk_24e15-s0", "*_3e16-s0")),
    Part("Sudoku: 1e17 FLOPs", "gpu_sudoku_long", ("*_trunk_8e16-s0", "*_1e17-s0")),
    Part("mazes: tuning", "gpu_maze_tuning", keeps_weights=False),
    Part("mazes: seeds and augmentations", "gpu_maze_seeds"),
    Part("ARC-AGI-1: seeds and further sets", "gpu_arc_seeds"),
)
# Profiles whose recipes another one chooses, on validation puzzles, and the share of them that the best has to solve.
CHOSEN_IN: Final = {"gpu_sudoku_long": "gpu_sudoku_tuning"}
MIN_SOLVED = 0.05
# Before all parts: tests that need a GPU (one by torchrun over nccl), and steps, the authors' too if they are there.
MODULES: Final = (
    ("pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", str(PROJECT / "tests")),
    ("benchmarks.steps", "--device", "cuda"),
)
REHEARSED_MODULES: Final = (("benchmarks.steps", "--help"),)


class Lease:
    """The work in a folder of the project, or in that of a rehearsal, until the time is over."""

    def __init__(
        self, root: Path, seconds: float, modules: tuple[tuple[str, ...], ...] = MODULES, at_once: int = 1
    ) -> None:
        self.root, self.modules, self.end = root, modules, time.monotonic() + seconds
        self.at_once = at_once

    @property
    def is_over(self) -> bool:
        """True if no time is left."""
        return time.monotonic() >= self.end

    def params(self, part: Part) -> Params:
        """Read the params of a part's profile."""
        return read_params(self.root / PROFILES / f"{part.profile}.yaml")

    def choices(self, profile: str) -> dict[str, dict[str, JsonValue]]:
        """Find the changes of each model that did best in the profile's tuning; empty until all its runs are scored."""
        if profile not in CHOSEN_IN:
            return {}
        tuning = CHOSEN_IN[profile]
        runs = read_params(self.root / PROFILES / f"{tuning}.yaml").runs
        files = {name: Layout(tuning, self.root).scores / f"{name}.json" for name in runs}
        if not all(file.is_file() for file in files.values()):
            return {}
        chosen = {}
        for model in dict.fromkeys(run.model for run in runs.values()):
            scores = {name: rates(read_evaluation(files[name])) for name in runs if runs[name].model == model}
            most = max(solved for solved, _ in scores.values())
            best = max(scores, key=lambda name: scores[name] if most >= MIN_SOLVED else scores[name][::-1])
            chosen[model] = runs[best].changes
        return chosen

    def stages(self, part: Part) -> list[str]:
        """List the stages of a part that are left, a training before those that start from it."""
        params, layout = self.params(part), Layout(part.profile, self.root)
        names = [name for name in params.runs if any(fnmatch(name, pattern) for pattern in part.runs)]
        continued, left = {params.initial_run(name) for name in params.runs if continues(params, name)}, []
        for name in sorted(names, key=lambda name: depth(params, name)):
            is_scored = name in continued or (layout.scores / f"{name}.json").is_file()
            if not (layout.runs / name).is_dir() and (name in continued or not is_scored):
                left.append(f"train@{name}")
            if not is_scored:
                left.append(f"evaluate@{name}")
        return left

    def output(self, number: int, module: tuple[str, ...]) -> Path:
        """Locate the file of what a module prints; it is there once the module has run."""
        return self.root / CHECKS / f"{number}-{module[0]}.txt"

    def check(self) -> None:
        """Run the modules that have not run before; what one prints is kept with its exit code."""
        for number, module in enumerate(self.modules):
            file = self.output(number, module)
            if not (file.is_file() or self.is_over):
                file.parent.mkdir(parents=True, exist_ok=True)
                partial = file.with_suffix(".partial")
                with partial.open("w") as output:
                    code = self._call("-m", *module, output=output.fileno())
                    output.write(f"exit code {code}\n")
                if not self.is_over:
                    partial.rename(file)

    def run(self, part: Part) -> None:
        """Do what is left of a part in the time that is left."""
        if self.is_over or not (left := self.stages(part)):
            return
        params, layout = self.params(part), Layout(part.profile, self.root)
        self._use(with_changes(params, self.choices(part.profile)))
        before = [("hash_code", "")]
        for data_set in dict.fromkeys(params.runs[name.partition("@")[2]].data_set for name in left):
            if not (layout.arrays / data_set / "training").is_dir():
                before += [(stage, data_set) for stage in ("download", "choose_puzzles", "build_arrays")]
        if any(self._call("-m", "stages", *filter(None, stage)) for stage in before):
            return
        if part.has_dvc:
            self._call("-m", "dvc", "--wait-for-lock", "repro", "-s", "-k", *left)
        else:
            self._side_by_side(params, left)

    def _use(self, params: Params) -> None:
        """Make these the params; ValueError if edits that nothing else keeps would be lost."""
        target, own = self.root / PARAMS, self.root / CHECKS / PARAMS
        if not (own.is_file() and own.read_bytes() == target.read_bytes()):
            use(params.profile, is_forced=False)
        own.parent.mkdir(parents=True, exist_ok=True)
        for file in (target, own):
            write_yaml(file, params.model_dump(mode="json"))

    def _side_by_side(self, params: Params, stages: list[str]) -> None:
        """Run the stages of each run in a process of its own, after those of the run that it starts from."""
        waiting: dict[str, list[str]] = {}
        for stage in stages:
            waiting.setdefault(stage.partition("@")[2], []).append(stage)
        running: dict[str, subprocess.Popen[bytes]] = {}
        while (waiting and not self.is_over) or running:
            busy = {*waiting, *running}
            ready = [name for name in waiting if params.initial_run(name) not in busy]
            for name in ready[: self.at_once - len(running)]:
                running[name] = self._start("-c", STAGES, *waiting.pop(name))
            time.sleep(POLL_SECONDS)
            if self.is_over:
                for process in running.values():
                    process.terminate()
                for process in running.values():
                    process.wait()
            running = {name: process for name, process in running.items() if process.poll() is None}

    def _call(self, *arguments: str, output: int | None = None) -> int:
        """Run Python in the folder, until the time is over; its exit code."""
        process = self._start(*arguments, output=output)
        try:
            return process.wait(max(0.0, self.end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.terminate()
            return process.wait()

    def _start(self, *arguments: str, output: int | None = None) -> "subprocess.Popen[bytes]":
        """Start Python in the folder."""
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.root,
            env=environment_of(PROJECT) | {"PYTHONPATH": f"{PROJECT}:{PROJECT / 'src'}"},
            stdout=output,
            process_group=0,
        )

    def report(self, parts: tuple[Part, ...]) -> Iterator[str]:
        """Yield one line per part: done, or the stages that are left, and the steps of a training that has begun."""
        num_left = sum(not self.output(*numbered).is_file() for numbered in enumerate(self.modules))
        yield f"{'remains' if num_left else 'done':9}checks: {num_left} of {len(self.modules)} left"
        begun = {
            (other.identity.profile, f"train@{other.identity.run}"): other.step for other in self.unfinished()
        }
        for part in parts:
            left = self.stages(part)
            steps = [
                f", {name} at step {begun[key]}" for name in left if (key := (part.profile, name)) in begun
            ]
            yield f"{'remains' if left else 'done':9}{part.title}: {len(left)} stages left{''.join(steps)}"
        for profile in CHOSEN_IN:
            for model, changes in self.choices(profile).items():
                yield f"chosen for {model} in {profile}: {changes or 'no change'}"

    def unfinished(self) -> list[Unfinished]:
        """List the unfinished trainings."""
        return list(unfinished_trainings(self.root / "data/scratch"))

    def pack(self, results: Path) -> list[str]:
        """Write scores, logs, weights and states to files in `results`; the paths that did not fit."""
        with TemporaryDirectory() as temporary:
            folder = Path(temporary)
            for profile in dict.fromkeys(part.profile for part in PARTS):
                layout = Layout(profile, self.root)
                for path in (layout.scores, layout.logs, layout.predictions, layout.provenance):
                    if path.is_dir():
                        shutil.copytree(path, folder / path.relative_to(self.root))
            if (self.root / CHECKS).is_dir():
                shutil.copytree(self.root / CHECKS, folder / CHECKS)
            left_out = []
            for path, copy in self._checkpoints().items():
                target = folder / path.relative_to(self.root)
                copy(path, target)
                if size_of(folder) > MOST_BYTES:
                    shutil.rmtree(target)
                    left_out.append(str(path.relative_to(self.root)))
            content = io.BytesIO()
            with tarfile.open(fileobj=content, mode="w") as tar:
                tar.add(folder, ".")
        results.mkdir(parents=True, exist_ok=True)
        for file in results.glob("lease.tar.*"):
            file.unlink()
        for number, start in enumerate(range(0, content.tell(), FILE_BYTES)):
            write_whole(results / f"lease.tar.{number}", content.getvalue()[start : start + FILE_BYTES])
        return left_out

    def _checkpoints(self) -> dict[Path, Callable[[Path, Path], None]]:
        """List what to keep, the most valuable first, with the functions that copy what is needed of them."""
        copies: dict[Path, Callable[[Path, Path], None]] = {}
        copies |= {unfinished.folder: copy_unfinished for unfinished in self.unfinished()}
        for part in PARTS:
            params, layout = self.params(part), Layout(part.profile, self.root)
            for name in (stage.removeprefix("train@") for stage in self.stages(part)):
                if name in params.runs and (init := params.initial_run(name)) and continues(params, name):
                    copies.setdefault(layout.runs / init, copy_without_slots)
        for part in PARTS:
            if part.keeps_weights:
                runs = Layout(part.profile, self.root).runs
                for path in sorted(runs.glob("*")):
                    copies.setdefault(path, copy_for_prediction)
        return {path: copy for path, copy in copies.items() if path.is_dir()}

    def unpack(self, results: Path) -> None:
        """Put what an earlier machine has packed in its place; what is there stays."""
        files = sorted(results.glob("lease.tar.*"))
        content = io.BytesIO(b"".join(file.read_bytes() for file in files))
        if files:
            with tarfile.open(fileobj=content) as tar:
                for member in tar:
                    if not (self.root / member.name).exists():
                        tar.extract(member, self.root, filter="data")


def copy_unfinished(scratch: Path, target: Path) -> None:
    """Copy the newest checkpoint of an unfinished training without its slots, and what belongs to it."""
    checkpoint = latest_sound(scratch)
    assert checkpoint is not None
    ignored = shutil.ignore_patterns("step_0*", "lock", ".*")
    shutil.copytree(scratch, target, ignore=ignored)
    copy_without_slots(checkpoint, target / checkpoint.name)


def size_of(folder: Path) -> int:
    """Sum the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def rates(evaluation: Evaluation) -> tuple[float, float]:
    """Return the shares of solved puzzles and of right cells on the validation puzzles."""
    scored = evaluation.scored[evaluation.main_set]
    metrics = scored.steps[scored.headline_steps]
    return metrics["fsr"], metrics["gpa"]


def with_changes(params: Params, changes: dict[str, dict[str, JsonValue]]) -> Params:
    """Apply changes to all runs of each model, and scale their steps so that the FLOPs stay."""
    if not changes:
        return params
    before = {name: (num, flops) for name, num, flops, *_ in flops_by_run(params)}
    runs = dict(params.runs)
    for name, run in params.runs.items():
        if changed := changes.get(run.model):
            kept = changed | run.changes | {"train.steps": before[name][0]}
            runs[name] = run.model_copy(update={"changes": kept})
    for name, num, flops, *_ in flops_by_run(params.model_copy(update={"runs": runs})):
        if flops != before[name][1]:
            steps = {"train.steps": round(num * before[name][1] / flops)}
            runs[name] = runs[name].model_copy(update={"changes": runs[name].changes | steps})
    return params.model_copy(update={"runs": runs})


def continues(params: Params, name: str) -> bool:
    """True for a run that continues the whole training of another one."""
    return bool(params.runs[name].changes.get("train.continues"))


def depth(params: Params, name: str) -> int:
    """Count the runs from which a run starts, one after another."""
    init = params.initial_run(name)
    return 1 + depth(params, init) if init else 0


def write_rehearsal(root: Path) -> None:
    """Make a folder with the profiles in miniature, on generated puzzles, that run on a CPU."""
    generated = read_params(PROJECT / PROFILES / f"{REGRESSION}.yaml")
    (root / PROFILES).mkdir(parents=True)
    for name in dict.fromkeys(part.profile for part in PARTS):
        params = read_params(PROJECT / PROFILES / f"{name}.yaml")
        values = miniature(params, device="cpu").model_dump(mode="json")
        for data_set, section in values["data_sets"].items():
            source = generated.data_sets[params.task_of(data_set)]
            held_out = {"num_train": 32, "num_test": 8, "scored": "held_out"}
            is_held_out = section["puzzles"].get("scored") == "held_out"
            section["puzzles"] = source.puzzles | (held_out if is_held_out else {})
            section["download"] = source.download
        for run, section in values["runs"].items():
            section["init"] = params.runs[run].init
            if "train.continues" in section["changes"]:
                section["changes"]["train.continues"] = True
        write_yaml(root / PROFILES / f"{name}.yaml", parse(Params, values, name).model_dump(mode="json"))
    shutil.copyfile(root / PROFILES / f"{PARTS[0].profile}.yaml", root / PARAMS)
    write_yaml(root / MACHINE_FILE, {"device": "cpu", "threads": 1})


def work(lease: Lease, results: Path, parts: tuple[Part, ...]) -> None:
    """Go on where the last machine ended, and pack what is there at the end."""
    lease.unpack(results)
    lease.check()
    for part in parts:
        lease.run(part)
    for path in lease.pack(results):
        print(f"does not fit, so it has to end on one machine: {path}")
    print(*lease.report(parts), sep="\n")


def main(
    seconds: float = typer.Option(
        ..., min=0, help="Time on this machine, with a minute at its end for the results."
    ),
    results: Path = typer.Option(Path("data/lease-results"), help="Folder for what the next machine needs."),
    only: str = typer.Option(
        "*", metavar="PATTERN", help="Only the parts with such a title, such as 'SE-RRM*'."
    ),
    checkout: Path | None = typer.Option(
        None, exists=True, file_okay=False, help="The authors' code, whose steps are timed beside ours."
    ),
    at_once: int = typer.Option(15, min=1, help="Runs that share the GPU; at most one per core."),
    is_rehearsal: bool = typer.Option(False, "--rehearse", help="Everything with tiny models on a CPU."),
) -> None:
    """Do as much of the GPU profiles as the time allows, the most valuable part first.

    Example: python scripts/lease.py --seconds 540 --results results
    """
    parts = tuple(part for part in PARTS if fnmatch(part.title, only))
    at_once = min(at_once, os.cpu_count() or 1)
    checkout = checkout and checkout.resolve()
    if not is_rehearsal:
        os.chdir(PROJECT)
        peers = (("benchmarks.peers", str(checkout), "--device", "cuda"),) if checkout else ()
        work(Lease(PROJECT, seconds - RESERVE, MODULES + peers, at_once), results, parts)
        return
    parts = tuple(part._replace(has_dvc=False) for part in parts)
    with TemporaryDirectory() as folder:
        for number, share in enumerate((0.3, 0.7)):
            root = Path(folder) / str(number)
            write_rehearsal(root)
            os.chdir(root)
            with without_mirror(root):
                lease = Lease(root, share * seconds, REHEARSED_MODULES, at_once)
                work(lease, Path(folder) / "results", parts)
        os.chdir(PROJECT)
        if any(map(lease.stages, parts)):
            raise typer.Exit(1)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
app.command()(main)

if __name__ == "__main__":
    sys.exit(command_line.run(app))
