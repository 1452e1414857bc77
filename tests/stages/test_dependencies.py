"""The deps of a stage in dvc.yaml are the code that its imports reach, lazy ones too: no more and no less.

Trainings and evaluations depend on a list of the modules of their run, which `hash_code` writes.
"""

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
import yaml

from serrm.config import read_params
from serrm.planning.code import ENTRY_MODULES, used_code
from serrm.planning.code import STAGES as OF_RUNS

ROOT = Path(__file__).parents[2]
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
# What may change without making a result stale. A walk does not go beyond it where it is no dep.
MAY_STAY_OUT = {
    "src/serrm/__init__.py": "what a user of the package asks for by name; no stage does",
    "stages/inputs.py": "refuses edits, and changes no result",
    "src/serrm/tracking": "MLflow mirrors what a stage writes",
    "src/serrm/training/adam_atan2.py": "built by a training alone",
    "src/serrm/training/muon.py": "built by a training alone; an evaluation counts the FLOPs of its products",
    "src/serrm/kernels": "run by trainings and evaluations alone, which list them",
    "src/serrm/config.py": "DVC tracks the values that it reads and composes",
    "src/serrm/puzzles/raw.py": "puzzles before they are arrays; runs read arrays",
    "src/serrm/puzzles/text.py": "the same",
    "src/serrm/puzzles/look.py": "pictures",
}


STARTS = {"hash_code": ("hash_code", "train", "evaluate")}  # what it lists are the modules of the others
PARTS = {f"src/{name.replace('.', '/')}.py": "the entries of a run are listed" for name in ENTRY_MODULES}


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


def covered(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def reached(starts: Iterable[str], leaves: Iterable[str]) -> set[str]:
    """The files that imports lead to from these stages, without the leaves."""
    found = {f"stages/{stage}.py" for stage in starts}
    todo = [(ROOT / start).read_text() for start in found]
    while todo:
        new = {path for path in imported(todo.pop()) if not covered(path, leaves)} - found
        found |= new
        todo += [(ROOT / path).read_text() for path in new]
    return found


def faults(stage: str, deps: set[str]) -> list[str]:
    """What a stage reaches and does not depend on, and what it depends on and does not reach."""
    files = reached(
        STARTS.get(stage, (stage,)), {place for place in MAY_STAY_OUT if not covered(place, deps)}
    )
    missing = [f"{path}: no dep of {stage}" for path in files if not covered(path, deps)]
    idle = [
        f"{dep}: not reached by {stage}" for dep in deps if not any(covered(path, {dep}) for path in files)
    ]
    return sorted(missing + idle)


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage not in ("train", "evaluate")])
def test_a_stage_depends_on_what_it_imports(stage: str) -> None:
    assert faults(stage, code_deps(stage)) == []


def test_no_stage_imports_mlflow() -> None:
    files = reached(("train", "evaluate", "tabulate"), ())
    assert "src/serrm/tracking/background.py" in files
    assert not [
        path for path in files if re.search(r"^\s*(import|from) mlflow", (ROOT / path).read_text(), re.M)
    ]


@pytest.mark.parametrize(("part", "stage"), OF_RUNS.items())
def test_the_code_of_runs_is_what_their_stage_imports(part: str, stage: str) -> None:
    stage = stage.removeprefix("stages.")
    assert code_deps(stage) == set()
    listed = set()
    for profile in ("ci", "laptop"):
        params = read_params(ROOT / "profiles" / f"{profile}.yaml")
        for name in params.runs:
            listed |= {
                line.split()[1] for line in used_code(params.run_settings(name), part) if ": " not in line
            }
    files = {f"src/{name}" if name.startswith("serrm") else name for name in listed}
    assert not [name for name in files if not covered(name, code_deps("hash_code"))]
    leaves = {*MAY_STAY_OUT, *PARTS} - {"src/serrm/kernels"}
    if part == "training":
        leaves -= {"src/serrm/training/adam_atan2.py", "src/serrm/training/muon.py"}
    assert reached([stage], leaves) <= files, "modules that a run uses are listed"
