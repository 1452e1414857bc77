"""The closed formulas agree with models that are built, and with what a step of theirs keeps."""

import pytest
import torch
from torch import Tensor

from serrm.arrays.stream import random_stream
from serrm.models.recurrence import num_parameters
from serrm.models.registry import build_model
from serrm.models.settings import ModelSettings
from serrm.models.sizes import Manner, kept_bytes, num_state_numbers, num_task_numbers, num_weights
from serrm.training.estimate import sample_of
from serrm.training.loop import Trainer
from tests.drawn import seeded
from tests.models.test_flops import MODELS, NUM_SYMBOLS, SIDE, recipe

DROPOUT = {
    f"{name}_dropout": MODELS[name].model_copy(update={"attention_dropout": 0.2})
    for name in ("trm", "se_rrm")
}


@pytest.mark.parametrize("name", MODELS)
def test_numbers_are_those_of_the_model(name: str) -> None:
    settings = MODELS[name]
    model = build_model(settings, NUM_SYMBOLS, num_positions=SIDE**2, num_task_types=5)
    assert num_weights(settings, SIDE**2, NUM_SYMBOLS) == num_parameters(model)
    rows = num_parameters(model, has_task_types=True) - num_parameters(model)
    assert num_task_numbers(settings, 5, NUM_SYMBOLS) == rows
    state = model.initial_state(1, SIDE**2, NUM_SYMBOLS)
    assert num_state_numbers(settings, SIDE**2, NUM_SYMBOLS) == sum(part.numel() for part in state)


def saved_bytes(trainer: Trainer, num: int) -> int:
    """Bytes that a supervision step of `num` puzzles keeps for its backward pass, weights in other types included."""
    sizes: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        trainer.work_on(sample_of(trainer, num))
    return sum(sizes.values())


def really_kept(settings: ModelSettings, side: int, precision: str) -> int:
    model = build_model(settings, NUM_SYMBOLS, seeded(0), num_positions=side**2)
    train = recipe(batch_size=2, precision=precision)
    trainer = Trainer(model, random_stream(side, NUM_SYMBOLS), train, seed=0)
    model.train()
    return saved_bytes(trainer, 2) - saved_bytes(trainer, 1)


@pytest.mark.parametrize(
    ("name", "side", "precision"),
    [
        *((name, SIDE, "float32") for name in [*MODELS, *DROPOUT]),
        *((name, SIDE, "bfloat16") for name in ("se_rrm", "trm")),
        *((name, 9, "float32") for name in ("se_rrm", "trm")),  # attention over positions keeps no scores
    ],
)
def test_what_a_step_keeps_is_about_what_the_formulas_say(name: str, side: int, precision: str) -> None:
    settings = (MODELS | DROPOUT)[name]
    expected = kept_bytes(settings, side**2, NUM_SYMBOLS, Manner(4 if precision == "float32" else 2))
    assert expected == pytest.approx(really_kept(settings, side, precision), rel=0.15)
