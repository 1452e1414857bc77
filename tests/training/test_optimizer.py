"""Adam-atan2 equals a scalar loop over its formula; the schedules; no global state."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from serrm.training.optimizer import AdamAtan2, learning_rate
from tests.compiling import DEVICES

pytestmark = pytest.mark.numeric

rates = st.floats(1e-4, 0.1)
betas = st.tuples(st.floats(0.5, 0.99), st.floats(0.5, 0.999))
gradient_lists = st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=8)


def slow_adam_atan2(
    value: float, gradients: list[float], lr: float, betas: tuple[float, float], weight_decay: float
) -> float:
    """One number under Adam-atan2, step by step."""
    mean = square = 0.0
    for step, gradient in enumerate(gradients, start=1):
        mean = betas[0] * mean + (1 - betas[0]) * gradient
        square = betas[1] * square + (1 - betas[1]) * gradient**2
        corrected_mean = mean / (1 - betas[0] ** step)
        corrected_square = square / (1 - betas[1] ** step)
        value -= lr * weight_decay * value
        value -= lr * math.atan2(corrected_mean, math.sqrt(corrected_square))
    return value


@given(
    starts=st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=3),
    gradients=gradient_lists,
    lr=rates,
    betas=betas,
    weight_decay=st.floats(0, 1),
)
def test_updates_equal_the_scalar_loop(
    starts: list[float],
    gradients: list[float],
    lr: float,
    betas: tuple[float, float],
    weight_decay: float,
) -> None:
    parameters = [torch.tensor([start], dtype=torch.float64, requires_grad=True) for start in starts]
    optimizer = AdamAtan2(parameters, lr, betas, weight_decay)
    for gradient in gradients:
        for scale, parameter in enumerate(parameters, start=1):
            parameter.grad = torch.full_like(parameter, scale * gradient)
        optimizer.step()
    for scale, (start, parameter) in enumerate(zip(starts, parameters, strict=True), start=1):
        expected = slow_adam_atan2(start, [scale * g for g in gradients], lr, betas, weight_decay)
        assert float(parameter.detach()) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(gradient=st.floats(1e-12, 1e12), lr=rates)
def test_the_first_step_is_a_quarter_turn_whatever_the_scale(gradient: float, lr: float) -> None:
    parameter = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    parameter.grad = torch.full_like(parameter, gradient)
    AdamAtan2([parameter], lr).step()
    assert float(parameter.detach()) == pytest.approx(-lr * math.pi / 4)


def test_parameters_without_gradient_stay() -> None:
    still, moving = (torch.ones(3, requires_grad=True) for _ in range(2))
    optimizer = AdamAtan2([still, moving], 0.1, weight_decay=1.0)
    moving.grad = torch.ones(3)
    optimizer.step()
    assert torch.equal(still.detach(), torch.ones(3)) and not torch.equal(moving.detach(), torch.ones(3))
    assert not optimizer.state[still]


@given(gradients=gradient_lists, cut=st.integers(0, 8))
def test_state_dict_continues_bit_for_bit(gradients: list[float], cut: int) -> None:
    def steps(parameter: torch.Tensor, optimizer: AdamAtan2, part: list[float]) -> None:
        for gradient in part:
            parameter.grad = gradient * torch.tensor([1.0, -2.0])
            optimizer.step()

    straight = torch.tensor([1.0, 2.0], requires_grad=True)
    whole = AdamAtan2([straight], 0.01, weight_decay=0.1)
    steps(straight, whole, gradients)

    first = torch.tensor([1.0, 2.0], requires_grad=True)
    before = AdamAtan2([first], 0.01, weight_decay=0.1)
    steps(first, before, gradients[:cut])
    second = first.detach().clone().requires_grad_()
    after = AdamAtan2([second], 0.5)
    after.load_state_dict(before.state_dict())
    steps(second, after, gradients[cut:])
    assert torch.equal(second.detach(), straight.detach())


PEAK, WARMUP, NUM_STEPS = 3e-3, 10, 110


def rate(step: int, schedule: str, warmup: int = WARMUP) -> float:
    return learning_rate(step, peak=PEAK, warmup=warmup, num_steps=NUM_STEPS, schedule=schedule)


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_warm_up_is_a_line_to_the_peak(schedule: str) -> None:
    assert [rate(step, schedule) for step in range(WARMUP)] == pytest.approx(
        [PEAK * (step + 1) / WARMUP for step in range(WARMUP)]
    )
    assert rate(WARMUP, schedule) == rate(0, schedule, warmup=0) == pytest.approx(PEAK)


def test_after_the_warm_up() -> None:
    steps = range(WARMUP, NUM_STEPS + 1)
    assert {rate(step, "constant") for step in steps} == {PEAK}
    cosine = [rate(step, "cosine") for step in steps]
    assert cosine == sorted(cosine, reverse=True)
    assert cosine[-1] == pytest.approx(0.1 * PEAK)
    assert cosine[50] == pytest.approx(0.55 * PEAK)
    assert cosine[25] == pytest.approx(PEAK * (0.55 + 0.45 * math.sqrt(0.5)))


@pytest.mark.parametrize("final", [0.0, 0.01, 1.0])
def test_the_cosine_ends_where_it_is_told_to(final: float) -> None:
    rates = [
        learning_rate(s, peak=PEAK, warmup=0, num_steps=8, schedule="cosine", final=final) for s in range(9)
    ]
    assert rates[0] == pytest.approx(PEAK)
    assert rates[-1] == pytest.approx(final * PEAK)
    assert rates[4] == pytest.approx(PEAK * (1 + final) / 2)


def test_a_training_that_ends_in_its_warm_up() -> None:
    rates = [learning_rate(s, peak=1.0, warmup=10, num_steps=5, schedule="cosine") for s in range(5)]
    assert rates == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])


@pytest.mark.parametrize("device", DEVICES)
def test_a_loaded_state_keeps_its_count_on_the_host(device: str) -> None:
    weights = [torch.nn.Parameter(torch.ones(3, device=device)) for _ in range(2)]
    optimizers = [AdamAtan2([weight], 0.1) for weight in weights]
    weights[0].grad = torch.ones(3, device=device)
    optimizers[0].step()
    state = optimizers[0].state_dict()
    state["state"][0] = {name: value.to(device) for name, value in state["state"][0].items()}
    optimizers[1].load_state_dict(state)
    (loaded,) = optimizers[1].state.values()
    assert loaded["step"].device.type == "cpu" and loaded["mean"].device.type == device
    assert float(loaded["step"]) == 1
