"""Positions are interchangeable where none are encoded, and sizes without weights are refused."""

from typing import Any

import pytest
import torch
from pydantic import TypeAdapter

from serrm.inference.predict import refusal
from serrm.models.families import ModelSettings
from serrm.models.recurrence import CannotExtrapolate, RecurrentModel
from serrm.models.settings import ModelSizes
from tests import conftest
from tests.drawn import draw_tokens, seeded

pytestmark = pytest.mark.numeric

KINDS: dict[str, dict[str, Any]] = {
    "se_rrm": conftest.MODEL,
    "se_rrm with two states": {**conftest.MODEL, "states": "two", "registers": 3},
    "trm": conftest.TRM,
    "hrm": conftest.HRM,
}


def make(kind: str, **changes: Any) -> RecurrentModel:
    sizes = {"layers": 2, "h_cycles": 3, "l_cycles": 2, "attention_dropout": 0.0}
    values = {**KINDS[kind], **sizes, **changes}
    settings: ModelSettings = TypeAdapter(ModelSettings).validate_python(values)
    return settings.build(ModelSizes(6, num_positions=16), seeded(0))


@pytest.mark.parametrize(
    ("positions", "is_equivariant"), [("none", True), ("rope", False), ("rope2d", False)]
)
@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_without_positions_cells_are_interchangeable(kind: str, positions: str, is_equivariant: bool) -> None:
    """The paper's propositions on the three models, registers and prefix included."""
    model, tokens = make(kind, positions=positions), draw_tokens()
    order = torch.randperm(16, generator=seeded(5))
    state = model.initial_state(3, 16, 6)
    others = torch.arange(state[0].shape[1] - 16)
    is_behind_prefix = kind in ("trm", "hrm")
    places = torch.cat([others, len(others) + order] if is_behind_prefix else [order, 16 + others])
    for _ in range(3):
        one = model(state, tokens)
        other = model(tuple(part[:, places] for part in state), tokens[:, order])
        assert torch.allclose(other.logits, one.logits[:, order], rtol=0, atol=1e-5) == is_equivariant
        if is_behind_prefix and is_equivariant:
            torch.testing.assert_close(other.halting, one.halting, rtol=0, atol=1e-5)
        state = one.state


@pytest.mark.parametrize(
    ("kind", "changes", "num_symbols", "message"),
    [
        ("se_rrm", {"symbols": "untied"}, 11, r"\b6\b.*\b11\b"),
        ("hrm", {}, 11, r"\b6\b.*\b11\b"),
        ("trm", {"mixer": "mlp"}, 6, r"\b16\b.*\b81\b"),
        ("se_rrm", {"mixer": "mlp"}, 11, r"\b16\b.*\b81\b"),
    ],
)
def test_what_there_are_no_weights_for_is_refused(
    kind: str, changes: dict[str, Any], num_symbols: int, message: str
) -> None:
    with pytest.raises(CannotExtrapolate, match=message):
        make(kind, **changes).initial_state(1, 81, num_symbols)
    assert make("se_rrm").initial_state(1, 81, 11)[0].shape == (1, 81, 11, 32)


@pytest.mark.parametrize(
    ("positions", "side", "message"),
    [
        ("rope2d_boxes", 7, r"\b7\b"),
        ("rope2d_in_boxes", 7, r"\b7\b"),
        ("rope2d_in_boxes", 30, r"\b5\b.*\b6\b"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_side_without_positions_is_refused(kind: str, positions: str, side: int, message: str) -> None:
    """Side 7 has no boxes, and side 30 has boxes of 6 columns, of which heads of 16 features tell 5 apart."""
    heads = {"heads": 1} if kind in ("trm", "hrm") else {"head_dim": 16}
    model = make(kind, positions=positions, **heads)
    with pytest.raises(CannotExtrapolate, match=message):
        model.initial_state(1, side**2, 6)
    assert refusal(model, side, 6) and refusal(model, 9, 6) is None
