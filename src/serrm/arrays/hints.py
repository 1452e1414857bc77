"""Easier questions to begin with: cells of the answer are shown, fewer from example to example. (No part of the paper.)

A hard puzzle teaches nothing before a model can follow a single step of reasoning; with cells filled in, it is an
easy one with the same answer.
"""

import numpy as np
from jaxtyping import UInt8

from serrm.arrays.settings import HintSettings
from serrm.randomness import Purpose, keyed_rng


def with_hints(
    questions: UInt8[np.ndarray, "B I"],
    answers: UInt8[np.ndarray, "B I"],
    hints: HintSettings,
    seed: int,
    start: int,
) -> UInt8[np.ndarray, "B I"]:
    """The questions of the examples start, start + 1, … with their hints; as many as all numbers up to the most are
    equally likely.
    """
    shown = questions.copy()
    for place, example in enumerate(range(start, min(start + len(questions), hints.examples))):
        rng = keyed_rng(seed, Purpose.HINTS, example)
        most = round(hints.most * (1 - example / hints.examples))
        open_cells = rng.permutation(np.flatnonzero(questions[place] != answers[place]))
        cells = open_cells[: rng.integers(most + 1)]
        shown[place, cells] = answers[place, cells]
    return shown
