"""The core without the extras: it trains, it solves, and a command names in one line the package that it lacks."""

import json
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.conftest import MakePath, run_settings

ROOT = Path(__file__).parents[1]
# What only the pipeline, `serrm ask`, pictures and Triton kernels run; all other modules belong to the core.
OUTSIDE = (
    *("serrm.tracking", "serrm.reporting", "serrm.comparing", "serrm.demo"),
    *("serrm.drawing", "serrm.sources", "serrm.llm"),
    *(f"serrm.kernels.gpu.{name}" for name in ("gated", "rows", "symbols")),
)
# Refuses the packages of the extras; runs the README's Python, imports the core, trains, solves with what it trained.
SCRIPT = """
import json, logging, pkgutil, sys
from importlib import import_module
from pathlib import Path

PACKAGES, OUTSIDE, settings, arrays, folder, readme = json.loads(sys.stdin.read())
sys.modules |= dict.fromkeys(PACKAGES)
exec(readme)

import serrm
for module in pkgutil.walk_packages(serrm.__path__, "serrm.", onerror=lambda name: None):
    if not module.name.startswith(tuple(OUTSIDE)):
        import_module(module.name)

from serrm.core.execution import Execution
from serrm.training.settings import RunSettings
from serrm.training.run import train
target = Path(folder, "run")
train(RunSettings.model_validate(settings), Path(arrays), target, Path(folder, "scratch"), Execution(device="cpu"))

from serrm.cli import main
assert main(["solve", "123434122143432.", "--checkpoint", str(target), "--budget", "2"]) in (0, 1)
assert main(["solve", "12..34122143....", "--checkpoint", str(target), "--exact", "--budget", "2"]) == 1
sys.exit(main(["ask", "--server", "http://localhost:9", "--model", "m", "--puzzles", "params.yaml"]))
"""


def packages_of_the_extras() -> list[str]:
    """What the extras that users install are imported by."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lines = [line for name in ("pipeline", "language-model", "demo") for line in extras[name]]
    declared = {line.partition(">")[0].lower() for line in lines}
    owners = packages_distributions().items()
    return [
        package for package, names in owners if {name.lower().replace("_", "-") for name in names} & declared
    ]


def test_the_core_trains_and_solves_without_the_extras(make_arrays: MakePath, tmp_path: Path) -> None:
    settings = run_settings(train={"steps": 2}).model_dump(mode="json")
    readme = (ROOT / "README.md").read_text().partition("```python\n")[2].partition("```")[0]
    refused = packages_of_the_extras()
    assert {"mlflow", "ortools", "openai"} <= set(refused) and not {"torch", "numpy"} & set(refused)
    given = json.dumps([refused, OUTSIDE, settings, str(make_arrays()), str(tmp_path), readme])
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], input=given, capture_output=True, text=True, cwd=ROOT, check=False
    )
    solved, trained = run.stdout.splitlines()[:2]
    assert len(readme.splitlines()) <= 5 and solved.endswith(" verified")
    assert trained.startswith("argument 1\t"), run.stderr
    errors = [line for line in run.stderr.splitlines() if line.startswith("error: ")]
    assert errors == [
        "error: ortools is not installed: pip install '.[pipeline]'",
        "error: openai is not installed: pip install '.[language-model]'",
    ]
    assert (run.returncode, "Traceback" in run.stderr) == (1, False)
