"""The measurements of benchmarks/ run."""

import pytest

from benchmarks.exact import HEADER, Case, rows_of
from benchmarks.steps import COLUMNS, SE_RRM, Setup, flops_of, measure, row_of
from benchmarks.steps import Case as StepCase

SIZES = {"width": 16, "layers": 1, "h_cycles": 1, "l_cycles": 1, "heads": 2, "head_dim": 32, "registers": 0}
TINY = SE_RRM.model_copy(update=SIZES)


@pytest.mark.parametrize("kind", ["evaluation", "training"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_step_is_measured_beside_plain_pytorch(
    kind: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Compiling would take longer than all tests.
    monkeypatch.setattr("serrm.kernels.accelerate._compiled", lambda apply, _: apply)
    monkeypatch.setattr("torch.set_num_threads", lambda threads: None)
    case = StepCase("tiny", TINY, batch_size=2, side=4, num_symbols=6)
    setup = Setup("cpu", 2, ("float32",), threads)
    found = measure(case, kind, setup, [*setup.ours, *setup.plain])
    assert len(found.seconds) == len(setup.ours) + len(setup.plain) == 3
    assert all(number > 0 for part in (found.seconds, found.shares, found.rates) for number in part.values())
    assert found.memory >= 0
    assert row_of(case, kind, setup, found).count("|") == len(COLUMNS) + 1
    assert flops_of(case, "training") > flops_of(case, "evaluation") > 0


def test_every_kind_of_hint_is_measured_with_and_without_presolve() -> None:
    rows = list(rows_of(Case(9, (30, 32), 2, "sudoku_extreme"), seed=0))
    assert len(rows) == 8
    assert all(len(row) == len(HEADER) for row in rows)
    assert rows[0][3] == "–", "no hints, none right"
    assert rows[3][3] == "100.0%", "the right digits"
    presolved = [row for row in rows if row[1] == "yes"]
    assert {row[4] for row in presolved} == {"0.0, 0.0"}, "presolve solves easy puzzles"
