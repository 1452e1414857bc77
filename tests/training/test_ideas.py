"""The seams of a training: what a loss sees, several starts, noise, the number of updates."""

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from serrm.core.randomness import Purpose, normal_numbers
from serrm.models.mixers import MIXERS, Mixer
from serrm.models.recurrence import Residual
from serrm.models.settings import ModelSizes
from serrm.training.flops import training_flops
from serrm.training.loop import Trainer
from serrm.training.losses import Elimination, Stablemax, Winner
from tests import conftest
from tests.conftest import MakeTrainer, run_settings, trainer_on
from tests.drawn import draw_tokens, seeded
from tests.training.test_loss import step_of

SIZES = {"width": 32, "h_cycles": 1, "l_cycles": 2, "attention_dropout": 0.0}
MODELS: dict[str, dict[str, Any]] = {"trm": {**conftest.TRM, **SIZES}, "se_rrm": {"h_cycles": 1}}


def changes(model: str, **train: Any) -> dict[str, Any]:
    """Changes of `run_settings` for a short training of a model."""
    return {"model": MODELS[model], "train": {"steps": 6, "log_every": 1, **conftest.TASK_TYPES, **train}}


def weights(trainer: Trainer, num_steps: int | None = None) -> dict[str, torch.Tensor]:
    """The weights after some steps, or all."""
    list(islice(trainer.steps(), num_steps))
    return {name: p.detach().clone() for name, p in trainer.model.named_parameters()}


def assert_equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "train",
    [{"noise": 0.3}, {"steps_per_update": 2}, {"updates_per_step": 3}, {"loss": "winner"}],
    ids=lambda train: next(iter(train)),
)
def test_a_resume_is_exact_and_pieces_change_only_rounding(
    model: str, train: dict[str, Any], make_trainer: MakeTrainer, tmp_path: Path
) -> None:
    about = changes(model, **train)
    if "loss" in train:
        about["model"] = about["model"] | {"starts": 3, "start_noise": 0.5}
    whole, plain = make_trainer(**about), make_trainer(**changes(model))
    half = make_trainer(**about)
    weights(half, 2)  # between two updates of one supervision step
    torch.save(half.state_dict(), tmp_path / "state")
    resumed = make_trainer(**about)
    resumed.load_state_dict(torch.load(tmp_path / "state", weights_only=True))
    expected = weights(whole)
    assert_equal(weights(resumed), expected)
    pieces = make_trainer(**about)
    pieces.micro_batch = 1
    for name, value in weights(pieces).items():
        torch.testing.assert_close(value, expected[name], rtol=0, atol=2e-3)
    assert any(not torch.equal(value, expected[name]) for name, value in weights(plain).items())


def test_several_supervision_steps_of_an_update_average_their_gradients(make_trainer: MakeTrainer) -> None:
    """Every slot halts after each step, so two steps of half a batch see the puzzles of one whole batch."""
    halting = {"kind": "random", "probability": 1.0}
    wide = make_trainer(**changes("trm", halting=halting, batch_size=4, steps=1))
    long = make_trainer(**changes("trm", halting=halting, batch_size=2, steps=1, steps_per_update=2))
    expected = weights(wide)
    for name, value in weights(long).items():
        torch.testing.assert_close(value, expected[name], rtol=0, atol=1e-5)
    assert long.slots.num_drawn == wide.slots.num_drawn == 4
    for mean, other in zip(long.ema, wide.ema, strict=True):
        torch.testing.assert_close(mean, other, rtol=0, atol=1e-5)


