"""Scores of a checkpoint: right for models whose answers are known, and all that an evaluation holds."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from serrm.arrays.stream import Examples, PuzzleArrays, open_arrays
from serrm.core.execution import Execution
from serrm.core.files import hash_file
from serrm.drawing.examples import read_examples
from serrm.inference.evaluate import evaluate, score_set
from serrm.inference.predict import LoadedModel, Predicted, Predictor, load_model
from serrm.inference.predictions import Predictions, rows_of
from serrm.kernels.cpu.build import has_kernels
from serrm.puzzles.tasks import grid_task
from serrm.scoring.metrics import RATE
from serrm.scoring.predictions import PREDICTIONS
from serrm.scoring.schema import ScoredSet
from serrm.training.checkpoint import read_config
from tests.conftest import Q_LEARNING, SHALLOW, TRM, MakePath, run_settings, scoring
from tests.drawn import CPU
from tests.oracle import make_oracle
from tests.torchrun import torchrun

CPU_ONLY = Execution(device="cpu", threads=1)
RATES = {"fsr", "fsr_lo", "fsr_hi", "gpa", "gpa_effective", "gpa_guess"}


@pytest.fixture(scope="module")
def arrays(make_arrays: MakePath) -> Path:
    return make_arrays(side=4, tests=(4, 9))


@pytest.fixture(scope="module")
def checkpoint(trained: MakePath) -> Path:
    return trained(model=SHALLOW)


def score(loaded: LoadedModel, puzzles: PuzzleArrays, batch_size: int = 2) -> ScoredSet:
    return score_set(Predictor(loaded, batch_size), puzzles, (1, 2, 16))


@pytest.mark.parametrize("num_wrong", [0, 1, 3, 5])
def test_right_answers_are_counted(checkpoint: Path, arrays: Path, num_wrong: int) -> None:
    """Of a model that knows all puzzles but the first ones, where it writes one digit everywhere."""
    puzzles, loaded = open_arrays(arrays, "9x9"), load_model(checkpoint, CPU)
    unknown = {row.tobytes() for row in puzzles.questions[:num_wrong]}
    is_unknown = lambda question, _: 99 if question.astype(np.uint8).tobytes() in unknown else 1  # noqa: E731
    make_oracle(loaded.model, is_unknown)
    result, is_blank = score(loaded, puzzles), puzzles.questions == 1
    is_right = is_blank & (puzzles.answers == 2)
    num_blank = int(is_blank.sum())
    num_right = num_blank - int(is_blank[:num_wrong].sum()) + int(is_right[:num_wrong].sum())
    assert (result.num_puzzles, result.num_blank, result.headline_steps) == (5, num_blank, 16)
    expected = RATE.scores("fsr", {"total": 5 - num_wrong, "num": 5}) | {"gpa": num_right / num_blank}
    for scores in result.steps.values():
        assert expected.items() <= scores.items()
    assert result.outcomes.tolist() == [0] * num_wrong + [1] * (5 - num_wrong), "puzzle by puzzle"
    assert result.solved_after_most is None, "the headline has the most steps"
    same, other = puzzles.first(5), puzzles.first(4)
    assert score(loaded, same).puzzles_digest == result.puzzles_digest != score(loaded, other).puzzles_digest


def test_the_metric_file_is_complete_with_a_point_per_snapshot(checkpoint: Path, arrays: Path) -> None:
    result = evaluate(checkpoint, arrays, scoring(curve_puzzles=5), CPU_ONLY)[0]
    config = read_config(checkpoint)
    assert result.training.weights_sha256 == hash_file(checkpoint / "model.safetensors")
    assert (result.training.steps, result.training.flops) == (6, config.training.flops)
    assert (result.data.train_puzzles, result.data.side, result.data.hash) == (8, 4, config.data_hash)
    assert list(result.scored) == ["4x4", "9x9"]
    for part in result.scored.values():
        assert part.num_puzzles == 5 and list(part.steps) == [1, 2, 16]
        assert all(scores.keys() == RATES for scores in part.steps.values())
        assert part.outcomes.mean() == part.steps[16]["fsr"]
    curve = result.learning_curve
    assert [point.step for point in curve] == [4, 6]
    assert curve[-1].samples == result.training.samples
    assert curve[-1].loss == result.training.final_loss
    # The last snapshot is the checkpoint, and 16 steps are the headline.
    assert curve[-1].scores == result.scored["4x4"].steps[16]


PROGRAM = """
import os, pickle, sys
from pathlib import Path
from serrm.inference.evaluate import evaluate
from serrm.inference.settings import ScoringSettings
from serrm.core.execution import Execution

