"""Training with every halting rule: the halt head learns when a puzzle is solved, and puzzles are learned by heart."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from serrm.arrays.puzzles import PuzzleArrays, open_arrays
from serrm.arrays.stream import Examples, ExampleStream
from serrm.config import TrainCell
from serrm.models.halting import CONTINUE, HALT, halts
from serrm.models.recurrence import InputEmbedding, Network, RecurrentModel, Schedule, StepOutput, Update
from serrm.models.registry import build_model
from serrm.models.settings import QLearning
from serrm.training.loop import Trainer

pytestmark = pytest.mark.numeric

MakeTrainer = Callable[..., Trainer]
MOST = 6  # supervision steps at most
NUM_TOKENS = 6
RANDOM = {"kind": "random", "probability": 0.05}
Q_LEARNING = {"kind": "q_learning", "exploration": 0.1, "bootstrap": False}
BOOTSTRAPPED = {**Q_LEARNING, "bootstrap": True}


# --- A task of which it is known after how many steps each puzzle is solved


class Count(InputEmbedding):
    """For states `B 1 2`: adds a step to the first feature."""

    def state_shape(self, num_puzzles: int, num_positions: int, num_symbols: int) -> tuple[int, ...]:
        return num_puzzles, 1, 2

    def forward(self, state: Tensor, tokens: Tensor, task_vectors: Tensor | None) -> tuple[Tensor, None]:
        solved_at = tokens[:, 0] - 1.0
        return torch.stack([torch.ones_like(solved_at), solved_at - state[:, 0, 1]], -1)[:, None], None


class Add(Network):
    """state + injection."""

    def __init__(self) -> None:
        super().__init__([])

    def forward(self, x: Tensor, injection: Tensor, rotation: Any) -> Tensor:
        return x + injection


class Head(nn.Module):
    """(halt, continue) of a state by a learned linear map; no logits, those `Clock` gives."""

    def __init__(self) -> None:
        super().__init__()
        self.halt_weight = nn.Parameter(torch.zeros(2, 2))
        self.halt_bias = nn.Parameter(torch.full((2,), -5.0))

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        halting = nn.functional.linear(state[:, 0] / MOST, self.halt_weight, self.halt_bias)
        return state, halting


class Clock(RecurrentModel):
    """Its state is (steps taken, s); its answer is the question, from step s on, and wrong before.

    s is the first cell: token 2 says that the puzzle is solved at step 1, token 5 at step 4.
    """

    def __init__(self) -> None:
        update = Update("add", target=0)
        super().__init__(
            embedding=Count(),
            networks={"add": Add()},
            schedule=Schedule((update,), 1),
            readout=Head(),
            width=2,
            num_states=1,
        )
        self.initial.zero_()

    def forward(
        self, state: tuple[Tensor, ...], tokens: Tensor, task_vectors: Tensor | None = None
    ) -> StepOutput:
        new, counted, halting = super().forward(state, tokens, task_vectors)
        is_solved = counted[:, 0, 0] >= counted[:, 0, 1]
        wrong = torch.where(tokens == 2, 3, 2)
        answers = torch.where(is_solved[:, None], tokens, wrong)
        return StepOutput(new, nn.functional.one_hot(answers, NUM_TOKENS).float(), halting)


def clock_puzzles() -> PuzzleArrays:
    """Full 4×4 grids whose first cell takes all values, so that they are solved at steps 1 to 4."""
    grids = np.random.default_rng(0).integers(2, NUM_TOKENS, (32, 16), dtype=np.uint8)
    grids[:, 0] = 2 + np.arange(32) % 4
    return PuzzleArrays("train", 4, grids, grids)


def trained_clock(make_cell: Callable[..., TrainCell], halting: dict[str, Any]) -> Trainer:
    recipe = {
        "batch_size": 16,
        "steps": 300,
        "max_supervision_steps": MOST,
        "halting": {**halting, "exploration": 0.5},
        "learning_rate": 0.2,
        "weight_decay": 0.0,
    }
    cell = make_cell(train=recipe)
    trainer = Trainer(Clock(), ExampleStream(clock_puzzles(), 0, 0), cell.train, 0, cell.fidelity)
    trainer.run(lambda record: None, lambda: False)
    return trainer


@pytest.mark.parametrize("halting", [Q_LEARNING, BOOTSTRAPPED], ids=["trm", "hrm"])
def test_the_halt_head_learns_when_a_puzzle_is_solved(
    make_cell: Callable[..., TrainCell], halting: dict[str, Any]
) -> None:
    trainer = trained_clock(make_cell, halting)
    model, slots = trainer.model, trainer.slots
    assert isinstance(model, Clock)
    solved_at = torch.arange(1, 5)
    tokens = torch.full((4, 16), 3)
    tokens[:, 0] = 1 + solved_at
    state = model.initial_state(4, 16, NUM_TOKENS)
    settings = trainer.settings.halting.model_copy(update={"exploration": 0.0})
    halted_at = torch.zeros(4, dtype=torch.long)
    for step in range(1, MOST + 1):
        state, _, logits = model(state, tokens)
        assert logits is not None
        is_solved = step >= solved_at
        assert torch.equal(logits[:, HALT] > 0, is_solved)
        if halting["bootstrap"]:
            # Every puzzle is solved in the end, so before it is, going on promises more than halting.
            assert (logits[:, CONTINUE] > logits[:, HALT])[~is_solved].all()
        slots.num_steps = torch.full((4,), step)
        wants = halts(settings, logits.detach(), slots, 0, 0, MOST)
        halted_at = torch.where((halted_at == 0) & wants, step, halted_at)
    if not halting["bootstrap"]:
        assert torch.equal(halted_at, solved_at), "and the slot halts just then"


# --- Learning by heart

SEQUENCE: dict[str, Any] = {
    "width": 32,
    "layers": 1,
    "h_cycles": 1,
    "l_cycles": 2,
    "heads": 2,
    "expansion": 1.0,
    "positions": "rope",
    "prefix": 2,
    "attention_dropout": 0.0,
}
SE_RRM = {"h_cycles": 1, "planes": "usual"}
TRM = {**SEQUENCE, "family": "trm", "mixer": "attention"}
TRM_MLP = {**TRM, "mixer": "mlp"}
HRM = {**SEQUENCE, "family": "hrm"}


@pytest.fixture
def make_trainer(make_cell: Callable[..., TrainCell], make_arrays: Callable[..., Path]) -> MakeTrainer:
    """A trainer on eight 4×4 puzzles, of the cell that `make_cell` makes of the same keywords."""

    def make(num_task_types: int = 1, **changes: Any) -> Trainer:
        cell = make_cell(**changes)
        arrays = open_arrays(make_arrays(side=4), "train")
        generator = torch.Generator().manual_seed(cell.seed)
        model = build_model(cell.model, 6, generator, num_positions=16, num_task_types=num_task_types)
        return Trainer(model, ExampleStream(arrays, 0, 0), cell.train, cell.seed, cell.fidelity)

    return make


@pytest.mark.parametrize(
    ("model", "halting", "learning_rate", "num_steps"),
    [
        pytest.param(SE_RRM, RANDOM, 5e-3, 150, id="se_rrm random"),
        pytest.param(TRM, Q_LEARNING, 5e-3, 400, id="trm q_learning"),
        pytest.param(TRM, RANDOM, 5e-3, 300, id="trm random"),
        pytest.param(TRM_MLP, Q_LEARNING, 5e-3, 80, id="trm_mlp q_learning"),
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
    trainer = make_trainer(seed=1, model=model, train=recipe)
    trainer.run(lambda record: None, lambda: False)
    trainer.model.load_state_dict(trainer.averaged_weights())
    assert torch.equal(
        final_answers(trainer), torch.from_numpy(trainer.stream.arrays.answers.astype("int64"))
    )


@torch.no_grad()
def final_answers(trainer: Trainer) -> Tensor:
    """What the model says of each training puzzle when its own head halts, or without one after the last step.

    Q-learning hardly trains the steps after a puzzle is solved.
    """
    model, questions = trainer.model.eval(), trainer.stream.arrays.questions
    tokens = torch.from_numpy(questions.astype("int64"))
    num, settings = len(tokens), trainer.settings.halting
    state, task_vectors = model.initial_state(num, 16, 6), model.task_vectors(torch.zeros(num).long())
    answers, is_done = tokens, torch.zeros(num, dtype=torch.bool)
    for _ in range(trainer.settings.max_supervision_steps):
        state, logits, halting = model(state, tokens, task_vectors)
        answers = torch.where(is_done[:, None], answers, logits.argmax(-1))
        if isinstance(settings, QLearning) and halting is not None:
            is_done |= halting[:, HALT] > (halting[:, CONTINUE] if settings.bootstrap else 0)
    return answers


# --- Parts that do not fit, and the task types


class OfSomeTypes(ExampleStream):
    """A stream whose examples are of the task types 2 and 0."""

    def gather(self, start: int, num: int) -> Examples:
        return super().gather(start, num)._replace(task_types=np.array([2, 0, 2, 2])[:num])


def test_se_rrm_has_no_q_learning(make_trainer: MakeTrainer) -> None:
    for halting in (Q_LEARNING, BOOTSTRAPPED):
        with pytest.raises(
            ValueError, match=r"^halting: q_learning needs a model with a Q head, SE-RRM has none"
        ):
            make_trainer(train={"halting": halting})


@pytest.mark.parametrize(
    ("model", "halting"), [(TRM, Q_LEARNING), (TRM, RANDOM), (HRM, BOOTSTRAPPED), (TRM_MLP, Q_LEARNING)]
)
def test_training_moves_the_rows_of_the_batch(
    make_trainer: MakeTrainer, model: dict[str, Any], halting: dict[str, Any]
) -> None:
    rule = {"learning_rate": 0.01, "weight_decay": 0.0}
    recipe = {"halting": halting, "task_types": rule, "warmup_steps": 0, "steps": 3}
    trainer = make_trainer(num_task_types=4, model=model, train=recipe)
    table = trainer.model.task_types
    assert table is not None and not table.any()
    stream = trainer.stream
    assert isinstance(stream, ExampleStream)
    trainer.stream = OfSomeTypes(stream.arrays, stream.num_augmentations, stream.seed)
    trainer.run(lambda record: None, lambda: trainer.step == 1)
    moved = table.abs()
    torch.testing.assert_close(moved[[0, 2]], torch.full((2, 32), 0.01))
    assert not moved[[1, 3]].any()
    trainer.run(lambda record: None, lambda: False)
    assert (table[[0, 2]].abs() <= 0.03 + 1e-6).all() and not table[[1, 3]].any()
    assert not any(parameter is table for parameter in trainer.parameters)
