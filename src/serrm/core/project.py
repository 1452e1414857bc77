"""The project around the current folder: its root, its paths as in dvc.yaml, a profile's params file, its commit."""

import logging
import os
import subprocess
from pathlib import Path

import typer

log = logging.getLogger(__name__)
PARAMS, PROFILES, MACHINE_FILE = "params.yaml", "profiles", "machine.yaml"
PIPELINE, LOCK = "dvc.yaml", "dvc.lock"
DATA_SET_STAGES = ("download", "choose_puzzles", "build_arrays")
TEST_STAGE = "read_tests"  # for a user's file of puzzles
CODE_STAGE = "hash_code"  # for all runs
TABLES_STAGE = "tabulate"  # for all runs
# One folder per `serrm rehearse` (all stages with tiny models), ignored by git and DVC.
REHEARSALS = "data/rehearsal"
PAPER = "paper"  # the profile with the paper's models, with whose settings and FLOPs every run is compared
REGRESSION = "ci"  # the profile that `make regress` repeats
# All that the committed tables depend on; they compare every run with profile `paper`.
WATCHED = ("src", "stages", PIPELINE, PARAMS, f"{PROFILES}/{PAPER}.yaml")


def find_root(start: Path) -> Path:
    """Find the project's folder, the first one with a params.yaml from `start` upwards.

    ValueError if there is none, or if this program is that of another clone, such as the main one of a git worktree.
    """
    for folder in (start, *start.parents):
        if (folder / PARAMS).is_file():
            code, package = folder / "src" / "serrm", Path(__file__).parents[1]
            if code.is_dir() and not code.samefile(package):
                raise ValueError(
                    f"this is the program of {package.parents[1]}, and the project is {folder}: "
                    f"`make setup` there, or PYTHONPATH={code.parent}"
                )
            return folder
    raise ValueError(f"no {PARAMS} in {start} or above it: run this inside the project")


def profile_file(root: Path, name: str, option: str) -> Path:
    """Find the params file of a profile below profiles/; a usage error for an unknown name."""
    files = {path.stem: path for path in sorted((root / PROFILES).glob("*.yaml"))}
    if name not in files:
        raise typer.BadParameter(f"unknown profile {name!r}; known are {', '.join(files)}", param_hint=option)
    return files[name]


def project_home(root: Path) -> Path:
    """Find the project's folder, even from a temporary copy of it in which DVC runs an experiment."""
    return Path(os.environ.get("DVC_ROOT") or root)


def current_commit(root: Path) -> tuple[str, bool]:
    """Find the checked-out commit, and if files that results depend on differ from it; "" outside of a repository.

    Where git cannot tell whether they differ, a line says why, and they count as different.
    """
    commit = git(root, "rev-parse", "HEAD")
    try:
        return commit, bool(commit and checked_git(root, "status", "--porcelain", "--", *WATCHED))
    except ValueError as error:
        log.warning("%s is recorded with changes: %s", commit[:7], error)
        return commit, True


def git_fault(root: Path) -> str | None:
    """Find a reason why git cannot be used, with its remedy; None if it can. DVC needs git at the end of a stage."""
    try:
        result = _run_git(root, "rev-parse", "--git-dir")
    except FileNotFoundError:
        return "git is not installed, and DVC needs it"
    if result.returncode == 0:
        return None
    folder = root.resolve()
    if "dubious ownership" in result.stderr:
        return f"{folder} belongs to another user: git config --global --add safe.directory '{folder}'"
    return f"{folder} is no git repository, which DVC needs: git init && git add . && git commit -m start"


def git(root: Path, *arguments: str) -> str:
    """Run a git command in a project; returns its output, stripped, or "" if it fails or there is no git."""
    try:
        return _run_git(root, *arguments).stdout.strip()
    except FileNotFoundError:
        return ""


def checked_git(root: Path, *arguments: str) -> str:
    """Run a git command in a project; returns its output, stripped. ValueError with git's own reason if it fails."""
    if fault := git_fault(root):
        raise ValueError(fault)
    result = _run_git(root, *arguments)
    if result.returncode:
        lines = result.stderr.strip().splitlines() or [f"exit code {result.returncode}"]
        reason = next((line for line in lines if line.startswith("fatal: ")), lines[-1])
        raise ValueError(f"git {arguments[0]}: {reason.removeprefix('fatal: ')}")
    return result.stdout.strip()


def read_committed(root: Path, commit: str, path: str) -> str | None:
    """Read a file of a commit, by its path in the project; None if the commit has no such file.

    Raises:
        ValueError: git fails, with its reason (a partial clone may not reach its remote), or it has an LFS pointer.
    """
    if not checked_git(root, "ls-tree", "--name-only", commit, "--", path):
        return None
    content = checked_git(root, "show", f"{commit}:./{path}")
    if content.startswith("version https://git-lfs"):
        raise ValueError(f"{path} of {commit[:7]} is a Git LFS pointer: git lfs fetch origin {commit[:7]}")
    return content


def _run_git(root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = ["git", "--no-optional-locks", *arguments]  # takes no lock that a kill could leave
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


class Layout:
    """Folders of a profile below the project's root, in which stages run."""

    def __init__(self, profile: str, root: Path = Path()) -> None:
        data = root / "data" / profile
        self.profile, self.root = profile, root
        self.raw = data / "raw"  # raw files, one folder per data set
        self.puzzles = data / "puzzles"  # puzzle sets as Parquet, one folder per data set
        self.arrays = data / "arrays"  # token arrays, one folder per data set
        self.code = data / "code"  # hashes of the code that each run uses, on which it depends
        self.runs = data / "runs"  # checkpoints, one folder per run
        self.logs = data / "logs"  # training logs, one file per run
        self.scores = data / "scores"  # scores, one file per run
        self.predictions = data / "predictions"  # answers for pictures, one folder per run
        # Seconds, memory, machine and versions (`core.provenance`), one file per checkpoint; outside DVC and git.
        self.provenance = project_home(root) / "data" / profile / "machine"
        self.exports = data / "tables"  # tables as CSV and LaTeX
        # Unfinished trainings by their identity, and downloads; outside of DVC.
        self.scratch = project_home(root) / "data" / "scratch"
        self.reports = root / "reports" / profile  # scores, curves, tables, figures, the page
        self.metrics = self.reports / "metrics.json"  # the scores of all runs

    def file_sets(self, data_set: str) -> Path:
        """Name the folder of the test sets of users' files, one folder per entry of `tests`."""
        return self.arrays / data_set / "test" / "files"
