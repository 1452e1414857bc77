"""The code of a run: its parts by name, and the modules that these reach."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from serrm.config import read_params
from serrm.planning import imports
from serrm.planning.code import used_code
from serrm.planning.imports import import_closure
from serrm.puzzles.tasks import TASKS
from serrm.training.settings import RunSettings

ROOT = Path(__file__).parents[2]
RUN = "sudoku-trm-s0"


def run_of(profile: str, name: str = RUN, **train: Any) -> RunSettings:
    run = read_params(ROOT / "profiles" / f"{profile}.yaml").run_settings(name)
    return run.model_copy(update={"train": run.train.model_copy(update=train)})


def modules(lines: list[str]) -> set[str]:
    return {line.split()[1] for line in lines if len(line.split()[0]) == 64}


def test_a_run_uses_its_parts_and_no_others() -> None:
    lines = used_code(run_of("laptop", "maze-trm-s0"), "training")
    assert "run.train.optimizer: serrm.training.optimizers.MuonSettings" in lines
    assert "run.train.schedule: serrm.training.schedules.cosine" in lines
    of_run = modules(lines)
    assert {"serrm/training/muon.py", "serrm/models/hrm_trm.py", "serrm/models/halting.py"} <= of_run
    assert {"serrm/training/loop.py", "serrm/kernels/cpu/sublayers.cpp", "stages/train.py"} <= of_run
    assert {"serrm/puzzles/maze/record.py", "serrm/puzzles/transforms.py"} <= of_run
    for other in ("models/se_rrm", "models/families", "inference/predict", "config"):
        assert f"serrm/{other}.py" not in of_run
    assert not [name for name in of_run if name.startswith(("serrm/puzzles/sudoku", "serrm/puzzles/arc"))]
    assert "serrm/puzzles/maze/rules.py" not in of_run
    assert "serrm/puzzles/maze/rules.py" in modules(used_code(run_of("laptop", "maze-trm-s0"), "scoring"))


def test_a_training_that_takes_every_right_answer_depends_on_the_rule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(TASKS, "maze", replace(TASKS["maze"], right_answers="any"))
    assert "serrm/puzzles/maze/rules.py" in modules(used_code(run_of("laptop", "maze-trm-s0"), "training"))


def test_a_scoring_does_not_depend_on_how_a_run_was_trained() -> None:
    of_run = modules(used_code(run_of("ci"), "scoring"))
    assert {"serrm/models/hrm_trm.py", "serrm/training/losses.py", "serrm/inference/search.py"} <= of_run
    for other in ("training/loop", "training/adam_atan2", "training/muon"):
        assert f"serrm/{other}.py" not in of_run


def test_lazy_and_relative_imports_are_followed_and_those_for_types_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "__init__.py": "from lab.never import nothing\n",
        "never.py": "",
        "a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import lab.types\nelse:\n    import lab.b\n",
        "types.py": "",
        "b.py": "def f():\n    from . import c\n    from .parts.d import x\n",
        "c.py": "import lab.left.one\nimport numpy\n",
        "left/one.py": "",
        "parts/__init__.py": '"""No code."""\n',
        "parts/d.py": "from ..e import y\nx = y\n",
        "e.py": "y = 1\n",
    }
    for name, source in files.items():
        (tmp_path / "lab" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "lab" / name).write_text(source + ("z = 1\n" if source == "" else ""))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(imports, "PACKAGES", ("lab",))
    found = import_closure({"lab.a"}, lambda name: name.startswith("lab.left"))
    assert found == {"lab.a", "lab.b", "lab.c", "lab.parts.d", "lab.e"}
    assert "lab.b" not in sys.modules, "source is read, not run"
