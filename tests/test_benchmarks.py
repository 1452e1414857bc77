"""The measurements of benchmarks/ run."""

import pytest

from benchmarks.exact import HEADER, Case, rows_of
from benchmarks.steps import (
    COLUMNS,
    GPU_COLUMNS,
    SE_RRM,
    Form,
    Setup,
    measure,
    row_of,
    rows_by_form,
)
from benchmarks.steps import Case as StepCase

SIZES = {"width": 16, "layers": 1, "h_cycles": 1, "l_cycles": 1, "heads": 2, "head_dim": 32, "registers": 0}
TINY = SE_RRM.model_copy(update=SIZES)


CASE = StepCase("tiny", TINY, batch_size=2, side=4, num_symbols=6)


@pytest.mark.parametrize("kind", ["evaluation", "training"])
def test_a_step_is_measured_beside_plain_pytorch(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Compiling would take longer than all tests.
    monkeypatch.setattr("serrm.kernels.accelerate._compiled", lambda apply, _: apply)
    setup = Setup("cpu", 2, ("float32",), 1)
    found = measure(CASE, kind, setup, [*setup.ours, *setup.plain])
    assert len(found.seconds) == len(setup.ours) + len(setup.plain) == 3
    assert all(number > 0 for part in (found.seconds, found.shares, found.rates) for number in part.values())
    assert row_of(CASE, kind, setup, found).count("|") == len(COLUMNS) + 1


def test_every_kind_of_hint_is_measured_with_and_without_presolve() -> None:
    rows = list(rows_of(Case(9, (30, 32), 2, "sudoku_extreme"), seed=0))
    assert len(rows) == 8
    assert all(len(row) == len(HEADER) for row in rows)
    assert rows[0][3] == "–", "no hints, none right"
    assert rows[3][3] == "100.0%", "the right digits"
    presolved = [row for row in rows if row[1] == "yes"]
    assert {row[4] for row in presolved} == {"0.0, 0.0"}, "presolve solves easy puzzles"


def test_a_step_on_a_gpu_has_a_line_per_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same code on a CPU, where `with Triton` and `compiled` are what they are without a GPU."""
    monkeypatch.setattr("serrm.kernels.accelerate._compiled", lambda apply, _: apply)
    setup = Setup("cpu", 1, ("float32",), 1)
    forms = [Form("float32", compiles=True), Form("float32", compiles=True, allows_triton=True)]
    rows = rows_by_form(CASE, "training", setup, measure(CASE, "training", setup, forms))
    assert [row.count("|") for row in rows] == [len(GPU_COLUMNS) + 1] * 2
    assert "Triton" not in rows[0] and "Triton" in rows[1]
