"""The deps of a stage in dvc.yaml are the code that its imports reach, lazy ones too: no more and no less."""

import ast
from functools import cache
from pathlib import Path

import pytest
import yaml

from serrm.arrays.build import DATA_ONLY, OF_OTHER_STAGES

ROOT = Path(__file__).parents[2]
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
# What may change without making a result stale. A walk does not go beyond it where it is no dep.
MAY_STAY_OUT = {
    "src/serrm/__init__.py": "what a user of the package asks for by name; no stage does",
    "src/serrm/tracking": "MLflow mirrors what a stage writes",
    "src/serrm/kernels": "tables only name the optimisers that use them",
    "src/serrm/config.py": "DVC tracks the values that it reads and composes",
    "src/serrm/puzzles/tasks.py": "a list; the code of a run's own task has a hash, on which the run depends",
    "src/serrm/puzzles/arc": "the same",
    "src/serrm/puzzles/raw.py": "puzzles before they are arrays; runs read arrays",
    "src/serrm/puzzles/text.py": "the same",
    "src/serrm/puzzles/look.py": "pictures",
}


def code_deps(stage: str) -> set[str]:
    """The files and folders of code among the deps of a stage."""
    return {
        dep for dep in STAGES[stage].get("do", STAGES[stage])["deps"] if dep.startswith(("src/", "stages/"))
    }


@cache
def imported(source: str) -> frozenset[str]:
    """Files that the imports of a module lead to, with the `__init__` of every package on the way."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            for num in range(1, len(parts) + 1):
                place = ROOT.joinpath("src" if parts[0] == "serrm" else "", *parts[:num])
                for path in (place.with_suffix(".py"), place / "__init__.py"):
                    if path.is_file() and has_code(path.read_text()):
                        found.add(path.relative_to(ROOT).as_posix())
    return frozenset(found)


@cache
def has_code(source: str) -> bool:
    """Whether there is more than a docstring."""
    return any(not isinstance(node, ast.Expr) for node in ast.parse(source).body)


def covered(path: str, places: set[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def reached(stage: str, deps: set[str]) -> set[str]:
    """The files that a stage's imports lead to."""
    leaves = {place for place in MAY_STAY_OUT if not covered(place, deps)}
    start = f"stages/{stage}.py"
    found, todo = {start}, [(ROOT / start).read_text()]
    while todo:
        new = {path for path in imported(todo.pop()) if not covered(path, leaves)} - found
        found |= new
        todo += [(ROOT / path).read_text() for path in new]
    return found


def faults(stage: str, deps: set[str]) -> list[str]:
    """What a stage reaches and does not depend on, and what it depends on and does not reach."""
    files = reached(stage, deps)
    missing = [f"{path}: no dep of {stage}" for path in files if not covered(path, deps)]
    idle = [
        f"{dep}: not reached by {stage}" for dep in deps if not any(covered(path, {dep}) for path in files)
    ]
    return sorted(missing + idle)


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_what_it_imports(stage: str) -> None:
    assert faults(stage, code_deps(stage)) == []


@pytest.mark.parametrize("stage", OF_OTHER_STAGES)
def test_a_tasks_hashed_modules_use_none_that_is_left_out(stage: str) -> None:
    folders = [path.parent for path in (ROOT / "src" / "serrm" / "puzzles").glob("*/record.py")]
    assert len(folders) == 3
    for folder in folders:
        for path in {*folder.glob("*.py")} - {
            folder / name for name in (*OF_OTHER_STAGES[stage], "record.py")
        }:
            used = {Path(each) for each in imported(path.read_text())}
            assert not used & {(folder / name).relative_to(ROOT) for name in DATA_ONLY}, path
