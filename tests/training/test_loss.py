"""The stablemax loss in float32 agrees with the published formula in float64, however small it gets."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from torch import Tensor

from serrm.training.cross_entropy import PAD, stablemax_cross_entropy
from serrm.training.loop import solved
from serrm.training.losses import Softmax

pytestmark = pytest.mark.numeric

logit_values = st.floats(-50, 50, width=32)


def step_of(logits: Tensor, targets: Tensor, starts: Tensor | None = None) -> Any:
    """What losses here read of a supervision step."""
    return SimpleNamespace(output=SimpleNamespace(logits=logits, starts=starts), targets=targets)


def slow_loss(logits: Tensor, targets: Tensor) -> list[float]:
    """log of s(x_k)/Σs, label by label, in Python's double precision."""

    def weight(x: float) -> float:
        return x + 1 if x >= 0 else 1 / (1 - x)

    losses = []
    for rows, labels in zip(logits.tolist(), targets.tolist(), strict=True):
        labelled = [(row, label) for row, label in zip(rows, labels, strict=True) if label != PAD]
        # −log(s/Σs) = log1p(Σ others/s): exact where the probability rounds to one even in float64.
        parts = [
            math.log1p(math.fsum(weight(x) for k, x in enumerate(row) if k != label) / weight(row[label]))
            for row, label in labelled
        ]
        losses.append(sum(parts) / max(1, len(parts)))
    return losses


@given(data=st.data(), shape=array_shapes(min_dims=3, max_dims=3, min_side=2, max_side=6))
def test_loss_agrees_with_float64(data: st.DataObject, shape: tuple[int, int, int]) -> None:
    logits = torch.from_numpy(data.draw(arrays(np.float32, shape, elements=logit_values)))
    labels = st.integers(0, shape[2] - 1)
    targets = torch.from_numpy(data.draw(arrays(np.int64, shape[:2], elements=labels)))
    found = stablemax_cross_entropy(logits, targets)
    assert found.dtype == torch.float32
    assert found.tolist() == pytest.approx(slow_loss(logits, targets), rel=1e-6)


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e6, 1e8])
def test_tiny_losses_keep_their_precision(scale: float) -> None:
    # The target is so likely that 1 − p vanishes in float32.
    logits = torch.tensor([[[-scale, -scale, scale], [scale, 0.5, -scale]]])
    targets = torch.tensor([[2, PAD]])
    expected = slow_loss(logits, targets)
    assert 0 < expected[0] < 3 / scale**2
    assert stablemax_cross_entropy(logits, targets).tolist() == pytest.approx(expected, rel=1e-6)


def test_solved_looks_at_labelled_positions_only() -> None:
    logits = torch.nn.functional.one_hot(torch.tensor([[1, 2, 3], [1, 2, 3], [1, 2, 2]]), 4).float()
    targets = torch.tensor([[1, 2, 3], [1, 2, PAD], [1, 2, 3]])
    assert solved(logits, targets).tolist() == [True, True, False]


def test_smoothed_labels_are_spread_over_the_symbols_that_can_be_predicted() -> None:
    logits = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    targets = torch.tensor([[1, 2, 3, PAD, 1], [3, 3, 2, 1, 2]])
    smoothed = Softmax(smoothing=0.2)
    cells = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2), targets, ignore_index=PAD, label_smoothing=0.2, reduction="none"
    )
    expected = cells.sum(1) / (targets != PAD).sum(1)
    torch.testing.assert_close(smoothed.losses(step_of(logits, targets)), expected)
    # A symbol without a plane, as the pad has none, changes nothing.
    wider = torch.nn.functional.pad(logits[..., 1:], (1, 0), value=-math.inf).requires_grad_()
    losses = smoothed.losses(step_of(wider, targets))
    losses.sum().backward()
    assert losses.isfinite().all()
    assert wider.grad.isfinite().all()
