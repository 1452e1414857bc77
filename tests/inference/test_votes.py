"""ARC scores of models whose answers are known: pass@k of the scored puzzles, by each kind of task type."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from serrm.arrays.arc import ArcEvaluation, open_arc_evaluation
from serrm.core.processes import Processes
from serrm.inference.equivariance import equivariance, symmetric_questions
from serrm.inference.predict import LoadedModel, Predictor
from serrm.inference.predictions import Predictions
from serrm.inference.votes import arc_questions, count_votes, score_arc
from serrm.models.recurrence import RecurrentModel, StepOutput
from serrm.models.settings import ModelSizes
from serrm.puzzles.arc.grids import Collection, Pair, PairName, RuleFacts
from serrm.scoring.schema import ScoredSet
from tests.conftest import config_of, run_settings, scoring
from tests.drawn import seeded
from tests.references import write_arc_arrays

SIDE, NUM_VARIANTS = 4, 8


def knowing(inputs: ArcEvaluation, known: Sequence[int], depth: int) -> RecurrentModel:
    """A model that answers the test inputs numbered `known`, by their own task types, from `depth` steps on.

    It answers padding else.
    """
    model = run_settings(model={"task_types": "factored"}).model.build(ModelSizes(12), None)
    model.task_types = torch.arange(inputs.num_task_types).float()[:, None]
    batch = inputs.gather(0, inputs.num_examples)
    asked = zip(batch.task_types, batch.questions, batch.answers, strict=True)
    answers = {
        (int(row), question.tobytes()): torch.from_numpy(answer.astype(np.int64))
        for number, (row, question, answer) in enumerate(asked)
        if number // inputs.num_votes in known
    }

    def forward(state: tuple[Tensor, ...], tokens: Tensor, task_vectors: Tensor) -> StepOutput:
        symbols = torch.zeros_like(tokens)
        if int(state[0][0]) + 1 >= depth:
            for row, (vector, question) in enumerate(zip(task_vectors, tokens.numpy(), strict=True)):
                symbols[row] = answers.get((int(vector), question.astype(np.uint8).tobytes()), symbols[row])
        return StepOutput((state[0] + 1,), torch.nn.functional.one_hot(symbols, 12).float(), None)

    model.initial_state = lambda num, *_, **__: (torch.zeros(num),)
    model.forward = forward
    return model


def make_arrays(folder: Path, rules: Mapping[str, RuleFacts] | None = None) -> Path:
    rng = np.random.default_rng(0)

    def draw_pair() -> Pair:
        return Pair(*(rng.integers(0, 10, rng.integers(1, SIDE + 1, 2), dtype=np.uint8) for _ in range(2)))

    puzzles: list[tuple[str, Collection, int, int]] = [
        ("a", "training", 3, 1),
        ("b", "evaluation", 3, 2),
        ("c", "evaluation", 2, 1),
    ]
    named = {
        PairName(puzzle, collection, role, number): draw_pair()
        for puzzle, collection, *nums in puzzles
        for role, num in zip(("demonstration", "test"), nums, strict=True)
        for number in range(num)
    }
    return write_arc_arrays(folder, named, SIDE, NUM_VARIANTS, rules)


@pytest.fixture(scope="module")
def arrays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_arrays(tmp_path_factory.mktemp("sets") / "evaluation")


@pytest.fixture
def loaded(arrays: Path) -> LoadedModel:
    """Knows the first of three test inputs, one of the two of its puzzle, from two steps on."""
    model = knowing(open_arc_evaluation(arrays, NUM_VARIANTS), known=[0], depth=2)
    settings = run_settings(data_set="arc_agi_1", arrays={"num_augmentations": NUM_VARIANTS - 1})
    return LoadedModel(model, config_of(settings, side=SIDE))


def scores_of(loaded: LoadedModel, arrays: Path) -> dict[str, ScoredSet]:
    settings = scoring("arc_agi_1", steps=(1, 2, 4), task_types=("right", "blank"))
    sets = score_arc(Predictor(loaded, 2), arrays, settings, Predictions("arc_agi_1"))
    return {name: part for name, part in sets.items() if isinstance(part, ScoredSet)}


def test_a_puzzle_counts_by_its_test_inputs_with_its_task_type(loaded: LoadedModel, arrays: Path) -> None:
    sets = scores_of(loaded, arrays)
    assert list(sets) == ["evaluation", "evaluation, blank task type"]
    found = sets["evaluation"]
    assert (found.num_puzzles, found.num_test_inputs, found.num_votes) == (2, 3, NUM_VARIANTS)
    assert [scores["pass_at_1"] for scores in found.steps.values()] == [0, 0.25, 0.25]
    assert found.credits == (0.5, 0.0) and found.has_own_task_types
    assert sets["evaluation, blank task type"].steps[4]["pass_at_1"] == 0
    assert sets["evaluation, blank task type"].task_type_row == "blank"
    first = arc_questions(loaded, arrays, 1)
    assert count_votes(Predictor(loaded, 2), first, (4,))[4].scores()["pass_at_1"] == 1


def test_puzzles_of_one_rule_are_one_unit(tmp_path: Path, loaded: LoadedModel, arrays: Path) -> None:
    rules = {name: RuleFacts("turn", "f00d", num_parts) for name, num_parts in (("b", 1), ("c", 2))}
    one_rule = make_arrays(tmp_path / "rules", rules)
    before, after = (scores_of(loaded, folder)["evaluation"] for folder in (arrays, one_rule))
    assert after.credits == before.credits == (0.5, 0.0) and before.groups is None
    assert after.groups is not None and set(after.groups) == {"family", "parts"}
    turns = after.groups["family"]["turn"]
    assert (turns.num_puzzles, turns.num_units, turns.num_solved) == (2, 1, 0.5)
    assert {name: part.num_solved for name, part in after.groups["parts"].items()} == {
        "one part": 0.5,
        "two parts": 0.0,
    }
    assert after.steps[4]["pass_at_2"] == before.steps[4]["pass_at_2"]
    assert after.steps[4]["pass_at_2_lo"] < before.steps[4]["pass_at_2_lo"]
    assert after.steps[4]["pass_at_2_hi"] > before.steps[4]["pass_at_2_hi"]


def test_recoloured_test_inputs_have_recoloured_answers(loaded: LoadedModel, arrays: Path) -> None:
    """By SE-RRM, though its task types tell of colours: what is read off counts, untransformed inputs are asked."""
    settings = run_settings(model={"task_types": "factored", "layers": 1, "h_cycles": 1}).model
    num = open_arc_evaluation(arrays, NUM_VARIANTS).num_task_types
    model = settings.build(ModelSizes(12, num_task_types=num), seeded(0)).eval()
    torch.nn.init.normal_(model.task_types, generator=seeded(1))
    loaded = replace(loaded, model=model)
    asked = symmetric_questions(loaded, arrays)
    found = equivariance(Predictor(loaded, 2), asked, num=9, seed=0)
    assert (found.num_pairs, found.num_identical) == (3, 3)
    example = found.example
    inputs = open_arc_evaluation(arrays, NUM_VARIANTS)
    assert example.question == tuple(inputs.gather(0, 1).questions[0].tolist())
    assert example.permutation[:2] == (0, 1) and sorted(example.permutation) == list(range(12))


def test_two_processes_count_every_vote_once(
    loaded: LoadedModel, arrays: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Processes, "collect", lambda self, value: [value])
    whole = Predictor(loaded, batch_size=1)  # which are 4 of these, of 24
    inputs, steps = arc_questions(loaded, arrays), (1, 4)
    halves = [replace(whole, processes=Processes(rank, 2)) for rank in (0, 1)]
    expected, first, second = (count_votes(part, inputs, steps) for part in (whole, *halves))
    for step, tally in first.items():
        assert tally.pools != expected[step].pools
        tally.include(second[step])
        assert tally.pools == expected[step].pools
