"""Git with somebody's name, for tests that make commits."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def git(*arguments: str, cwd: Path | None = None) -> str:
    """Run a command of git, by default in the current folder; return its output."""
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def new_repository(factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty repository, in which the tests' process is until the end."""
    folder = factory.mktemp("repository")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        git("init", "-q", "-b", "main")
        yield folder
