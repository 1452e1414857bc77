"""The closed formulas count what PyTorch's own counter counts, and give the known figures of the paper's models."""

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from serrm.benchmarking.cases import HRM, SE_RRM, SMALL_SE_RRM, TRM
from serrm.benchmarking.flops import count_work
from serrm.models.registry import build_model
from serrm.models.settings import ModelSettings

SIDE, NUM_SYMBOLS, BATCH = 4, 6, 3
TINY: dict[str, Any] = {"width": 32, "h_cycles": 2, "l_cycles": 3, "heads": 2}
MODELS = {
    "se_rrm": SE_RRM.model_copy(update={**TINY, "head_dim": 16, "symbol_head_dim": 8}),
    "se_rrm_usual_planes": SMALL_SE_RRM.model_copy(update={"planes": "usual"}),
    "se_rrm_untied": SMALL_SE_RRM.model_copy(update={"symbols": "untied"}),
    "trm": TRM.model_copy(update=TINY),
    "trm_mlp": TRM.model_copy(update={**TINY, "mixer": "mlp", "positions": "none"}),
    "hrm": HRM.model_copy(update=TINY),
}


def counted(settings: ModelSettings, *, has_gradient: bool) -> int:
    rng = torch.Generator().manual_seed(0)
    model = build_model(settings, NUM_SYMBOLS, rng, num_positions=SIDE**2)
    tokens = torch.randint(1, NUM_SYMBOLS, (BATCH, SIDE**2), generator=rng)
    state = model.initial_state(BATCH, SIDE**2, NUM_SYMBOLS)
    with FlopCounterMode(display=False) as counter, torch.set_grad_enabled(has_gradient):
        output = model(state, tokens)
        if has_gradient:
            halting = 0 if output.halting is None else output.halting.sum()
            (output.logits[output.logits.isfinite()].sum() + halting).backward()
    return counter.get_total_flops()


@pytest.mark.parametrize("name", MODELS)
def test_formulas_agree_with_the_counter(name: str) -> None:
    work = count_work(MODELS[name], SIDE**2, NUM_SYMBOLS)
    assert counted(MODELS[name], has_gradient=False) == BATCH * work.evaluation
    assert counted(MODELS[name], has_gradient=True) == BATCH * work.training


def test_the_papers_se_rrm_needs_what_is_known() -> None:
    work = count_work(SE_RRM, 81, 11)
    assert work.evaluation / 1e9 == pytest.approx(69.3, abs=0.05)
    assert work.training / 1e9 == pytest.approx(115.5, abs=0.05)
