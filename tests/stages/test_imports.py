"""The command line and the puzzles load no heavy package, which takes up to seconds."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEAVY = (
    "torch",
    "mlflow",
    "matplotlib",
    "pandas",
    "scipy",
    "pyarrow",
    "ortools",
    "huggingface_hub",
    "jinja2",
)
# MLflow loads pandas, scipy and more: a stand-in for it, so that what is left is ours.
PROGRAM = """
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from unittest.mock import MagicMock

class StandIn(MetaPathFinder, Loader):
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] == "mlflow" else None

    def exec_module(self, module):
        module.__getattr__ = lambda name: MagicMock()

sys.meta_path.insert(0, StandIn())
exec(sys.argv[1])
print(*(name for name in sys.argv[2:] if name in sys.modules))
"""


def test_the_command_line_imports_none_of_them() -> None:
    assert loaded("import stages.__main__") == set()


def test_puzzles_and_config_import_no_torch() -> None:
    assert "torch" not in loaded("import serrm.puzzles.tasks, serrm.config")


def test_a_headline_imports_no_torch() -> None:
    program = "from serrm.cli import main; assert main(['headline', '--profile', 'laptop']) == 0"
    assert "torch" not in loaded(program)


def loaded(program: str) -> set[str]:
    """Which of the heavy packages a program loads, in a process of its own."""
    command = [sys.executable, "-c", PROGRAM, program, *HEAVY]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(result.stdout.splitlines()[-1].split())


def test_a_stage_runs_the_code_beside_it(tmp_path: Path) -> None:
    """A queued experiment is a copy of the commit, while the environment has the code of the workspace installed."""
    for name in ("stages", "src"):
        shutil.copytree(
            ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.safetensors")
        )
    program = "import stages.__main__, os, serrm; print(serrm.__file__, os.environ['PYTHONPATH'], sep='\\n')"
    command = [sys.executable, "-c", f"import sys\n{program}"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    imported, path = result.stdout.split("\n")[:2]
    assert Path(imported).is_relative_to(tmp_path) and path.startswith(str(tmp_path / "src"))
