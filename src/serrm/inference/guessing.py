"""Guesses: a puzzle whose answer is wrong is asked again with cells filled in that the network itself is in doubt of.

A training's loss is a cross-entropy, so the network says how likely each symbol of each cell is. Where an answer fails
the rule, the cell nearest to a toss-up between two symbols is filled in with each that is likely, and the network is
asked anew, the guesses that are likeliest together first. Nothing but the network says where to guess and what; the
rule tells which answer is right. (Ours: the paper gives every puzzle one attempt.)
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heappop, heappush

import numpy as np
from jaxtyping import UInt8

from serrm.inference.adaptive import Attempt, Outcome
from serrm.inference.breadth import Attempts
from serrm.inference.settings import GUESS_STEPS

LEAST = 0.05  # a symbol less likely than this, or than half of an even share, is not guessed

Tokens = UInt8[np.ndarray, " I"]


@dataclass(frozen=True, order=True)
class Guess:
    """A puzzle with guesses filled in; the likeliest comes first, then the oldest."""

    surprise: float  # −log of the probability that all its guesses are right
    number: int
    tokens: Tokens = field(compare=False)


def guesses(tokens: Tokens, num: int, blank: int, num_symbols: int) -> Attempts:
    """Up to `num` attempts at a puzzle: as it is, then with guesses in place of its `blank` tokens.

    Of the alphabet's `num_symbols` those above `blank` are guessed.
    """
    waiting, seen = [Guess(0.0, 0, tokens)], {tokens.tobytes()}
    for number in range(num):
        if not waiting:
            return
        guess = heappop(waiting)
        steps = GUESS_STEPS if number else None
        # Of its outcome only what is asked later is kept: the probabilities are not.
        undo = partial(replace, probabilities=None, has_guesses=number > 0)
        outcome = yield Attempt(guess.tokens, max_steps=steps, keeps_probabilities=True, undo=undo)
        assert outcome is not None, "guesses are made one by one"
        for likely, filled in branches(guess.tokens, outcome, blank, num_symbols):
            if filled.tobytes() not in seen:
                seen.add(filled.tobytes())
                heappush(waiting, Guess(guess.surprise - math.log(likely), len(seen), filled))


def branches(
    tokens: Tokens, outcome: Outcome, blank: int, num_symbols: int
) -> Iterator[tuple[float, Tokens]]:
    """The likely symbols of the cell nearest to a toss-up between two: (probability, the puzzle with it filled in).

    Nothing if no cell is blank.
    """
    assert outcome.probabilities is not None
    symbols = outcome.probabilities[:, blank + 1 : num_symbols]
    _, second, third = -np.sort(-symbols, axis=1)[:, :3].T
    is_open = tokens == blank
    if not is_open.any():
        return
    cell = int(np.where(is_open, second - 2 * third, -np.inf).argmax())
    for symbol in np.flatnonzero(symbols[cell] >= min(LEAST, 0.5 / symbols.shape[1])):
        filled = tokens.copy()
        filled[cell] = blank + 1 + symbol
        yield float(symbols[cell, symbol]), filled
