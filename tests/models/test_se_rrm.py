"""SE-RRM: the equivariance that gives it its name."""

import math
from itertools import product

import pytest
import torch

from serrm.models.recurrence import RecurrentModel
from serrm.models.settings import NUM_SPECIAL, ModelSizes
from serrm.training.adam_atan2 import AdamAtan2
from serrm.training.cross_entropy import stablemax_cross_entropy
from tests.conftest import se_rrm_settings
from tests.drawn import draw_tokens, seeded

pytestmark = pytest.mark.numeric

SIZES = [4, 9, 16, pytest.param(25, marks=pytest.mark.slow)]


def train_a_little(model: RecurrentModel, num_steps: int = 12) -> None:
    """Steps of deep supervision on random 4×4 grids that copy most cells."""
    model.train()
    targets = torch.randint(2, 6, (4, 16), generator=seeded(5))
    tokens = torch.where(torch.rand(4, 16, generator=seeded(6)) < 0.3, 1, targets)
    optimizer = AdamAtan2([p for p in model.parameters() if p.numel()], lr=3e-3)
    state = model.initial_state(4, 16, 6)
    for _ in range(num_steps):
        state, logits, *_ = model(state, tokens)
        loss = stablemax_cross_entropy(logits, targets).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    assert float(loss.detach()) < 1.0
    model.eval()


@pytest.fixture(scope="module", params=["random weights", "trained weights"])
def tied_models(request: pytest.FixtureRequest) -> dict[tuple[str, int], RecurrentModel]:
    """Tied models by their planes and number of registers; untrained ones with registers have two states."""
    models, is_trained = {}, request.param == "trained weights"
    for planes, registers in product(("all", "usual"), (0, 4)):
        states = "two" if registers and not is_trained else "one"
        settings = se_rrm_settings(planes=planes, registers=registers, states=states, h_cycles=1)
        models[planes, registers] = model = settings.build(ModelSizes(6), seeded(0)).eval()
        if is_trained:
            train_a_little(model)
    return models


@pytest.mark.parametrize("side", SIZES)
@torch.no_grad()
def test_permuted_symbols_permute_the_logits(
    tied_models: dict[tuple[str, int], RecurrentModel], side: int
) -> None:
    tokens = draw_tokens(side, num=2 if side < 16 else 1)
    moved = torch.cat([torch.arange(NUM_SPECIAL), NUM_SPECIAL + torch.randperm(side, generator=seeded(1))])
    for (planes, _), model in tied_models.items():
        first = NUM_SPECIAL if planes == "usual" else 0
        order = (moved[first:] - first).argsort()  # of the planes
        state = model.initial_state(len(tokens), side**2, side + 2)
        for _ in range(2 if side < 16 else 1):
            # Both sides of the comparison start each step from exactly the same state.
            output = model(state, tokens)
            permuted = model(tuple(part[:, :, order] for part in state), moved[tokens])
            state = output.state
            expected = torch.empty_like(output.logits)
            expected[..., moved] = output.logits
            # Training makes logits large; a float32 has some seven digits of them.
            scale = max(1.0, float(expected[expected.isfinite()].abs().max()))
            torch.testing.assert_close(permuted.logits, expected, rtol=0, atol=1e-5 * scale)
            one, other = output.logits.topk(2).values.unbind(-1)
            is_clear = one - other > 1e-4
            assert is_clear.float().mean() > 0.5
            assert torch.equal(
                permuted.logits.argmax(-1)[is_clear], moved[output.logits.argmax(-1)][is_clear]
            )


@torch.no_grad()
def test_task_types_start_equivariant() -> None:
    full = se_rrm_settings(task_types="full").build(ModelSizes(6, num_task_types=500), seeded(0))
    factored = se_rrm_settings(task_types="factored").build(ModelSizes(6, num_task_types=500), seeded(0))
    none = se_rrm_settings().build(ModelSizes(6, num_task_types=500), seeded(0))
    assert full.task_types is not None and factored.task_types is not None and none.task_types is None
    by_symbol = full.task_types.reshape(500, 6, 32)
    assert torch.equal(by_symbol, by_symbol[:, :1].expand(-1, 6, -1))
    assert float(by_symbol[:, 0].std()) == pytest.approx(1 / math.sqrt(32), rel=0.02)
    assert not factored.task_types.any()


@pytest.mark.parametrize("num_special", [NUM_SPECIAL, 4])
@pytest.mark.parametrize("planes", ["all", "usual"])
@pytest.mark.parametrize("kind", ["factored", "full"])
@torch.no_grad()
def test_permuted_symbols_and_task_types_permute_the_logits(kind: str, planes: str, num_special: int) -> None:
    settings = se_rrm_settings(task_types=kind, planes=planes, registers=0)
    assert settings.misfit(tuple(range(num_special))) == "" != settings.misfit((0, 1, 5))
    model = settings.build(ModelSizes(11, num_task_types=2, num_special=num_special), seeded(0)).eval()
    vectors = torch.randn(model.task_types.shape, generator=seeded(2))
    usual = num_special + torch.randperm(11 - num_special, generator=seeded(1))
    moved = torch.cat([torch.arange(num_special), usual])
    tokens, state = draw_tokens(9, num=2), model.initial_state(2, 81, 11)
    plain = model(state, tokens, vectors).logits
    permuted = model(state, moved[tokens], model.embedding.permuted(vectors, moved)).logits
    kept = model(state, moved[tokens], vectors).logits
    torch.testing.assert_close(permuted[..., moved], plain, rtol=0, atol=1e-4)
    assert not torch.allclose(kept[..., moved].nan_to_num(), plain.nan_to_num(), atol=1e-2)


def test_symbols_without_a_plane_are_never_predicted() -> None:
    model = se_rrm_settings(planes="usual").build(ModelSizes(6), seeded(0)).eval()
    logits = model(model.initial_state(2, 16, 6), draw_tokens(4, num=2)).logits
    assert logits.shape == (2, 16, 6)
    assert torch.isneginf(logits[..., :NUM_SPECIAL]).all()
    assert logits[..., NUM_SPECIAL:].isfinite().all()
