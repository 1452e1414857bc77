"""The measurements of benchmarks/ run."""

import sys
from functools import partial
from pathlib import Path

import pytest

from benchmarks.exact import HEADER, Case, rows_of
from benchmarks.peers import step_on_gpu
from benchmarks.steps import (
    COLUMNS,
    GPU_COLUMNS,
    SE_RRM,
    Form,
    Setup,
    bytes_of,
    flops_of,
    measure,
    row_of,
    rows_by_form,
)
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


@pytest.mark.parametrize("kind", ["evaluation", "training"])
def test_a_step_on_a_gpu_has_a_line_per_form(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same code on a CPU, where `with Triton` and `compiled` are what they are without a GPU."""
    monkeypatch.setattr("serrm.kernels.accelerate._compiled", lambda apply, _: apply)
    case = StepCase("tiny", TINY, batch_size=2, side=4, num_symbols=6)
    setup = Setup("cpu", 1, ("float32",), 1)
    forms = [Form("float32", compiles=True), Form("float32", compiles=True, allows_triton=True)]
    rows = rows_by_form(case, kind, setup, measure(case, kind, setup, forms))
    assert [row.count("|") for row in rows] == [len(GPU_COLUMNS) + 1] * 2
    assert "Triton" not in rows[0] and "Triton" in rows[1]


def test_the_bytes_of_a_step_count_the_passes_over_the_state() -> None:
    case = StepCase("tiny", TINY, batch_size=2, side=4, num_symbols=6)
    applications = TINY.h_cycles * TINY.l_cycles
    state = 2 * 16 * 6 * TINY.width * 2
    weights = bytes_of(case._replace(batch_size=0), "evaluation", "bfloat16")
    assert bytes_of(case, "evaluation", "bfloat16") - weights == applications * (3 + 2 * 3) * state
    assert bytes_of(case, "training", "bfloat16") > 2 * bytes_of(case, "evaluation", "bfloat16")


AUTHORS = {
    "config/arch/trm_equi.yaml": "name: stand_in@Model\nloss: {loss_type: none}\npuzzle_emb_ndim: 0\n",
    "models/stand_in.py": """
from torch import nn
class Model(nn.Linear):
    def __init__(self, settings):
        assert settings["dropout"] == 0
        super().__init__(settings["seq_len"], settings["vocab_size"])
""",
    "models/ema.py": """
class EMAHelper:
    def __init__(self, mu): pass
    def register(self, model): pass
    def update(self, model): pass
""",
    "models/losses.py": """
from torch import nn
class ACTLossHead(nn.Module):
    def __init__(self, model, loss_type):
        super().__init__()
        self.model = model
    def initial_carry(self, batch):
        return 0
    def forward(self, carry, batch, return_keys):
        return carry + 1, self.model(batch["inputs"].float()).square().sum(), {}, None, False
""",
}


def test_the_published_code_is_timed_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for a checkout of it, on a CPU."""
    for name, text in AUTHORS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr("sys.path", [*sys.path])
    case = StepCase("tiny", TINY, batch_size=2, side=9, num_symbols=11)
    setup = Setup("cpu", 1, ("float32",), 1)
    forms = [Form("float32"), Form("float32", is_published=True)]
    make_step = partial(step_on_gpu, tmp_path, "se_rrm")
    rows = rows_by_form(case, "training", setup, measure(case, "training", setup, forms, make_step))
    assert "published code" not in rows[0] and "published code" in rows[1]
