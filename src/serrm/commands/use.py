"""`serrm use`: switch to another profile."""

import shutil
from pathlib import Path

import typer

from serrm.layout import PARAMS, PROFILES
from serrm.project import find_root, git, profile_file


def use(
    name: str = typer.Argument(..., metavar="PROFILE", help="A file of profiles/, such as ci."),
    is_forced: bool = typer.Option(
        False, "--force", help="Replace params.yaml even if its edits would be lost."
    ),
) -> None:
    """Switch to a profile: copy profiles/PROFILE.yaml to params.yaml."""
    from serrm.config import read_params

    root = find_root(Path.cwd())
    source, target = profile_file(root, name, "PROFILE"), root / PARAMS
    num_runs = len(read_params(source).runs)
    if not (is_forced or is_kept_elsewhere(root, target)):
        raise ValueError(
            f"{PARAMS} has edits that are in no commit and no profile: commit them, "
            f"save them as {PROFILES}/NAME.yaml, or use --force"
        )
    shutil.copyfile(source, target)
    typer.echo(f"{PARAMS} is now profile {name}, {num_runs} runs: dvc repro")


def is_kept_elsewhere(root: Path, params: Path) -> bool:
    """True if the content of params.yaml is also that of a profile, or in a commit."""
    content = params.read_bytes()
    if any(path.read_bytes() == content for path in (root / PROFILES).glob("*.yaml")):
        return True
    blob = git(root, "hash-object", PARAMS)
    return bool(
        blob and git(root, "log", "--all", "-1", "--format=%h", f"--find-object={blob}", "--", PARAMS)
    )
