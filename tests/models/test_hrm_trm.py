"""TRM and HRM: their input and its rotation."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from serrm.models.hrm_trm import TokenSequence
from serrm.models.recurrence import Network, RecurrentModel
from serrm.models.registry import build_model
from serrm.models.settings import HrmSettings, TrmSettings
from tests import conftest
from tests.drawn import draw_tokens, seeded

pytestmark = pytest.mark.numeric

SHARED = {**conftest.TRM, "layers": 2, "h_cycles": 3, "l_cycles": 2, "attention_dropout": 0.0}
CPU = torch.device("cpu")
FAMILIES = ["trm", "hrm"]


def make(family: str, num_symbols: int = 6, num_positions: int = 16, **changes: Any) -> RecurrentModel:
    """A small model with trained-looking task types and Q head, in evaluation mode."""
    values = {**SHARED, **changes, "family": family}
    if family == "hrm":
        del values["mixer"]
    settings = {"trm": TrmSettings, "hrm": HrmSettings}[family].model_validate(values)
    model = build_model(settings, num_symbols, seeded(0), num_positions=num_positions, num_task_types=3)
    with torch.no_grad():
        model.task_types = torch.randn(3, 16, generator=seeded(1))
        for name, parameter in model.readout.named_parameters():
            if name.startswith("halt"):
                parameter.copy_(torch.randn(parameter.shape, generator=seeded(2)))
    return model.eval()


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_the_prefix_holds_the_task_and_all_is_scaled(family: str) -> None:
    model, tokens = make(family, prefix=3), draw_tokens()
    rows = torch.tensor([2, 0, 2])
    embedding, _ = model.embedding(model.initial_state(3, 16, 6)[0], tokens, model.task_vectors(rows))
    assert model.task_types is not None and embedding.shape == (3, 3 + 16, 16)
    weights = dict(model.embedding.named_parameters())["tokens"]
    for puzzle in range(3):
        torch.testing.assert_close(embedding[puzzle, 0], math.sqrt(16) * model.task_types[rows[puzzle]])
        assert not embedding[puzzle, 1:3].any()
        for position in range(16):
            expected = math.sqrt(16) * weights[tokens[puzzle, position]]
            torch.testing.assert_close(embedding[puzzle, 3 + position], expected)


@torch.no_grad()
def test_the_mlp_mixes_and_normalises_over_places() -> None:
    """The published form: SwiGLU, addition and norm on the transposed tensor."""
    model = make("trm", mixer="mlp")
    network = model.networks["block"]
    assert isinstance(network, Network)
    mixer = next(network.layers[0].children())
    x = torch.randn(2, 18, 16, generator=seeded(4))
    y = mixer(x)
    torch.testing.assert_close(y.square().mean(1), torch.ones(2, 16), rtol=1e-3, atol=0)
    # A feature is mixed with itself at other places, never with another feature.
    changed = x.clone()
    changed[:, 5, 3] += 1
    is_moved = (mixer(changed) != y).any(0)
    assert is_moved[:, 3].all() and is_moved.sum() == 18


def table_of(positions: str, prefix: int, side: int) -> tuple[Tensor, Tensor]:
    settings = TrmSettings.model_validate({**SHARED, "positions": positions, "prefix": prefix})
    rotation = TokenSequence(settings, 6, seeded(0)).rotation(side**2, CPU)
    assert rotation is not None
    return rotation


@given(side=st.integers(2, 9), prefix=st.integers(1, 16))
def test_the_published_rope2d_is_shifted_by_the_prefix(side: int, prefix: int) -> None:
    num, unrotated = side**2, (1.0, 0.0)  # cos, sin
    for aligned, shifted, still in zip(
        table_of("rope2d", prefix, side), table_of("rope2d_shifted", prefix, side), unrotated, strict=True
    ):
        assert aligned.shape == shifted.shape == (prefix + num, 4)
        # Each cell is rotated as the cell P places on, the prefix as the first cells, the last P cells not at all.
        cells = aligned[prefix:]
        assert torch.equal(shifted[prefix:num], cells[prefix:])
        assert torch.equal(shifted[: min(prefix, num)], cells[:prefix])
        assert (aligned[:prefix] == still).all() and (shifted[num:] == still).all()
        assert not torch.equal(aligned, shifted)


@given(side=st.integers(2, 9), prefix=st.integers(1, 16))
def test_rope_rotates_the_prefix_like_the_rest(side: int, prefix: int) -> None:
    cos, sin = table_of("rope", prefix, side)
    angles = torch.outer(torch.arange(prefix + side**2).float(), 10_000 ** -(torch.arange(4) / 4))
    torch.testing.assert_close(cos, angles.cos(), rtol=0, atol=1e-5)
    torch.testing.assert_close(sin, angles.sin(), rtol=0, atol=1e-5)
