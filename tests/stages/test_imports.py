"""The command line and the puzzles load no heavy package, which takes up to seconds."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAIN = "from serrm.cli import main; assert main({}) == 0"


@pytest.mark.parametrize(
    ("program", "heavy"),
    [
        ("import serrm.puzzles.tasks, serrm.config", {"torch"}),
        (MAIN.format(["headline", "--profile", "laptop"]), {"torch"}),
        (MAIN.format(["compare", "ci", "ci"]), {"torch", "pandas", "scipy", "mlflow", "dvc"}),
    ],
    ids=["puzzles and config", "headline", "compare"],
)
def test_what_is_quick_imports_no_heavy_package(program: str, heavy: set[str]) -> None:
    command = [sys.executable, "-c", f"{program}\nimport sys; print(*sys.modules)"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert not heavy & set(result.stdout.splitlines()[-1].split())


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
