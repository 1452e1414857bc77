"""All formulations of attention are the same function, and the committed table decides among them."""

import itertools
import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from serrm.models.formulations import FORMULATIONS, TABLE, by_fused, by_matmul, formulation
from tests.compiling import DEVICES

pytestmark = pytest.mark.numeric


@given(
    seed=st.integers(0, 2**32),
    batch=st.integers(1, 4),
    length=st.integers(1, 20),
    dim=st.sampled_from([4, 16, 24]),
)
def test_formulations_agree_in_values_and_gradients(seed: int, batch: int, length: int, dim: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    shape = (batch, 2, length, dim)
    inputs = [torch.randn(shape, generator=rng).requires_grad_() for _ in range(3)]
    change = torch.randn(shape, generator=rng)
    expected = by_matmul(*inputs, 0.0)
    gradients = torch.autograd.grad(expected, inputs, change)
    for mix in FORMULATIONS.values():
        found = mix(*inputs, 0.0)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
        for own, reference in zip(torch.autograd.grad(found, inputs, change), gradients, strict=True):
            torch.testing.assert_close(own, reference, rtol=1e-4, atol=1e-5)


def test_a_length_gets_the_row_at_or_below_it() -> None:
    rows = json.loads(TABLE.read_text())["cpu"]["float32"]
    lengths = sorted(map(int, rows))
    for lower, upper in itertools.pairwise(lengths):
        assert formulation("cpu", torch.float32, lower) is FORMULATIONS[rows[str(lower)]]
        assert formulation("cpu", torch.float32, upper - 1) is FORMULATIONS[rows[str(lower)]]
    assert formulation("cpu", torch.float32, 1) is FORMULATIONS[rows[str(lengths[0])]]


@pytest.mark.parametrize(
    ("length", "expected"),
    [(11, by_matmul), (63, by_matmul), (64, by_fused), (85, by_fused), (904, by_fused)],
)
def test_a_device_without_rows_stores_no_large_score_matrices(length: int, expected: object) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        assert formulation("another", dtype, length) is expected


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_dropout_leaves_out_weights_and_keeps_the_mean(name: str, device: str) -> None:
    torch.manual_seed(0)
    query, key = torch.zeros(2, 4000, 1, 8, 16, device=device)
    value = torch.ones(4000, 1, 8, 16, device=device)
    mixed = FORMULATIONS[name](query, key, value, 0.25)  # each weight is 1/8
    assert mixed.mean().item() == pytest.approx(1, abs=0.02)
    kept = (mixed[..., 0] * 8 * 0.75).round()
    torch.testing.assert_close(
        mixed[..., 0] * 8 * 0.75, kept, atol=1e-3, rtol=0
    )  # how many of eight are kept
    assert kept.min() < 4 and kept.max() == 8


def test_fused_attention_leaves_out_what_has_no_fixed_order(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def note(query: torch.Tensor, *_: object, **__: object) -> torch.Tensor:
        backends = torch.backends.cuda
        seen.append(
            (backends.flash_sdp_enabled(), backends.mem_efficient_sdp_enabled(), backends.cudnn_sdp_enabled())
        )
        return query

    monkeypatch.setattr("torch.nn.functional.scaled_dot_product_attention", note)
    before = torch.backends.cuda.cudnn_sdp_enabled()
    by_fused(*torch.randn(3, 1, 2, 4, 8), 0.0)
    assert seen == [(True, True, False)] and torch.backends.cuda.cudnn_sdp_enabled() == before
