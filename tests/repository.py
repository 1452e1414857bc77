"""Git with somebody's name, for tests that make commits."""

import subprocess
from pathlib import Path


def git(*arguments: str, cwd: Path | None = None) -> str:
    """Run a command of git, by default in the current folder; return its output."""
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout.strip()
