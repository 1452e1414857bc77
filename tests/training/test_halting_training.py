"""Training with every halting rule: puzzles are learned by heart, and the halt head learns when they are."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from serrm.arrays.stream import Examples
from serrm.models.halting import CONTINUE, HALT
from serrm.models.settings import QLearning
from serrm.training.loop import Trainer
from tests import conftest

pytestmark = pytest.mark.numeric

MakeTrainer = Callable[..., Trainer]
RANDOM = {"kind": "random", "probability": 0.05}
Q_LEARNING = {"kind": "q_learning", "exploration": 0.1, "bootstrap": False}
BOOTSTRAPPED = {**Q_LEARNING, "bootstrap": True}

# More than the eight puzzles would be another task.
AS_THEY_ARE = {"num_augmentations": 0}
SE_RRM = {"h_cycles": 1, "planes": "usual"}
TRM = {**conftest.TRM, "width": 32, "h_cycles": 1, "l_cycles": 2, "attention_dropout": 0.0}
TRM_MLP = {**TRM, "mixer": "mlp"}
HRM = {key: value for key, value in TRM.items() if key != "mixer"} | {"family": "hrm"}


@pytest.mark.parametrize(
    ("model", "halting", "learning_rate", "num_steps"),
    [
        pytest.param(SE_RRM, RANDOM, 5e-3, 150, id="se_rrm random"),
        pytest.param(TRM, Q_LEARNING, 5e-3, 400, id="trm q_learning"),
        pytest.param(TRM_MLP, RANDOM, 5e-3, 80, id="trm_mlp random"),
        pytest.param(HRM, BOOTSTRAPPED, 4e-3, 320, id="hrm q_learning"),
    ],
)
def test_eight_puzzles_are_learned_by_heart(
    make_trainer: MakeTrainer,
    model: dict[str, Any],
    halting: dict[str, Any],
    learning_rate: float,
    num_steps: int,
) -> None:
    recipe = {
        "batch_size": 8,
        "steps": num_steps,
        "learning_rate": learning_rate,
        "schedule": "cosine",
        "warmup_steps": 10,
        "weight_decay": 0.0,
        "ema": 0.8,
        "halting": halting,
        "task_types": {"learning_rate": 0.01, "weight_decay": 0.1},
    }
    trainer = make_trainer(seed=1, model=model, train=recipe, arrays=AS_THEY_ARE)
    list(trainer.steps())
    trainer.model.load_state_dict(trainer.averaged_weights())
    questions, answers, _ = trainer.stream.gather(0, trainer.stream.num_examples)
    assert torch.equal(
        final_answers(trainer, torch.from_numpy(questions).long()), torch.from_numpy(answers).long()
    )


@torch.no_grad()
def final_answers(trainer: Trainer, tokens: Tensor) -> Tensor:
    """What the model says of each question when its own head halts, or without one after the last step.

    Q-learning hardly trains the steps after a puzzle is solved.
    """
    model, num, settings = trainer.model.eval(), len(tokens), trainer.settings.halting
    state, task_vectors = model.initial_state(num, 16, 6), model.task_vectors(torch.zeros(num).long())
    answers, is_done = tokens, torch.zeros(num, dtype=torch.bool)
    for _ in range(trainer.settings.max_supervision_steps):
        state, logits, halting = model(state, tokens, task_vectors)
        answers = torch.where(is_done[:, None], answers, logits.argmax(-1))
        if isinstance(settings, QLearning) and halting is not None:
            is_done |= halting[:, HALT] > (halting[:, CONTINUE] if settings.bootstrap else 0)
    return answers


@pytest.mark.parametrize(("model", "halting"), [(TRM, RANDOM), (HRM, BOOTSTRAPPED)])
def test_training_moves_the_rows_of_the_batch(
    make_trainer: MakeTrainer, model: dict[str, Any], halting: dict[str, Any]
) -> None:
    rule = {"learning_rate": 0.01, "weight_decay": 0.0}
    recipe = {"halting": halting, "task_types": rule, "warmup_steps": 0, "steps": 3}
    trainer = make_trainer(num_task_types=4, model=model, train=recipe, arrays=AS_THEY_ARE)
    table = trainer.model.task_types
    assert table is not None and not table.any()
    gather = trainer.stream.gather

    def gather_of_some_types(start: int, num: int) -> Examples:
        return gather(start, num)._replace(task_types=np.array([2, 0, 2, 2])[:num])

    trainer.stream = replace(trainer.stream, gather=gather_of_some_types)
    next(trainer.steps())
    moved = table.abs()
    torch.testing.assert_close(moved[[0, 2]], torch.full((2, 32), 0.01))
    assert not moved[[1, 3]].any()
    list(trainer.steps())
    assert (table[[0, 2]].abs() <= 0.03 + 1e-6).all() and not table[[1, 3]].any()
    assert not any(parameter is table for parameter in trainer.parameters)
    assert torch.equal(trainer.averaged_weights()["task_types"], table), "the table is outside the average"
