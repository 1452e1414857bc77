"""All formulations of attention are the same function, and the committed table decides among them."""

import itertools
import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from serrm.models.formulations import FORMULATIONS, TABLE, by_fused, by_matmul, formulation


@given(
    seed=st.integers(0, 2**32),
    batch=st.integers(1, 4),
    length=st.integers(1, 20),
    dim=st.sampled_from([4, 16, 24]),
)
def test_formulations_agree_in_values_and_gradients(
    seed: int, batch: int, length: int, dim: int
) -> None:
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


def test_the_table_names_formulations_for_growing_lengths() -> None:
    table = json.loads(TABLE.read_text())
    assert set(table["cpu"]) == {"float32", "bfloat16"}
    for rows in table["cpu"].values():
        lengths = [int(length) for length in rows]
        assert lengths == sorted(lengths) and set(rows.values()) <= FORMULATIONS.keys()


def test_a_length_gets_the_row_at_or_below_it() -> None:
    rows = json.loads(TABLE.read_text())["cpu"]["float32"]
    lengths = sorted(map(int, rows))
    for lower, upper in itertools.pairwise(lengths):
        assert formulation("cpu", torch.float32, lower) is FORMULATIONS[rows[str(lower)]]
        assert formulation("cpu", torch.float32, upper - 1) is FORMULATIONS[rows[str(lower)]]
    assert formulation("cpu", torch.float32, 1) is FORMULATIONS[rows[str(lengths[0])]]


@pytest.mark.parametrize(("length", "expected"), [(11, by_matmul), (63, by_matmul), (64, by_fused)])
def test_a_device_without_rows_stores_no_large_score_matrices(length: int, expected: object) -> None:
    assert formulation("another", torch.bfloat16, length) is expected