def test_several_updates_take_the_same_supervision_step(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(**changes("trm", updates_per_step=3, max_supervision_steps=2))
    num_steps, before = [], []
    for _ in trainer.steps():
        num_steps.append(int(trainer.slots.num_steps.max()))
        before.append(trainer.slots.state[0].clone())
    assert num_steps == [1, 1, 1, 2, 2, 2]
    assert torch.equal(before[0], before[1]) and not torch.equal(before[1], before[2])
    with pytest.raises(ValueError, match="updates_per_step"):
        make_trainer(**changes("trm", updates_per_step=2, steps_per_update=2))


def test_flops_are_counted_as_trained() -> None:
    def flops(model: dict[str, Any] | None = None, **train: Any) -> int:
        about = changes("trm", **train)
        run = run_settings(**(about | {"model": about["model"] | (model or {})}))
        return training_flops(run, ModelSizes(6, 16), run.train.steps or 0, run.train.steps or 0)

    plain = flops()
    assert flops(steps_per_update=2) == 2 * plain and flops(updates_per_step=2) == plain
    assert flops({"starts": 4}) == 4 * plain
    phase = {"until": 0.5, "h_cycles": 1, "l_cycles": 1}
    assert 2 * flops(curriculum=[phase]) == plain + flops({"h_cycles": 1, "l_cycles": 1}) < 2 * plain


@pytest.mark.parametrize("model", MODELS)
def test_starts_depend_on_seed_and_puzzle_alone(model: str) -> None:
    about = changes(model)
    run = run_settings(**(about | {"model": about["model"] | {"starts": 3, "start_noise": 0.5}}))
    net = run.model.build(ModelSizes(6, num_positions=16), seeded(0)).eval()
    whole = net.initial_state(4, 16, 6)
    for part, later in zip(whole, net.initial_state(2, 16, 6, first=2), strict=True):
        assert part.shape[:2] == (4, 3) and torch.equal(part[2:], later)
        assert not torch.equal(part[0], part[1]) and not torch.equal(part[0, 0], part[0, 1])
    net.seed = 1
    assert not torch.equal(net.initial_state(4, 16, 6)[0], whole[0])
    output = net(whole, draw_tokens(num=4))
    assert output.starts.shape[:2] == (4, 3)
    certainty = output.starts.double().softmax(-1).amax(-1).mean(-1)
    best = output.starts[torch.arange(4), certainty.argmax(1)]
    assert torch.equal(output.logits, best)
    # A start is one row of the same model without others.
    alone = run_settings(**about).model.build(ModelSizes(6, num_positions=16), seeded(0)).eval()
    alone.load_state_dict({**net.state_dict(), "initial": alone.initial})
    row = alone(tuple(part[:, 1] for part in whole), draw_tokens(num=4))
    torch.testing.assert_close(row.logits, output.starts[:, 1], rtol=0, atol=1e-5)


def test_only_the_best_start_is_trained() -> None:
    starts = torch.randn(2, 3, 5, 6, generator=seeded(0)).requires_grad_()
    targets = torch.randint(1, 6, (2, 5), generator=seeded(1))
    losses = Winner().losses(step_of(starts[:, 0], targets, starts))
    every = torch.stack([Stablemax().losses(step_of(starts[:, start], targets)) for start in range(3)], 1)
    assert torch.equal(losses, every.amin(1))
    losses.sum().backward()
    is_trained = starts.grad.flatten(2).abs().amax(-1) > 0
    assert torch.equal(is_trained, torch.nn.functional.one_hot(every.argmin(1), 3).bool())


def test_elimination_judges_every_symbol_by_itself() -> None:
    logits = torch.tensor([[[-torch.inf, 40.0, -40.0, -40.0]]]).requires_grad_()
    loss = Elimination().losses(step_of(logits, torch.tensor([[1]])))
    loss.sum().backward()
    assert loss.item() < 1e-6 and logits.grad is not None and logits.grad.isfinite().all()
    wrong = Elimination(cross_entropy=0).losses(step_of(logits.detach(), torch.tensor([[2]])))
    torch.testing.assert_close(wrong, torch.tensor([80 / 3]), rtol=1e-6, atol=0)
    assert Elimination().probabilities(logits.detach())[0, 0].tolist() == pytest.approx(
        [0, 1, 0, 0], abs=1e-6
    )


class Shift(torch.nn.Module):
    """A mixer without weights: every position takes half of the one before."""

    def __init__(self, axis: int) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor, rotation: Any = None) -> torch.Tensor:
        return x.roll(1, self.axis) / 2


@pytest.mark.parametrize("model", MODELS)
def test_a_mixer_is_a_setting(model: str, arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MIXERS, "shift", Mixer(lambda settings, axis, num, rng: Residual(Shift(axis))))
    about, losses = changes(model), set()
    for mixer in ("attention", "mlp", "shift"):
        run = run_settings(**(about | {"model": about["model"] | {"mixer": mixer}}))
        losses |= {record["loss"] for record in trainer_on(arrays, run).steps() if record}
    assert len(losses) == 3 * 6 and np.isfinite([*losses]).all()


def test_numbers_of_an_address_do_not_depend_on_others() -> None:
    whole = normal_numbers(3, Purpose.NOISE, range(4), 7, (2, 5))
    assert np.array_equal(whole[2:3], normal_numbers(3, Purpose.NOISE, [2], 7, (2, 5)))
    assert abs(normal_numbers(0, Purpose.START, range(100), 0, (100,)).std() - 1) < 0.02
