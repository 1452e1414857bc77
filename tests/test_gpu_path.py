"""The path of a GPU, tried without one: device `meta` has no numbers, so mixing it with the host is an error there too.

A copy to the host, for which a GPU has to be waited for, is counted and gives zeros.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from serrm.arrays.arc import open_arc_evaluation
from serrm.arrays.stream import Examples, Stream, random_stream
from serrm.config import Params, read_params
from serrm.inference import predict
from serrm.inference.search import Limits, Search, search
from serrm.inference.votes import count_votes
from serrm.models.recurrence import RecurrentModel
from serrm.models.settings import ModelSizes
from serrm.puzzles.tasks import TASKS, alphabet
from serrm.scoring.schema import TaskTypeRow
from serrm.training.loop import Trainer
from serrm.training.settings import RunSettings
from tests.conftest import config_of
from tests.inference.test_votes import NUM_VARIANTS, make_arrays

ROOT = Path(__file__).resolve().parents[1]
META, SIDE, NUM_TASK_TYPES = torch.device("meta"), 6, 5


class HostCopies(TorchDispatchMode):
    """Every copy from device meta to the host gives zeros and counts."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.num = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        is_copy = func is torch.ops.aten._to_copy.default and kwargs.get("device") == torch.device("cpu")
        if is_copy and args[0].device == META:
            self.num += 1
            return torch.zeros(args[0].shape, dtype=kwargs.get("dtype") or args[0].dtype)
        return func(*args, **kwargs)


@pytest.fixture
def copies() -> Iterator[HostCopies]:
    """Device meta as a GPU would be, with its copies counted."""
    with HostCopies() as mode:
        yield mode


@cache
def profile(name: str) -> Params:
    return read_params(ROOT / "profiles" / f"{name}.yaml")


def runs_of(name: str) -> list[Any]:
    """The runs of a profile with seed 0; of profile paper all but the main models on Sudoku are slow tests."""
    runs = [run for run in profile(name).runs if run.endswith("-s0")]
    fast = runs if name == "laptop" else [f"sudoku-{model}-s0" for model in ("hrm", "trm", "se_rrm")]
    return [pytest.param(name, run, marks=() if run in fast else pytest.mark.slow) for run in runs]


def stream_of(run: RunSettings) -> Stream:
    """Random puzzles of the run's task on small grids, of several task types."""
    stream = random_stream(SIDE, alphabet(run.task, SIDE).num_symbols)

    def gather(start: int, num: int) -> Examples:
        types = np.arange(start, start + num, dtype=np.int64) % NUM_TASK_TYPES
        return stream.gather(start, num)._replace(task_types=types)

    return replace(stream, gather=gather, num_task_types=NUM_TASK_TYPES)


def model_of(run: RunSettings, stream: Stream) -> RecurrentModel:
    with META:
        return run.model.build(
            ModelSizes(stream.num_symbols, num_positions=SIDE**2, num_task_types=NUM_TASK_TYPES), None
        )


def trainer_of(run: RunSettings) -> Trainer:
    stream, few = stream_of(run), {"batch_size": 4, "steps": 50, "log_every": 50, "max_supervision_steps": 2}
    # Half precision as on a GPU.
    settings = run.train.model_copy(update={**few, "epochs": None, "precision": "bfloat16"})
    return Trainer(model_of(run, stream), stream, settings, run.seed, run.fidelity, micro_batch=3)


@pytest.mark.parametrize(("of", "name"), [*runs_of("laptop"), *runs_of("paper")])
def test_training_steps_stay_on_the_device(of: str, name: str, copies: HostCopies) -> None:
    """Refills, pieces of a batch, loss, optimiser, task types, EMA: with random halting nothing waits for a GPU."""
    run = profile(of).run_settings(name)
    trainer = trainer_of(run)
    steps = trainer.steps()
    for _ in range(3):
        next(steps)
    waits = run.train.halting.kind == "q_learning" or run.train.halting.probability_solved > 0
    assert copies.num == (3 if waits else 0)  # the halting logits, or which puzzles are solved, once per step
    assert trainer.slots.num_drawn > trainer.settings.batch_size  # slots were refilled
    assert all(part.device == META for part in (*trainer.ema, *trainer.slots.state))


@pytest.mark.parametrize(("of", "name"), runs_of("paper"))
def test_predictions_copy_only_the_answers(of: str, name: str, copies: HostCopies) -> None:
    run = profile(of).run_settings(name)
    stream = stream_of(run)
    model = model_of(run, stream).eval()
    predictor = predict.Predictor(predict.LoadedModel(model, config_of(run)), 2)
    found = list(predictor.batches(replace(stream, num_examples=5), (1, 2), "test"))
    assert copies.num == len(found) > 1
    assert {each.predictions.shape[1] for each in found} == {SIDE**2}


def test_a_search_copies_answers_and_probabilities(copies: HostCopies) -> None:
    """Zeros are no answer, so every attempt with guesses is made."""
    run, side = profile("laptop").run_settings("sudoku-se_rrm-s0"), 4
    task, num_symbols = TASKS["sudoku"], alphabet("sudoku", side).num_symbols
    model = model_of(run, stream_of(run)).eval()
    questions = np.full((3, side**2), task.blank, dtype=np.uint8)
    puzzles = [Search(number, question) for number, question in enumerate(questions)]
    done = list(
        search(
            model, puzzles, num_symbols, task, Limits(3, more_attempts=2), batch_size=2, loss=run.train.loss
        )
    )
    assert sorted((each.key, each.attempts, each.is_verified) for each in done) == [
        (number, 3, False) for number in range(3)
    ]
    assert copies.num > 0


def test_votes_are_counted_from_copied_answers(tmp_path: Path, copies: HostCopies) -> None:
    questions = open_arc_evaluation(make_arrays(tmp_path / "evaluation"), NUM_VARIANTS)
    run = profile("paper").run_settings("arc_agi_1-se_rrm-s0")
    with META:
        model = run.model.build(
            ModelSizes(questions.num_symbols, num_task_types=questions.num_task_types), None
        )
    predictor = predict.Predictor(predict.LoadedModel(model.eval(), config_of(run)), 64)
    for task_type in get_args(TaskTypeRow):
        tallies = count_votes(predictor, questions, (1,), task_type=task_type)
        assert tallies[1].scores()["pass_at_1"] == 0
        assert copies.num > 0
        copies.num = 0
