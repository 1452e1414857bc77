"""A built wheel: it holds what the package reads at run time, and its command works outside of the repository."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
# Files that modules open at run time.
DATA = [
    "kernels/cpu/*.cpp",
    "kernels/cpu/*.h",
    "checkpoints/*/*",
    "reporting/templates/*",
    "reporting/paper.yaml",
    "demo.css",
    "demo.js",
    "py.typed",
]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of a copy of the sources, so that building leaves nothing in the repository."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "wheel", *offline, "--wheel-dir", str(folder), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def unpacked(wheel: Path) -> Path:
    """The files of the wheel, in a folder outside of the repository."""
    folder = wheel.parent / "site"
    with ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def python(unpacked: Path, *arguments: str) -> str:
    """What Python prints that finds serrm in the wheel alone."""
    environment = {**os.environ, "PYTHONPATH": str(unpacked), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=unpacked.parent, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wheel_holds_every_module_and_all_that_modules_read(wheel: Path) -> None:
    package = ROOT / "src" / "serrm"
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for pattern in ("**/*.py", *DATA):
        files = [path for path in package.glob(pattern) if path.is_file()]
        assert files, pattern
        assert {path.relative_to(package.parent).as_posix() for path in files} <= names, pattern
    assert not [name for name in names if name.startswith(("tests/", "stages/", "data/"))]


def test_an_installed_package_finds_its_files(unpacked: Path) -> None:
    program = """
from importlib.metadata import entry_points, version
import serrm
from serrm.kernels.cpu import build
from serrm.reporting.paper import load_paper
print(serrm.__file__, version("serrm"), len(load_paper().score_tables))
print(entry_points(group="console_scripts")["serrm"].value)
print(serrm.load("sudoku", device="cpu").solve("1.3.34...14...21", budget=32)[0].answer)
"""
    first, script, answer = python(unpacked, "-c", program).splitlines()
    file, version, num_tables = first.split()
    assert Path(file).is_relative_to(unpacked) and version == VERSION and int(num_tables) > 0
    assert (script, answer) == ("serrm.cli:main", "1234341221434321")
    command = "import sys; from serrm.cli import main; sys.exit(main(sys.argv[1:]))"
    assert VERSION in python(unpacked, "-c", command, "--version")