checkpoint, arrays, settings, result = sys.argv[1:]
settings = ScoringSettings.model_validate_json(settings)
found = evaluate(Path(checkpoint), Path(arrays), settings, Execution(device="cpu", threads=2))
if os.environ["RANK"] == "0":
    Path(result).write_bytes(pickle.dumps(found))
"""


def test_two_processes_find_what_one_finds(checkpoint: Path, arrays: Path, tmp_path: Path) -> None:
    test_time_compute = {"num_puzzles": 4, "max_steps": [1, 2], "attempt_steps": 2, "attempts": [1, 2]}
    settings = scoring(test_time_compute=test_time_compute, equivariance_pairs=2)
    one, seen = evaluate(checkpoint, arrays, settings, Execution(device="cpu", threads=1))
    program, result = tmp_path / "program.py", tmp_path / "result"
    program.write_text(PROGRAM)
    done = torchrun(2, str(program), str(checkpoint), str(arrays), settings.model_dump_json(), str(result))
    assert done.returncode == 0, done.stderr
    two, shared = pickle.loads(result.read_bytes())
    assert one == two
    assert one.first_verified and one.attempts and one.equivariance and one.learning_curve
    # Batches of two: the second process has seen the third puzzle.
    seen.write(tmp_path / "one")
    shared.write(tmp_path / "two")
    assert hash_file(tmp_path / "one" / PREDICTIONS) == hash_file(tmp_path / "two" / PREDICTIONS)


@pytest.mark.skipif(not has_kernels(torch.bfloat16), reason="this machine has no native kernels")
def test_native_kernels_score_as_pytorch_and_only_where_they_may(trained: MakePath, arrays: Path) -> None:
    checkpoint = trained(model={**SHALLOW, "head_dim": 32, "symbol_head_dim": 32, "expansion": 2.0})
    settings = scoring(steps=(1, 2), precision="bfloat16", curve_puzzles=0)
    runs = [CPU_ONLY.model_copy(update={"native": is_native}) for is_native in (True, False)]
    native, plain = (evaluate(checkpoint, arrays, settings, execution)[0] for execution in runs)
    assert "native" in str(native.arithmetic) and "native" not in str(plain.arithmetic)
    gpas = [[scores["gpa"] for scores in run.scored["9x9"].steps.values()] for run in (native, plain)]
    assert gpas[0] == pytest.approx(gpas[1], abs=0.05) and min(gpas[1]) > 0


@pytest.mark.parametrize("fastest", ["float32", "bfloat16"])
def test_precision_auto_is_the_faster_one(
    checkpoint: Path, arrays: Path, monkeypatch: pytest.MonkeyPatch, fastest: str
) -> None:
    monkeypatch.setattr("serrm.kernels.precision.faster_precision", lambda: fastest)
    monkeypatch.setattr("serrm.kernels.precision.has_fast_bfloat16", lambda device: True)
    choices = [scoring(steps=(1,), precision=precision) for precision in ("auto", fastest)]
    scores, expected = (evaluate(checkpoint, arrays, settings, CPU_ONLY)[0] for settings in choices)
    assert scores == expected


def test_predictions_of_puzzles_add_up_to_the_scores(trained: MakePath, arrays: Path, tmp_path: Path) -> None:
    """Of a model with a trained Q head, after every step of every set, and as pictures."""
    checkpoint = trained(model=TRM, train=Q_LEARNING)
    scores, predictions = evaluate(checkpoint, arrays, scoring(), CPU_ONLY)
    predictions.write(tmp_path / "run")
    rows = pd.read_parquet(tmp_path / "run" / PREDICTIONS)
    for name, part in scores.scored.items():
        for steps, values in part.steps.items():
            after = rows[(rows.set == name) & (rows.steps == steps)]
            assert len(after) == part.num_puzzles and after.solved.mean() == values["fsr"]
            assert after.right.sum() / after.blank.sum() == values["gpa"]
            assert after.confidence.between(0, 1).all() and after.halting.between(0, 1).all()
    examples = read_examples(tmp_path / "run" / PREDICTIONS)
    assert [example.is_right for example in examples] == rows[rows.steps == 16].solved.tolist()


def test_an_answer_with_symbols_of_larger_grids_is_drawn_without_them() -> None:
    answer = np.array([2, 3, 4, 5, 4, 5, 2, 3, 3, 2, 5, 4, 5, 4, 3, 2], dtype=np.uint8)
    larger = np.where(np.arange(16) == 3, 8, answer).astype(np.uint8)
    batch = Examples(np.ones((1, 16), np.uint8), answer[None], np.zeros(1, dtype=np.int64))
    predicted = Predicted(0, batch, 1, torch.zeros(1, 16, 6), None, larger[None])
    rows = rows_of(predicted, grid_task("sudoku"), 4, run_settings())
    assert rows.prediction[0, 3] == 0 and not rows.solved[0] and (rows.right[0], rows.blank[0]) == (15, 16)


def test_more_steps_may_be_scored_on_the_first_puzzles_alone(
    checkpoint: Path, arrays: Path, tmp_path: Path
) -> None:
    puzzles, loaded = open_arrays(arrays, "9x9"), load_model(checkpoint, CPU)
    make_oracle(loaded.model, lambda question, _: 1 + 2 * (int(question.sum()) % 2))
    predictor, predictions = Predictor(loaded, 2), Predictions("sudoku")
    whole = score_set(predictor, puzzles, (1, 2, 4), 2)
    part = score_set(predictor, puzzles, (1, 2, 4), 2, {4: 3}, predictions=predictions)
    first = score_set(predictor, puzzles.first(3), (1, 2, 4), 2)
    assert (part.num_puzzles, part.num_at(2), part.num_at(4)) == (5, 5, 3)
    assert {step: part.steps[step] for step in (1, 2)} == {step: whole.steps[step] for step in (1, 2)}
    assert part.steps[4] == first.steps[4]
    assert part.solved == whole.solved and part.outcomes_after(4) is None
    solved_after = {step: whole.outcomes_after(step) for step in (1, 2, 4)}
    is_hard = puzzles.questions.sum(axis=1) % 2
    assert solved_after[1] is None and solved_after[2].tolist() == (1 - is_hard).tolist()
    assert solved_after[4].tolist() == [1] * 5, "kept after the headline and the most steps"
    predictions.write(tmp_path / "run")
    rows = pd.read_parquet(tmp_path / "run" / PREDICTIONS)
    assert rows.groupby("steps").size().to_dict() == {1: 5, 2: 5, 4: 3}
    examples = [read_examples(tmp_path / "run" / PREDICTIONS, number=number)[0] for number in (3, 4)]
    assert [len(example.puzzle.predictions) for example in examples] == [3, 2]
    evaluation = scoring(steps=(1, 2, 4), num_puzzles_after={4: 3}, headline_steps=2).evaluate
    assert evaluation.puzzle_steps(5) == 2 * 5 + 2 * 3


@pytest.mark.parametrize("nums", [{8: 3}, {1: 3}, {2: 3, 4: 5}])
def test_numbers_of_puzzles_belong_to_steps_after_the_headline_and_fall(nums: dict[int, int]) -> None:
    with pytest.raises(ValueError, match="num_puzzles_after"):
        scoring(steps=(1, 2, 4), headline_steps=1, num_puzzles_after=nums)
