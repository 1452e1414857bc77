"""One supervision step is its list of updates, with gradient through the last of them only."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from serrm.models.layers import Rotation, rms_norm
from serrm.models.recurrence import (
    InputEmbedding,
    Network,
    RecurrentModel,
    Residual,
    Schedule,
    Update,
)
from serrm.models.registry import build_model
from serrm.models.settings import SeRrmSettings

pytestmark = pytest.mark.numeric

NUM_SYMBOLS = 6
CYCLES = {"h_cycles": 3, "l_cycles": 2}


@pytest.fixture
def model(make_settings: Callable[..., SeRrmSettings]) -> RecurrentModel:
    return build_model(make_settings(**CYCLES), NUM_SYMBOLS, torch.Generator().manual_seed(0))


@pytest.fixture
def tokens() -> Tensor:
    return torch.randint(1, NUM_SYMBOLS, (3, 16), generator=torch.Generator().manual_seed(1))


def gradients(model: RecurrentModel, logits: Tensor) -> dict[str, Tensor]:
    """Gradients of an arbitrary function of the logits, by name of the parameter."""
    model.zero_grad()
    logits.cos().sum().backward()
    named = model.named_parameters()
    return {name: p.grad.clone() for name, p in named if p.grad is not None and p.numel()}


def unrolled(model: RecurrentModel, tokens: Tensor, num_steps: int, num_with_gradient: int) -> Tensor:
    """Logits of the last supervision step, by a loop over blocks that cuts the gradient by hand."""
    (state,) = model.initial_state(len(tokens), tokens.shape[1], NUM_SYMBOLS)
    num_updates = CYCLES["h_cycles"] * CYCLES["l_cycles"]
    for _ in range(num_steps):
        state = state.detach()
        embedding, rotation = model.embedding(state, tokens, None)
        for update in range(num_updates):
            if update == num_updates - num_with_gradient:
                state = state.detach()
            state = model.networks["block"](state, embedding, rotation)
    logits: Tensor = model.readout(state)[0]
    return logits


def test_only_the_last_l_cycles_carry_gradient(model: RecurrentModel, tokens: Tensor) -> None:
    state = model.initial_state(3, 16, NUM_SYMBOLS)
    for _ in range(2):
        output = model(state, tokens)
        state = output.state
    found = gradients(model, output.logits)
    by_hand = gradients(model, unrolled(model, tokens, 2, num_with_gradient=CYCLES["l_cycles"]))
    assert found.keys() == by_hand.keys() >= {"embedding.symbols", "readout.weight"}
    for name, value in found.items():
        torch.testing.assert_close(value, by_hand[name], rtol=1e-5, atol=1e-6)
    through_all = gradients(model, unrolled(model, tokens, 2, num_with_gradient=6))
    assert any(not torch.allclose(value, through_all[name], rtol=0.01) for name, value in found.items())


def test_the_next_state_is_detached_and_as_deep_as_its_steps(model: RecurrentModel, tokens: Tensor) -> None:
    state = model.initial_state(3, 16, NUM_SYMBOLS)
    for num_steps in (1, 2, 3):
        output = model(state, tokens)
        state = output.state
        assert output.logits.requires_grad
        assert not any(part.requires_grad for part in state)
        expected = unrolled(model, tokens, num_steps, num_with_gradient=1).detach()
        torch.testing.assert_close(output.logits.detach(), expected, rtol=1e-6, atol=1e-6)


def test_puzzles_of_a_batch_do_not_touch_each_other(model: RecurrentModel, tokens: Tensor) -> None:
    model.eval()
    whole = model(model.initial_state(3, 16, NUM_SYMBOLS), tokens).logits
    for puzzle in range(3):
        alone = model(model.initial_state(1, 16, NUM_SYMBOLS), tokens[puzzle : puzzle + 1]).logits
        torch.testing.assert_close(alone[0], whole[puzzle], rtol=0, atol=1e-5)


class Scale(Network):
    """A network small enough to follow by hand: factor·(state + injection)."""

    def __init__(self, factor: float) -> None:
        super().__init__([])
        self.factor = nn.Parameter(torch.tensor(factor))

    def forward(self, x: Tensor, injection: Tensor, rotation: Rotation | None) -> Tensor:
        return self.factor * (x + injection)


class Ones(InputEmbedding):
    """E = 1 everywhere, for states `B I 1`."""

    def state_shape(self, num_puzzles: int, num_positions: int, num_symbols: int) -> tuple[int, ...]:
        return num_puzzles, num_positions, 1

    def forward(self, state: Tensor, tokens: Tensor, task_vectors: Tensor | None) -> tuple[Tensor, None]:
        return torch.ones_like(state), None


class Readout(nn.Module):
    def forward(self, state: Tensor) -> tuple[Tensor, None]:
        return state, None


def test_updates_add_the_other_states_and_the_embedding_where_they_say_so() -> None:
    updates = (
        Update("low", target=0, others=(1,)),
        Update("high", target=1, others=(0,), has_embedding=False),
    )
    model = RecurrentModel(
        embedding=Ones(),
        networks={"low": Scale(2.0), "high": Scale(3.0)},
        schedule=Schedule(updates, num_with_gradient=1),
        readout=Readout(),
        width=1,
    )
    low, high = torch.tensor([[[5.0]]]), torch.tensor([[[7.0]]])
    output = model((low, high), torch.zeros(1, 1, dtype=torch.long))
    new_low = 2 * (5 + 7 + 1)
    new_high = 3 * (7 + new_low)
    assert [float(part) for part in output.state] == [new_low, new_high]
    assert float(output.logits.detach()) == new_high
    output.logits.sum().backward()
    slow, fast = model.networks["high"].factor, model.networks["low"].factor
    assert isinstance(slow, Tensor) and isinstance(fast, Tensor)
    assert slow.grad is not None and float(slow.grad) == 7 + new_low
    assert fast.grad is None


def test_a_network_applies_its_residual_sublayers_in_order() -> None:
    double, negate = nn.Module(), nn.Module()
    double.forward = lambda x, rotation: 2 * x
    negate.forward = lambda x: -3 * x
    network = Network([[Residual(double), Residual(negate)]])
    x, injection = torch.randn(2, 1, 4, generator=torch.Generator().manual_seed(0))
    first = rms_norm(3 * (x + injection))
    torch.testing.assert_close(network(x, injection, None), rms_norm(-2 * first))
