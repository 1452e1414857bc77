"""FLOPs without numbers are those of real steps, and the known figures of the paper's models."""

from typing import Any

import pytest
import torch

from benchmarks.steps import HRM, SE_RRM, TRM
from serrm.arrays.stream import random_stream
from serrm.inference.predict import predict
from serrm.models.families import ModelSettings
from serrm.models.flops import flops
from serrm.models.gates import GATES
from serrm.models.halting import QLearning, RandomHalting
from serrm.models.layers import SwiGLU
from serrm.models.recurrence import num_parameters
from serrm.models.settings import ModelSizes
from serrm.training.loop import Trainer
from serrm.training.settings import TrainSettings
from tests.conftest import TRAIN
from tests.drawn import counted, seeded

SIDE, NUM_SYMBOLS, BATCH = 4, 6, 3
SIZES = ModelSizes(NUM_SYMBOLS, SIDE**2)
TINY: dict[str, Any] = {"width": 32, "h_cycles": 2, "l_cycles": 3, "heads": 2, "swiglu_multiple": 16}
SMALL_SE_RRM = SE_RRM.model_copy(
    update={
        "width": 64, "layers": 1, "h_cycles": 2, "l_cycles": 4, "heads": 2, "head_dim": 32, "symbol_head_dim": 32,
        "registers": 0, "attention_dropout": 0.0,
    }
)  # fmt: skip
SMALL = SMALL_SE_RRM.model_copy(update={"swiglu_multiple": 16})
TINY_TRM = TRM.model_copy(update=TINY)
MODELS: dict[str, ModelSettings] = {
    "se_rrm": SE_RRM.model_copy(update={**TINY, "head_dim": 16, "symbol_head_dim": 8}),
    "se_rrm_published_width": SMALL_SE_RRM,
    "se_rrm_two_states": SMALL.model_copy(update={"states": "two"}),
    "se_rrm_usual_planes": SMALL.model_copy(update={"planes": "usual"}),
    "se_rrm_untied": SMALL.model_copy(update={"symbols": "untied"}),
    "se_rrm_registers": SMALL.model_copy(update={"registers": 2}),
    "se_rrm_task_types": SMALL.model_copy(update={"task_types": "factored"}),
    "trm": TINY_TRM,
    "trm_mlp": TINY_TRM.model_copy(update={"mixer": "mlp", "positions": "none"}),
    "trm_rope2d": TINY_TRM.model_copy(update={"positions": "rope2d"}),
    "trm_normed_gate": TINY_TRM.model_copy(update={"gate": "normed"}),
    "hrm": HRM.model_copy(update=TINY),
}
RANDOM = RandomHalting(kind="random", probability=0.1)
HALTING = {
    "random": RANDOM,
    "q_learning": QLearning(kind="q_learning", exploration=0.1, bootstrap=False),
    "bootstrap": QLearning(kind="q_learning", exploration=0.1, bootstrap=True),
}
CASES = [
    (model, rule)
    for model, settings in MODELS.items()
    for rule in (HALTING if settings.family != "se_rrm" else ["random"])
]


def recipe(**changes: Any) -> TrainSettings:
    """One with task types, but for the given parameters."""
    task_types = {"learning_rate": 1e-2, "weight_decay": 0.1}
    return TrainSettings.model_validate({**TRAIN, "task_types": task_types, "snapshots": 0, **changes})


@pytest.mark.parametrize(("model", "rule"), CASES)
def test_a_training_step_does_what_is_counted(model: str, rule: str) -> None:
    rng = seeded(0)
    built = MODELS[model].build(SIZES, rng)
    built.task_types = None  # the update of their table is no product of the network
    settings = recipe(batch_size=BATCH, steps=2, halting=HALTING[rule])
    trainer = Trainer(built, random_stream(SIDE, NUM_SYMBOLS), settings, seed=0)
    expected = flops(MODELS[model], SIZES, HALTING[rule])
    assert counted(lambda: list(trainer.steps())) == 2 * BATCH * expected


@pytest.mark.parametrize("model", MODELS)
def test_a_prediction_does_what_is_counted(model: str) -> None:
    rng = seeded(0)
    built = MODELS[model].build(SIZES, rng).eval()
    tokens = torch.randint(1, NUM_SYMBOLS, (BATCH, SIDE**2), generator=rng)
    expected = flops(MODELS[model], SIZES)
    assert counted(lambda: list(predict(built, tokens, NUM_SYMBOLS, (1, 3)))) == 3 * BATCH * expected


def test_layers_that_training_drops_at_random_count(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dropped(SwiGLU):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.zeros_like(x) if self.training else super().forward(x)

    monkeypatch.setitem(GATES, "dropped", Dropped)
    dropped = TINY_TRM.model_copy(update={"gate": "dropped"})
    assert flops(dropped, SIZES, RANDOM) == flops(TINY_TRM, SIZES, RANDOM)


def test_the_papers_se_rrm_needs_what_is_known() -> None:
    sizes = ModelSizes(11, 81)
    assert flops(SE_RRM, sizes) / 1e9 == pytest.approx(69.3, abs=0.05)
    assert flops(SE_RRM, sizes, RANDOM) / 1e9 == pytest.approx(115.5, abs=0.05)


ARC, MAZE = {"l_cycles": 4, "registers": 0}, {"l_cycles": 4, "registers": 0, "symbols": "untied"}


@pytest.mark.parametrize(
    ("settings", "num_symbols", "expected"),
    [
        (SE_RRM, 11, 1_970_176),
        (SE_RRM.model_copy(update=ARC), 12, 1_967_104),
        (SE_RRM.model_copy(update=MAZE), 6, 1_976_832),
        (HRM, 11, 27_275_266),
        (HRM, 12, 27_276_290),
        (HRM, 6, 27_270_146),
        (TRM, 11, 6_828_034),
        (TRM, 12, 6_829_058),
        (TRM, 6, 6_822_914),
    ],
)  # Sudoku, ARC-AGI, mazes
def test_models_have_the_published_size(settings: ModelSettings, num_symbols: int, expected: int) -> None:
    with torch.device("meta"):
        model = settings.build(ModelSizes(num_symbols, num_task_types=1001), None)
    assert num_parameters(model) == expected
    table = 0 if model.task_types is None else 1001 * settings.width
    assert num_parameters(model, with_task_types=True) == expected + table
