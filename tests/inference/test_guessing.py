"""Guesses: only blanks are filled in, the likeliest guesses come first, and none is left out."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.inference.adaptive import Attempt, Outcome
from serrm.inference.guessing import LEAST, branches, guesses
from serrm.inference.settings import GUESS_STEPS

BLANK = 1
Tokens = np.ndarray[Any, Any]


def outcome(probabilities: np.ndarray[Any, Any]) -> Outcome:
    """An unverified one that is as sure of every token of every cell as `probabilities`, `I K`, say."""
    shares = probabilities.astype(np.float32)
    return Outcome(shares.argmax(1).astype(np.uint8), shares.max(1), 1, 0.0, False, (), shares)


def made(tokens: Tokens, probabilities: np.ndarray[Any, Any], num: int) -> list[Attempt]:
    """All attempts of a network that never changes its mind."""
    attempts = guesses(tokens, num, BLANK, 5)
    found = [next(attempts)]
    try:
        while True:
            found.append(attempts.send(outcome(probabilities)))
    except StopIteration:
        return found


@st.composite
def cases(draw: st.DrawFn) -> tuple[Tokens, np.ndarray[Any, Any]]:
    """A puzzle of four cells and three symbols, and probabilities of its five tokens."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return rng.integers(1, 5, 4).astype(np.uint8), rng.dirichlet(np.full(5, 0.5), 4)


@given(cases(), st.integers(1, 60))
def test_guesses_fill_in_blanks_the_likeliest_first_and_none_twice(
    case: tuple[Tokens, np.ndarray[Any, Any]], num: int
) -> None:
    tokens, probabilities = case
    attempts = made(tokens, probabilities, num)
    assert np.array_equal(attempts[0].tokens, tokens) and attempts[0].max_steps is None
    assert len(attempts) <= num
    assert len({attempt.tokens.tobytes() for attempt in attempts}) == len(attempts)
    surprises = []
    for attempt in attempts[1:]:
        assert attempt.max_steps == GUESS_STEPS and attempt.keeps_probabilities
        filled = np.flatnonzero(attempt.tokens != tokens)
        assert (tokens[filled] == BLANK).all() and (attempt.tokens[filled] > BLANK).all()
        shares = [float(np.float32(probabilities[cell, attempt.tokens[cell]])) for cell in filled]
        assert min(shares) >= LEAST - 1e-6
        surprises.append(-sum(map(math.log, shares)))
    assert surprises == pytest.approx(sorted(surprises))


@given(cases())
def test_with_attempts_enough_every_likely_filling_is_tried(
    case: tuple[Tokens, np.ndarray[Any, Any]],
) -> None:
    tokens, probabilities = case
    choices = [
        [token] if token != BLANK else [BLANK + 1 + s for s in np.flatnonzero(row[BLANK + 1 :] >= LEAST)]
        for token, row in zip(tokens, probabilities.astype(np.float32), strict=True)
    ]
    whole = {tuple(attempt.tokens.tolist()) for attempt in made(tokens, probabilities, 500)}
    expected = math.prod(map(len, choices))
    assert sum(BLANK not in each for each in whole) == expected
    assert all(
        cell in choice for each in whole for cell, choice in zip(each, choices, strict=True) if cell > BLANK
    )


def test_the_cell_nearest_to_a_toss_up_between_two_is_guessed() -> None:
    sure, three, two = [0, 0, 0.97, 0.02, 0.01], [0, 0, 0.34, 0.33, 0.33], [0, 0, 0.03, 0.5, 0.47]
    shares = np.array([sure, three, two, two])
    found = list(branches(np.array([1, 1, 4, 1], np.uint8), outcome(shares), BLANK, 5))
    assert [filled.tolist() for _, filled in found] == [[1, 1, 4, 3], [1, 1, 4, 4]]
    assert [likely for likely, _ in found] == pytest.approx([0.5, 0.47])
    assert not list(branches(np.array([2, 3, 4, 2], np.uint8), outcome(shares), BLANK, 5))


def test_many_equal_symbols_are_guessed_and_those_the_size_has_not_are_not() -> None:
    shares = np.full((4, 27), 1 / 25)
    assert len(list(branches(np.array([1, 1, 4, 1], np.uint8), outcome(shares), BLANK, 27))) == 25
    few = list(branches(np.array([1, 1, 4, 1], np.uint8), outcome(np.full((4, 11), 1 / 9)), BLANK, 6))
    assert sorted(int(filled[0]) for _, filled in few) == [2, 3, 4, 5]
