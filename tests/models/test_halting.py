"""Halting rules: how often slots halt, and that a slot's chance depends on (seed, step, slot) alone."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from serrm.models.halting import HaltingRule, QLearning, RandomHalting, least_steps, random_halting
from serrm.models.hrm_trm_settings import TrmSettings
from serrm.models.q_head import continue_target
from serrm.models.recurrence import SupervisionStep
from serrm.models.settings import ModelSizes
from tests import conftest
from tests.drawn import draw_tokens, seeded

pytestmark = pytest.mark.numeric

RANDOM = RandomHalting(kind="random", probability=0.25)
TRM = QLearning(kind="q_learning", exploration=0.0, bootstrap=False)
HRM = QLearning(kind="q_learning", exploration=0.0, bootstrap=True)

seeds, steps = st.integers(0, 2**31), st.integers(0, 10**9)


def halts(
    rule: HaltingRule, signal: Tensor | None, num_steps: list[int], seed: int = 0, step: int = 0
) -> Tensor:
    return rule.halts(signal, torch.tensor(num_steps), seed=seed, optimiser_step=step, max_steps=16)


@pytest.mark.parametrize("probability", [0.05, 0.1, 0.5])
def test_slots_halt_as_often_as_asked(probability: float) -> None:
    num_steps, num_slots = 500, 64
    halted = np.stack([random_halting(0, step, num_slots, probability) for step in range(num_steps)])
    error = (probability * (1 - probability) / halted.size) ** 0.5
    assert abs(halted.mean() - probability) < 4 * error
    # Neither the slots nor the steps go together.
    assert np.abs(halted.mean(0) - probability).max() < 5 * error * num_slots**0.5
    assert np.abs(halted.mean(1) - probability).max() < 5 * error * num_steps**0.5
    assert abs((halted[1:] & halted[:-1]).mean() - probability**2) < 5 * probability / halted.size**0.5


@given(seed=seeds, step=steps, fewer=st.integers(1, 8), more=st.integers(8, 32))
def test_halting_is_a_function_of_seed_step_and_slot(seed: int, step: int, fewer: int, more: int) -> None:
    assert np.array_equal(
        random_halting(seed, step, fewer, 0.5), random_halting(seed, step, more, 0.5)[:fewer]
    )


def test_a_solved_puzzle_halts_with_a_probability_of_its_own() -> None:
    rule = RandomHalting(kind="random", probability=0.1, probability_solved=0.5)
    num_steps, is_solved = [3] * 4000, torch.arange(4000) < 2000
    halted = halts(rule, is_solved, num_steps, 1, 2).float()
    assert halted[:2000].mean() == pytest.approx(1 - 0.9 * 0.5, abs=0.05)
    assert torch.equal(halted[2000:].bool(), halts(rule, None, num_steps, 1, 2)[2000:])
    at_once = rule.model_copy(update={"probability_solved": 1.0})
    assert halts(at_once, is_solved, num_steps, 1, 2)[:2000].all()


def test_q_learning_halts_above_zero_or_above_continuing() -> None:
    logits = torch.tensor([[1.0, 2.0], [-1.0, -2.0], [1.0, -1.0], [-1.0, 1.0]])
    assert halts(TRM, logits, [1] * 4).tolist() == [True, False, True, False]
    assert halts(HRM, logits, [1] * 4).tolist() == [False, True, True, False]


def test_exploration_keeps_a_share_of_slots_going() -> None:
    least = np.stack([least_steps(0, step, 64, 0.1, 16) for step in range(500)])
    is_exploring = least > 0
    assert abs(is_exploring.mean() - 0.1) < 4 * (0.1 * 0.9 / least.size) ** 0.5
    assert set(np.unique(least[is_exploring])) == set(range(2, 17))
    eager = torch.tensor([[9.0, -9.0]] * 64)
    settings = QLearning(kind="q_learning", exploration=0.1, bootstrap=False)
    halted = halts(settings, eager, [5] * 64, step=3)
    assert torch.equal(halted, torch.from_numpy(least[3] <= 5))


def test_the_continue_target_is_the_next_steps_best_or_at_the_end_its_halt() -> None:
    settings = TrmSettings.model_validate({**conftest.TRM, "attention_dropout": 0.0})
    model = settings.build(ModelSizes(6), seeded(0)).eval()
    with torch.no_grad():
        for parameter in model.readout.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=seeded(1)))
    tokens, before = draw_tokens(num=3), model.initial_state(3, 16, 6)
    output = model(before, tokens)
    following = model(output.state, tokens).halting.detach()
    about = {"is_solved": torch.zeros(3).bool(), "max_steps": 16}
    step = SupervisionStep(
        model, tokens, tokens, None, before, output, num_steps=torch.tensor([1, 15, 16]), **about
    )
    target = continue_target(step)
    assert not target.requires_grad
    torch.testing.assert_close(target[:2], following[:2].amax(1).sigmoid())
    torch.testing.assert_close(target[2], following[2, 0].sigmoid())
