"""The code of a run: its parts by name, and the modules that these reach."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from serrm.config import read_params
from serrm.planning import imports
from serrm.planning.code import used_code
from serrm.planning.imports import import_closure
from serrm.puzzles.tasks import TASKS

LAPTOP = Path(__file__).parents[2] / "profiles" / "laptop.yaml"


def test_a_training_that_takes_every_right_answer_depends_on_the_rule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(TASKS, "maze", replace(TASKS["maze"], right_answers="any"))
    lines = used_code(read_params(LAPTOP).run_settings("maze-trm-s0"), "training")
    assert any(line.endswith(" serrm/puzzles/maze/rules.py") for line in lines)


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
    modules = import_closure({"lab.a"}, lambda name: name.startswith("lab.left"))
    assert modules == {"lab.a", "lab.b", "lab.c", "lab.parts.d", "lab.e"}
    assert "lab.b" not in sys.modules, "source is read, not run"
