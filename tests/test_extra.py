"""The core without the extras: it trains, it solves, it says in a line what it lacks."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from serrm import extra
from serrm.cli import main
from serrm.extra import EXTRAS, ExtraMissing, as_missing, need

ROOT = Path(__file__).parents[1]
# What only the pipeline, `serrm ask` and pictures run; all other modules belong to the core.
OUTSIDE = (
    "serrm.tracking",
    "serrm.reporting",
    "serrm.drawing",
    "serrm.solving.hub",
    "serrm.sources",
    "serrm.llm",
)
# Refuses the packages of the extra; runs the README's Python, imports the core, trains, solves with what it trained.
SCRIPT = """
import json, logging, pkgutil, sys
from importlib import import_module
from pathlib import Path

class Refusal:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in PACKAGES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

PACKAGES, OUTSIDE, cell, arrays, folder, readme = json.loads(sys.stdin.read())
sys.meta_path.insert(0, Refusal())
exec(readme)

import serrm
for module in pkgutil.walk_packages(serrm.__path__, "serrm.", onerror=lambda name: None):
    if not module.name.startswith(tuple(OUTSIDE)):
        import_module(module.name)

from serrm.training.settings import Execution, TrainCell
from serrm.training.run import train
target = Path(folder, "run")
train(TrainCell.model_validate(cell), Path(arrays), target, Path(folder, "scratch"), Execution(device="cpu"))

from serrm.cli import main
assert main(["solve", "1234341221434321", "--checkpoint", str(target), "--max-steps", "2"]) in (0, 1)
sys.exit(main(["ask", "--server", "http://localhost:9", "--model", "m", "--puzzles", "params.yaml"]))
"""


def test_the_core_trains_and_solves_without_the_extra(
    make_cell: Callable[..., Any], make_arrays: Callable[..., Path], tmp_path: Path
) -> None:

    cell = make_cell(train={"steps": 2}).model_dump(mode="json")
    readme = (ROOT / "README.md").read_text().partition("```python\n")[2].partition("```")[0]
    given = json.dumps([sorted(EXTRAS), OUTSIDE, cell, str(make_arrays()), str(tmp_path), readme])
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], input=given, capture_output=True, text=True, cwd=ROOT, check=False
    )
    solved, trained = run.stdout.splitlines()[:2]
    assert len(readme.splitlines()) <= 5 and solved.endswith(" verified")
    assert trained.startswith("1234341221434321\t"), run.stderr
    assert "pip install 'serrm[language-model]'" in run.stderr.splitlines()[-1]
    assert (run.returncode, "Traceback" in run.stderr) == (1, False)


def test_the_names_are_those_of_the_extra_in_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    of_extras = [each for name in set(EXTRAS.values()) for each in project["optional-dependencies"][name]]
    declared, core = (
        {requirement.partition(">")[0].lower() for requirement in requirements}
        for requirements in (of_extras, project["dependencies"])
    )
    owners = {
        package: {name.lower().replace("_", "-") for name in names}
        for package, names in packages_distributions().items()
    }
    assert not [package for package in EXTRAS if owners[package] & core]
    for name in declared:
        assert [package for package in EXTRAS if name.replace("_", "-") in owners[package]], name


def test_what_lacks_a_package_says_so_before_it_begins(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda package: None)
    for arguments in (
        ["solve", "--exact", "1"],
        ["solve", "--trace-file", str(tmp_path / "a.png"), "1"],
        ["ui"],
    ):
        assert main(arguments) == 1
        assert capsys.readouterr().err.endswith("comes with: pip install 'serrm[pipeline]'\n")
    assert not list(tmp_path.iterdir())


def test_a_fault_of_another_kind_stays_one() -> None:
    assert as_missing(ModuleNotFoundError("no", name="serrm.nothing")) is None
    assert as_missing(ModuleNotFoundError("no")) is None
    assert isinstance(as_missing(ModuleNotFoundError("no", name="ortools.sat")), ExtraMissing)
    need("json")
