"""Adam-atan2 and sign-SGD take the authors' steps; Muon has the matrices alone; the schedules."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from serrm.kernels import products
from serrm.kernels.accelerate import accelerate
from serrm.kernels.cpu.build import has_kernels
from serrm.models.recurrence import trained_parameters
from serrm.models.settings import ModelSizes
from serrm.training import muon
from serrm.training.adam_atan2 import AdamAtan2
from serrm.training.muon import build_muon, newton_schulz_flops, orthogonalised
from serrm.training.optimizers import AdamAtan2Settings, MuonSettings
from serrm.training.settings import TrainSettings
from serrm.training.sign_sgd import update_rows
from tests.conftest import TRAIN, run_settings, se_rrm_settings
from tests.drawn import seeded

pytestmark = pytest.mark.numeric

PEAK, WARMUP, NUM_STEPS = 3e-3, 10, 110


def rate(step: int, schedule: str, warmup: int = WARMUP) -> float:
    recipe = {**TRAIN, "learning_rate": PEAK, "warmup_steps": warmup, "schedule": schedule}
    return TrainSettings.model_validate(recipe).rate(step, NUM_STEPS)


def test_the_rate_rises_in_a_line_and_stays_or_falls_as_a_cosine() -> None:
    for schedule in ("constant", "cosine"):
        rising = [rate(step, schedule) for step in range(WARMUP)]
        assert rising == pytest.approx([PEAK * (step + 1) / WARMUP for step in range(WARMUP)])
        assert rate(WARMUP, schedule) == rate(0, schedule, warmup=0) == pytest.approx(PEAK)
    steps = range(WARMUP, NUM_STEPS + 1)
    assert {rate(step, "constant") for step in steps} == {PEAK}
    cosine = [rate(step, "cosine") for step in steps]
    assert cosine == sorted(cosine, reverse=True)
    assert cosine[-1] == pytest.approx(0.1 * PEAK)
    assert cosine[50] == pytest.approx(0.55 * PEAK)
    assert cosine[25] == pytest.approx(PEAK * (0.55 + 0.45 * math.sqrt(0.5)))


def test_muon_turns_the_networks_matrices_and_adam_atan2_the_rest() -> None:
    model = se_rrm_settings().build(ModelSizes(6), seeded(0))
    optimizer = build_muon(model, (0.9, 0.95), weight_decay=0.0)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    for group in optimizer.param_groups:
        group["lr"] = 0.01
    for parameter in trained_parameters(model):
        parameter.grad = torch.randn(parameter.shape, generator=seeded(3))
    optimizer.step()
    for name, value in model.named_parameters():
        update = (before[name] - value.detach()) / 0.01
        if name.startswith("networks"):  # every direction moves about alike
            most = 0.2 * math.sqrt(max(update.shape))
            assert torch.linalg.svdvals(update).div(most).sub(1).abs().max() < 0.5
        elif value.numel():  # atan2 of a first gradient and its own size
            assert update.abs().sub(math.pi / 4).abs().max() < 1e-4


def test_muon_steps_matrices_together_as_it_does_one_by_one() -> None:
    starts = [torch.randn(6, 4, generator=seeded(i)) for i in range(3)]
    gradients = [torch.randn(2, 6, 4, generator=seeded(10 + i)) for i in range(3)]

    def stepped(chosen: list[int]) -> list[Tensor]:
        parameters = [torch.nn.Parameter(starts[i].clone()) for i in chosen]
        optimizer = muon.Muon(parameters, lr=0.1, weight_decay=0.1)
        for step in range(2):
            for i, parameter in zip(chosen, parameters, strict=True):
                parameter.grad = gradients[i][step].clone()
            optimizer.step()
        return [parameter.detach() for parameter in parameters]

    for together, (alone,) in zip(stepped([0, 1, 2]), [stepped([i]) for i in range(3)], strict=True):
        torch.testing.assert_close(together, alone, rtol=0, atol=1e-5)


def updated(is_native: bool, num_steps: int, scale: float) -> list[Tensor]:
    """Parameters and moments after steps with gradients of many sizes, some of them zero."""
    torch.set_num_threads(1)
    shapes = [(7,), (33, 50), (129, 1031)]
    parameters = [torch.randn(shape, generator=seeded(1)).requires_grad_() for shape in shapes]
    optimizer = AdamAtan2(parameters, 1e-3, weight_decay=0.3, is_native=is_native)
    for step in range(num_steps):
        for parameter in parameters:
            sizes = 10 ** torch.empty(parameter.shape).uniform_(-12, 4, generator=seeded(step))
            drawn = torch.randn(parameter.shape, generator=seeded(step + 100))
            parameter.grad = scale * sizes * drawn * (drawn.abs() > 0.1)
        optimizer.step()
    moments = [optimizer.state[p][name] for p in parameters for name in ("mean", "square")]
    return [p.detach() for p in parameters] + moments


@pytest.mark.parametrize("scale", [1.0, 1e-8])
@pytest.mark.parametrize("num_steps", [1, 5])
def test_the_native_update_is_that_of_pytorch_but_for_rounding(num_steps: int, scale: float) -> None:
    pairs = zip(updated(True, num_steps, scale), updated(False, num_steps, scale), strict=True)
    for number, (native, plain) in enumerate(pairs):
        torch.testing.assert_close(native, plain, rtol=2e-6, atol=1e-9 if number < 3 else 1e-38)


def test_a_native_update_keeps_what_is_not_a_number() -> None:
    parameter = torch.zeros(20, requires_grad=True)
    optimizer = AdamAtan2([parameter], 1e-3, is_native=True)
    parameter.grad = torch.tensor([math.nan, *[1.0] * 18, math.nan])
    optimizer.step()
    assert parameter.isnan().tolist() == [True, *[False] * 18, True]


@pytest.fixture(scope="module")
def authors() -> dict[str, np.ndarray]:
    """60 steps of the authors' Adam-atan2 (adam-atan2 0.0.3, in float32), and five of their sign-SGD.

    The first by the arithmetic of its CUDA kernel compiled for a CPU, the second by their Python function at commit
    59ff163. `with_momentum` has betas 0.9 and 0.95, `without_momentum` 0 and 0.95.
    """
    with np.load(Path(__file__).with_name("authors_optimizers.npz")) as arrays:
        return dict(arrays)


def parameters_after_steps(authors: dict[str, np.ndarray], betas: tuple[float, float]) -> np.ndarray:
    parameter = torch.tensor(authors["start"], requires_grad=True)
    optimizer = AdamAtan2([parameter], float(authors["rate"]), betas, float(authors["weight_decay"]))
    after = []
    for gradient in authors["gradients"]:
        parameter.grad = torch.from_numpy(gradient)
        optimizer.step()
        after.append(parameter.detach().numpy().copy())
    return np.stack(after)


def test_adam_atan2_without_momentum_is_the_authors(authors: dict[str, np.ndarray]) -> None:
    after = parameters_after_steps(authors, (0.0, 0.95))
    np.testing.assert_allclose(after, authors["without_momentum"], rtol=1e-5, atol=1e-6)


def test_adam_atan2_corrects_the_first_moment_inside_atan2(authors: dict[str, np.ndarray]) -> None:
    """The authors divide atan2 of the uncorrected moment by the correction (docs/fidelity.md): this fades."""
    after = parameters_after_steps(authors, (0.9, 0.95))
    paths = [np.concatenate([authors["start"][None], path]) for path in (after, authors["with_momentum"])]
    kept = 1 - float(authors["rate"]) * float(authors["weight_decay"])
    updates, theirs = ((path[1:] - kept * path[:-1]) / float(authors["rate"]) for path in paths)
    np.testing.assert_allclose(np.abs(updates[0]), math.pi / 4, rtol=1e-3)
    np.testing.assert_allclose(np.abs(theirs[0]), 10 * math.atan(0.1), rtol=1e-3)
    np.testing.assert_allclose(updates[-1], theirs[-1], atol=5e-3)


def test_sign_sgd_is_the_authors(authors: dict[str, np.ndarray]) -> None:
    table = torch.from_numpy(authors["table"])
    for rows, gradients, after in zip(
        authors["rows"], authors["row_gradients"], authors["tables"], strict=True
    ):
        update_rows(table, torch.from_numpy(rows), torch.from_numpy(gradients), lr=0.05, weight_decay=0.1)
        np.testing.assert_allclose(table.numpy(), after, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("allows_native", [True, False])
def test_muon_can_do_without_native_kernels(allows_native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `native: false` in machine.yaml does; its products are no network's."""
    calls = []
    used = products.library
    monkeypatch.setattr(products, "library", lambda dtype: calls.append(dtype) or used(dtype))
    model = se_rrm_settings().build(ModelSizes(6), seeded(0))
    accelerate(model, allows_native=allows_native)
    optimizer = build_muon(model, (0.9, 0.95), 0.1)
    for p in model.networks.parameters():
        p.grad = torch.ones_like(p)
    optimizer.step()
    assert bool(calls) == (allows_native and has_kernels(torch.float32))


