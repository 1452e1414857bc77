"""DVC as a program, for what it knows of the repository."""

import subprocess
import sys
from pathlib import Path


def dvc(root: Path, *arguments: str) -> str:
    """Run a command of DVC in the repository; returns its output. ValueError with DVC's reason if it fails."""
    command = [sys.executable, "-m", "dvc", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        name = " ".join(word for word in arguments if not word.startswith("-"))
        raise ValueError(f"dvc {name} failed: {done.stderr.strip()}")
    return done.stdout
