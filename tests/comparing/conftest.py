"""A copy of a module's repository, in which a test may change files."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def project(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(shutil.copytree(repository, tmp_path / "project"))
    return tmp_path / "project"
