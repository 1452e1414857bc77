"""Breadth: images are turned back exactly, attempts end with the first verified one, and votes are counted right."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from serrm.inference.adaptive import Outcome, Plan
from serrm.inference.breadth import Way, attempts_at, choose, maze_symmetries, search, sudoku_symmetries
from serrm.inference.tasks import solves_sudoku
from serrm.models.recurrence import RecurrentModel
from serrm.models.registry import build_model
from serrm.models.settings import SeRrmSettings
from serrm.puzzles.maze.grid import parse_maze
from serrm.puzzles.maze.paths import are_valid_paths
from serrm.puzzles.sudoku.generate import generate_puzzles, random_solution
from serrm.puzzles.sudoku.grid import box_for_side
from tests.oracle import make_oracle

Settings = Callable[..., SeRrmSettings]


def outcome(prediction: Sequence[int], certainty: float = 0.5, is_verified: bool = False) -> Outcome:
    cells = np.array(prediction, dtype=np.uint8)
    return Outcome(cells, np.full(len(cells), certainty, np.float32), 1, 0.0, is_verified)


@given(st.integers(0, 99), st.sampled_from([4, 6, 9]), st.booleans())
def test_images_are_turned_back_and_keep_the_rules(seed: int, side: int, has_digits: bool) -> None:
    rng = np.random.default_rng(seed)
    answer = random_solution(box_for_side(side), rng) + np.uint8(1)
    question = np.where(rng.random(side**2) < 0.5, answer, np.uint8(1))
    ways = sudoku_symmetries(side, 3, rng, has_digits=has_digits)
    assert np.array_equal(ways[0].attempt(question).tokens, question)
    for way in ways:
        image, shown = way.attempt(answer).tokens, way.attempt(question).tokens
        assert solves_sudoku(shown[None], image[None])[0]
        certainty = np.linspace(0, 1, side**2, dtype=np.float32)
        moved = certainty if way.cells is None else certainty[way.cells]
        back = way.undo(replace(outcome(image), certainty=moved, history=[shown, image]))
        assert np.array_equal(back.prediction, answer)
        assert np.array_equal(back.certainty, certainty)
        assert [each.tolist() for each in back.history] == [question.tolist(), answer.tolist()]
        assert has_digits or np.array_equal(np.sort(image), np.sort(answer))
        assert (shown == 1).sum() == (question == 1).sum()


def test_mazes_have_eight_images() -> None:
    question = parse_maze("S  #" + "#  #" + "#  G" + "####")
    path = parse_maze("So #" + "#o #" + "#ooG" + "####")
    ways = maze_symmetries(4, 20, np.random.default_rng(0), has_digits=True)
    images = [way.attempt(question).tokens for way in ways]
    assert len({image.tobytes() for image in images}) == len(ways) == 8
    assert len(maze_symmetries(4, 3, np.random.default_rng(0), has_digits=False)) == 3
    for way, image in zip(ways, images, strict=True):
        shown = way.attempt(path).tokens
        assert are_valid_paths(image[None], shown[None])[0]
        assert np.array_equal(way.undo(outcome(shown.tolist())).prediction, path)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5), st.booleans()), min_size=1, max_size=8))
def test_the_choice_is_by_rule_then_votes_then_confidence(made: list[tuple[int, int, bool]]) -> None:
    attempts = [outcome([cell], number / 8, is_right) for cell, number, is_right in made]
    chosen = choose(attempts)
    if any(is_right for *_, is_right in made):
        assert chosen is next(each for each in attempts if each.is_verified)
        return
    votes = Counter(cell for cell, *_ in made)
    means = {cell: np.mean([number for other, number, _ in made if other == cell]) for cell in votes}
    best = max((votes[cell], means[cell]) for cell in votes)
    cell = int(chosen.prediction[0])
    assert (votes[cell], means[cell]) == best
    assert chosen.confidence == max(number for other, number, _ in made if other == cell) / 8


def test_answers_to_guesses_have_no_vote() -> None:
    plain, *others = outcome([2, 3], 0.1), *[replace(outcome([4, 4], 0.9), has_guesses=True)] * 3
    assert choose([plain, *others]) is plain
    right = replace(others[0], is_verified=True)
    assert choose([plain, *others, right]) is right


@pytest.fixture
def questions() -> list[np.ndarray[Any, Any]]:
    puzzles = generate_puzzles(box_for_side(4), 6, np.random.default_rng(1), (6, 9))
    return [puzzle.question + np.uint8(1) for puzzle in puzzles]


@pytest.fixture
def oracle(make_settings: Settings) -> RecurrentModel:
    """Solves a puzzle in as many steps as its first clue says, if the state starts above zero."""
    model = build_model(make_settings(), 6, torch.Generator().manual_seed(0))
    model.initial[0, 0] = -1.0
    return make_oracle(model, lambda question, first: int(question.max()) - 2 if first > 0 else 99)


@pytest.mark.parametrize("batch_size", [1, 4, 50])
def test_attempts_end_with_the_first_verified_one(
    oracle: RecurrentModel, questions: list[np.ndarray[Any, Any]], batch_size: int
) -> None:
    starts = [-2.0, -1.0, 1.0, 2.0]
    states = [torch.full_like(oracle.initial, start) for start in starts]
    ways = [Way(), *(Way(initial=state) for state in states)]
    puzzles = ((n, attempts_at(row, ways)) for n, row in enumerate(questions))
    plan = Plan(6, batch_size, solves_sudoku)
    results = {found.key: found for found in search(oracle, puzzles, 6, plan)}
    assert sorted(results) == list(range(len(questions)))
    for number, question in enumerate(questions):
        found, steps = results[number], max(1, int(question.max()) - 2)
        assert [each.is_verified for each in found.attempts] == [False, False, False, True]
        assert [each.steps for each in found.attempts] == [6, 6, 6, steps]
        assert found.puzzle_steps == 18 + steps
        assert found.chosen is found.attempts[3]
        assert found.seconds == pytest.approx(sum(each.seconds for each in found.attempts))
        assert solves_sudoku(question[None], found.chosen.prediction[None])[0]


@pytest.mark.parametrize("batch_size", [1, 4, 50])
def test_without_a_rule_all_attempts_vote(
    oracle: RecurrentModel, questions: list[np.ndarray[Any, Any]], batch_size: int
) -> None:
    ways = [Way(initial=torch.full_like(oracle.initial, start)) for start in (-1.0, 1.0, 2.0)]
    puzzles = ((n, attempts_at(row, ways)) for n, row in enumerate(questions))
    results = {found.key: found for found in search(oracle, puzzles, 6, Plan(4, batch_size))}
    for number, question in enumerate(questions):
        found = results[number]
        assert [each.steps for each in found.attempts] == [4, 4, 4]
        assert not found.chosen.is_verified
        # Two of three know the solution, so it has the votes.
        assert solves_sudoku(question[None], found.chosen.prediction[None])[0]
