"""The record of Sudoku."""

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.boxes import box_for_side
from serrm.puzzles.look import digits
from serrm.puzzles.sudoku import data, rules, search, symmetries
from serrm.puzzles.sudoku.rules import BLANK
from serrm.puzzles.task import Alphabet, GridTask


def judge(
    side: int,
    prediction: UInt8[np.ndarray, " I"],
    question: UInt8[np.ndarray, " I"],
    answer: UInt8[np.ndarray, " I"] | None,
) -> str:
    """Judge a prediction in a few words; all are tokens."""
    is_blank = question == BLANK
    if answer is None:
        return "a solution" if rules.solves(question[None], prediction[None]).all() else "no solution"
    is_wrong = prediction != answer
    if not is_wrong.any():
        return "solved"
    blanks = f"{np.count_nonzero(is_wrong & is_blank)} of {np.count_nonzero(is_blank)} blanks wrong"
    return f"{blanks}, and clues" if is_wrong[~is_blank].any() else blanks


SUDOKU = GridTask(
    name="Sudoku",
    alphabet=lambda side: Alphabet(side + 2),  # 1 blank, 2…n+1 the digits 1…n
    source=data.SudokuSource,
    subset=data.SudokuSubsetSettings,
    make=data.make,
    published=data.PUBLISHED,
    mirrored=data.mirrored,
    in_words=data.in_words,
    count=data.count_puzzles,
    at_most=dict.fromkeys(("num_16x16", "num_25x25", "4x4", "16x16", "25x25"), 1),
    mirror=data.mirror,
    verify=rules.solves,
    blank=BLANK,
    allows=rules.allows,
    permuted="A permutation of the digits",
    metrics=("fsr", "gpa"),
    look=digits(data.SYMBOLS, box_for_side),
    judge=judge,
    raw_sets=data.raw_sets,
    are_answers=rules.are_answers,
    recognises=lambda value: True,  # what is no puzzle of another task
    text=data.TEXT,
    offset=BLANK,
    draw=symmetries.draw_symmetry,
    apply=symmetries.apply_symmetries,
    flaw=search.flaw,
    solutions=search.solutions,
    exact_method="cp-sat",
    checkpoint=lambda side: "sudoku_extreme" if side == 9 else "sudoku",
)
