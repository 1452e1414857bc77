"""The records of both ARC-AGIs."""

from functools import partial
from math import factorial
from typing import Final

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.arc import data
from serrm.puzzles.arc.grids import FIRST_COLOUR, NUM_COLOURS, NUM_SYMBOLS, decode
from serrm.puzzles.look import CellLook, Look
from serrm.puzzles.raw import Tokens
from serrm.puzzles.task import Alphabet, ArcTask
from serrm.puzzles.transforms import NUM_TRANSFORMS

COLOURS: Final = (
    *("#000000", "#0074D9", "#FF4136", "#2ECC40", "#FFDC00", "#AAAAAA", "#F012BE", "#FF851B", "#7FDBFF", "#870C25"),
)  # fmt: skip
DARK_COLOURS: Final = (0, 1, 2, 6, 9)  # on which a mark is white


def cell(token: int, is_given: bool, is_wrong: bool) -> CellLook:
    """Choose the look of a cell."""
    colour = token - FIRST_COLOUR
    return CellLook(COLOURS[colour], "#FDFDFD" if colour in DARK_COLOURS else "#000000", "", str(colour))


def visible(tokens: Tokens, side: int) -> UInt8[np.ndarray, "_ _"]:
    """Return the tokens of the grid on a canvas."""
    return np.asarray(decode(tokens, side) + np.uint8(FIRST_COLOUR))


def judge(side: int, prediction: Tokens, question: Tokens, answer: Tokens | None) -> str:
    """Judge a prediction by the grid on its canvas."""
    predicted = decode(prediction, side)
    expected = predicted if answer is None else decode(answer, side)
    if predicted.shape != expected.shape:
        return f"{predicted.shape[0]}×{predicted.shape[1]}, not {expected.shape[0]}×{expected.shape[1]}"
    num_wrong = np.count_nonzero(predicted != expected)
    return f"{num_wrong} of {expected.size} cells wrong" if num_wrong else "" if answer is None else "right"


def _record(version: data.Version) -> ArcTask:
    return ArcTask(
        name=f"ARC-AGI-{version}",
        alphabet=lambda side: Alphabet(NUM_SYMBOLS),  # 1 end of grid, 2…11 the colours 0…9
        source=data.ArcSource,
        subset=data.ArcSubsetSettings,
        make=partial(data.make_files, version),
        published=data.PUBLISHED,
        mirror_files=data.mirror_files,
        in_words=data.in_words,
        most_augmentations=NUM_TRANSFORMS * factorial(NUM_COLOURS - 1) - 1,  # colour 0 stays
        count=partial(data.count_puzzles, version),
        has_permutations=True,
        permutation_title="A recoloured ARC-AGI task",
        permutation_note=" Each model uses the puzzle's own task type, SE-RRM with its colours permuted too.",
        look=Look(cell=cell, has_crosses=True, visible=visible, legend="a cross marks a wrong square"),
        judge=judge,
        version=version,
    )


ARC_AGI_1, ARC_AGI_2 = _record(1), _record(2)
