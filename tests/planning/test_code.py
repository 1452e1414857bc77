"""The code of a run: its parts by name, and the modules that these reach."""

import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from serrm.config import read_params
from serrm.models.angles import rope
from serrm.models.halting import HALTING, HaltingRule
from serrm.planning import imports
from serrm.planning.code import describe, used_code
from serrm.planning.imports import import_closure
from serrm.puzzles.sudoku import symmetries
from serrm.puzzles.sudoku.record import SUDOKU
from serrm.puzzles.tasks import TASKS
from serrm.scoring.metrics import METRICS, Metric
from serrm.training.settings import RunSettings
from tests.own.latin import draw_order

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


def test_a_constant_of_an_entry_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    before = used_code(run_of("ci"), "training")
    monkeypatch.setitem(TASKS, "sudoku", replace(SUDOKU, most_augmentations=700))
    assert set(used_code(run_of("ci"), "training")) ^ set(before) == {
        "task.most_augmentations: 700",
        "task.most_augmentations: None",
    }
    monkeypatch.setitem(TASKS, "sudoku", replace(SUDOKU, name="Another name", exact_method="another"))
    assert used_code(run_of("ci"), "training") == before, "names and methods of commands are no part of a run"


def test_a_part_that_is_defined_beside_its_dict_counts_with_all_that_stands_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine = type("Mine", (HaltingRule,), {"__module__": HaltingRule.__module__})
    monkeypatch.setitem(HALTING, "mine", mine)
    of_run = modules(used_code(run_of("ci", halting=mine()), "training"))
    assert {"serrm/models/halting.py", "serrm/models/q_head.py"} <= of_run


def test_a_metric_counts_with_its_module_in_the_scoring_of_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    # Its function may be any of a module that scoring does not import.
    metric = Metric("Angles", "Angles", rope, tasks=("sudoku",))
    monkeypatch.setitem(METRICS, "angles", metric)
    assert "serrm/models/angles.py" in modules(used_code(run_of("ci"), "scoring"))
    other = used_code(run_of("laptop", "maze-trm-s0"), "scoring")
    assert not any("Angles" in line for line in other)


@dataclass(frozen=True)
class Held:
    """Something with a function and numbers."""

    function: Any
    numbers: Any


def made(function: Any) -> Any:
    """A function that holds another."""
    return lambda value: function(value)


def test_a_value_names_all_that_it_holds() -> None:
    latin, here = "tests.own.latin.draw_order", __name__
    assert describe(partial(draw_order, 3)).endswith(f"(of={latin}, arguments=[3], keywords={{}})")
    assert describe(Held(draw_order, np.arange(2))) == (
        f"{here}.Held(function={latin}, numbers=numpy.ndarray(numbers=[0, 1]))"
    )
    assert describe({"a": (1, None)}) == "{a: [1, None]}"
    assert describe((range(3), {2, 1}, frozenset("a"))) == "[range(0, 3), {1, 2}, {'a'}]"
    assert describe(made(draw_order)) == f"{here}.made.<locals>.<lambda>(function={latin})"
    assert describe(np.flip).startswith("numpy.") and describe(len) == "builtins.len"
    assert describe(symmetries.draw_symmetry) == "serrm.puzzles.sudoku.symmetries.draw_symmetry"


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
