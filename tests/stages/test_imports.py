"""Each stage imports no more than its work needs: these packages take up to seconds to load."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

STAGES = Path(__file__).parents[2] / "stages"
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
MOST: dict[str, set[str]] = {
    "download": set(),
    "augment": set(),
    "build_arrays": set(),
    "hash_code": set(),
    "train": {"torch", "mlflow", "pandas", "pyarrow"},
    "evaluate": {"torch", "mlflow", "pandas", "pyarrow"},
    "tabulate": {"torch", "matplotlib", "jinja2", "pandas", "pyarrow"},
}
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


@pytest.mark.parametrize("stage", MOST)
def test_a_stage_imports_no_more_than_it_needs(stage: str) -> None:
    assert loaded(imports_of(stage)) <= MOST[stage]


def test_the_command_line_imports_none_of_them() -> None:
    assert loaded("import stages.__main__") == set()


def test_puzzles_and_config_import_no_torch() -> None:
    assert "torch" not in loaded("import serrm.puzzles.tasks, serrm.config")


def imports_of(stage: str) -> str:
    """The import statements of a stage, those in its functions too, as a program."""
    nodes = ast.walk(ast.parse((STAGES / f"{stage}.py").read_text()))
    return "\n".join(ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))


def loaded(program: str) -> set[str]:
    """Which of the heavy packages a program loads, in a process of its own."""
    command = [sys.executable, "-c", PROGRAM, program, *HEAVY]
    result = subprocess.run(command, cwd=STAGES.parent, capture_output=True, text=True, check=True)
    return set(result.stdout.split())