@pytest.mark.parametrize("shape", [(8, 8), (24, 8), (8, 40)])
def test_the_products_of_muon_are_counted(shape: tuple[int, int]) -> None:
    with FlopCounterMode(display=False) as counter:
        orthogonalised(torch.zeros(shape, device="meta"))
    assert newton_schulz_flops(*shape) == counter.get_total_flops()


def test_only_muon_has_products() -> None:
    model = se_rrm_settings().build(ModelSizes(6), seeded(0))
    assert MuonSettings().product_flops(model) > 0 == AdamAtan2Settings().product_flops(model)


def test_adamw_decays_every_parameter_and_moves_it_by_the_rate() -> None:
    model = se_rrm_settings().build(ModelSizes(6), seeded(0))
    train = run_settings(train={"optimizer": "adamw", "weight_decay": 0.5}).train
    optimizer = train.optimizer.build(model, train)
    before = [p.detach().clone() for p in trained_parameters(model)]
    for p in trained_parameters(model):
        p.grad = torch.full_like(p, -3.0)
    for group in optimizer.param_groups:
        group["lr"] = 0.01
    optimizer.step()
    for p, start in zip(trained_parameters(model), before, strict=True):
        torch.testing.assert_close(p.detach(), start * (1 - 0.01 * 0.5) + 0.01)
