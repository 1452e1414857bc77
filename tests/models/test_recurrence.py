"""One supervision step is its list of updates, with gradient through the last of them only."""

from typing import Any

import pytest
import torch
from pydantic import TypeAdapter
from torch import Tensor

from serrm.models.recurrence import CannotExtrapolate, RecurrentModel
from serrm.models.registry import build_model
from serrm.models.settings import ModelSettings
from tests import conftest
from tests.drawn import draw_tokens, gradients, seeded

pytestmark = pytest.mark.numeric

LOW, HIGH = 0, 1
# A superblock or cycle, and how many of the last updates of three carry gradient.
KINDS: dict[str, tuple[dict[str, Any], tuple[int, ...], int]] = {
    "se_rrm": (conftest.MODEL, (HIGH, HIGH), 2),
    "se_rrm with two states": ({**conftest.MODEL, "states": "two", "registers": 3}, (LOW, LOW, HIGH), 3),
    "trm": (conftest.TRM, (LOW, LOW, HIGH), 3),
    "hrm": ({**conftest.TRM, "family": "hrm"}, (LOW, LOW, HIGH), 2),
}


def make(kind: str, **changes: Any) -> RecurrentModel:
    sizes = {"layers": 2, "h_cycles": 3, "l_cycles": 2, "attention_dropout": 0.0}
    values = {**KINDS[kind][0], **sizes, **changes}
    if kind == "hrm":
        del values["mixer"]
    settings: ModelSettings = TypeAdapter(ModelSettings).validate_python(values)
    return build_model(settings, 6, seeded(0), num_positions=16)


def unrolled(model: RecurrentModel, tokens: Tensor, turns: tuple[int, ...], num_without: int) -> Tensor:
    """Logits of the second supervision step: the papers' text as a loop, with the gradient cut by hand."""
    networks = model.networks
    low, high = (networks[name if name in networks else "block"] for name in ("low", "high"))
    states = list(model.initial_state(len(tokens), 16, 6))
    for _ in range(2):
        states = [state.detach() for state in states]
        embedding, rotation = model.embedding(states[0], tokens, None)
        for num, turn in enumerate(3 * turns):
            if num == num_without:
                states = [state.detach() for state in states]
            if len(states) == 1:
                states = [high(states[0], embedding, rotation)]
            elif turn == LOW:
                states[LOW] = low(states[LOW], states[HIGH] + embedding, rotation)
            else:
                states[HIGH] = high(states[HIGH], states[LOW], rotation)
    logits: Tensor = model.readout(states[-1])[0]
    return logits


@pytest.mark.parametrize("kind", KINDS)
def test_updates_and_gradient_are_those_of_the_papers(kind: str) -> None:
    model, tokens = make(kind), draw_tokens()
    _, turns, num_with = KINDS[kind]
    first = model(model.initial_state(3, 16, 6), tokens)
    assert not any(part.requires_grad for part in first.state)
    logits = model(first.state, tokens).logits
    num = 3 * len(turns)
    expected = unrolled(model, tokens, turns, num - num_with)
    torch.testing.assert_close(logits, expected)
    found, wanted = gradients(model, logits), gradients(model, expected)
    assert found.keys() == wanted.keys() and len(found) > 7
    for name, value in found.items():
        torch.testing.assert_close(value, wanted[name], rtol=1e-5, atol=1e-6)
    for other in {0, num - 3, num - 2, num - 1} - {num - num_with}:
        differing = gradients(model, unrolled(model, tokens, turns, other))
        assert any(
            name not in differing or not torch.allclose(value, differing[name], rtol=1e-3)
            for name, value in found.items()
        )


@pytest.mark.parametrize(
    ("positions", "is_equivariant"), [("none", True), ("rope", False), ("rope2d", False)]
)
@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_without_positions_permuted_positions_permute_every_step(
    kind: str, positions: str, is_equivariant: bool
) -> None:
    """The paper's propositions on the three models, registers and prefix included."""
    model, tokens, order = (
        make(kind, positions=positions),
        draw_tokens(),
        torch.randperm(16, generator=seeded(5)),
    )
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
        ("se_rrm", {"symbols": "untied"}, 11, "learned for 6 planes, the task has 11"),
        ("trm", {}, 11, "learned for 6 tokens, the task has 11"),
        ("hrm", {}, 11, "learned for 6 tokens, the task has 11"),
        ("trm", {"mixer": "mlp"}, 6, "the MLP mixes 16 positions, the puzzle has 81"),
    ],
)
def test_what_there_are_no_weights_for_is_refused(
    kind: str, changes: dict[str, Any], num_symbols: int, message: str
) -> None:
    with pytest.raises(CannotExtrapolate, match=message):
        make(kind, **changes).initial_state(1, 81, num_symbols)
    assert make("se_rrm").initial_state(1, 81, 11)[0].shape == (1, 81, 11, 32)


def test_puzzles_of_a_batch_do_not_touch_each_other() -> None:
    model, tokens = make("se_rrm").eval(), draw_tokens()
    whole = model(model.initial_state(3, 16, 6), tokens).logits
    for puzzle in range(3):
        alone = model(model.initial_state(1, 16, 6), tokens[puzzle : puzzle + 1]).logits
        torch.testing.assert_close(alone[0], whole[puzzle], rtol=0, atol=1e-5)
