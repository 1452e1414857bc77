"""The measurements of benchmarks/ run."""

import pytest

from benchmarks.steps import COLUMNS, SE_RRM, Case, Setup, flops_of, measure, row_of

SIZES = {"width": 16, "layers": 1, "h_cycles": 1, "l_cycles": 1, "heads": 2, "head_dim": 32, "registers": 0}
TINY = SE_RRM.model_copy(update=SIZES)


@pytest.mark.parametrize("kind", ["evaluation", "training"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_step_is_measured_beside_plain_pytorch(
    kind: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Compiling would take longer than all tests.
    monkeypatch.setattr("serrm.kernels.accelerate._compiled", lambda apply: apply)
    monkeypatch.setattr("torch.set_num_threads", lambda threads: None)
    case = Case("tiny", TINY, batch_size=2, side=4, num_symbols=6)
    setup = Setup("cpu", 2, ("float32",), threads)
    found = measure(case, kind, setup, [*setup.ours, *setup.plain])
    assert len(found.seconds) == len(setup.ours) + len(setup.plain) == 3
    assert all(number > 0 for part in (found.seconds, found.shares, found.rates) for number in part.values())
    assert found.memory >= 0
    assert row_of(case, kind, setup, found).count("|") == len(COLUMNS) + 1
    assert flops_of(case, "training") > flops_of(case, "evaluation") > 0
