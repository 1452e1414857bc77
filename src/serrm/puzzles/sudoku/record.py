"""The record of Sudoku."""

import numpy as np

from serrm.puzzles.boxes import box_for_side, boxes_in_words
from serrm.puzzles.look import digits
from serrm.puzzles.raw import Tokens
from serrm.puzzles.sudoku import canonical, data, grade, rules, search, symmetries
from serrm.puzzles.sudoku.rules import BLANK
from serrm.puzzles.task import Alphabet, Grading, GridTask

SAMPLES = {
    "Hard Sudoku": "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9",
    "With guesses": "..1..5...7.......2.6.3.....5...1..4.8.....6....2.......3..6.......8..1.4.........",
    "Easy Sudoku": "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79",
    "4×4 Sudoku": "1......2..3.....",
}


def judge(side: int, prediction: Tokens, question: Tokens, answer: Tokens | None) -> str:
    """Judge a prediction in a few words; all are tokens."""
    is_blank = question == BLANK
    if answer is None:
        return "a solution" if rules.are_answers(question[None], prediction[None]).all() else "no solution"
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
    mirror_files=data.mirror_files,
    in_words=data.in_words,
    count=data.count_puzzles,
    at_most=dict.fromkeys(("num_16x16", "num_25x25", "4x4", "16x16", "25x25"), 1),
    as_mirror=data.as_mirror,
    verify=rules.are_answers,
    blank=BLANK,
    allows=rules.are_consistent,
    has_permutations=True,
    permutation_title="A permutation of the digits",
    curve_metrics=("fsr", "gpa"),
    look=digits(data.SYMBOLS, box_for_side),
    judge=judge,
    raw_sets=data.raw_sets,
    audit=canonical.audit,
    grading=Grading(grade.GRADES, grade.grades),
    recognises=lambda text: True,  # every grid that no other task recognises
    text=data.TEXT,
    layout=boxes_in_words,
    draw=symmetries.draw_symmetry,
    apply=symmetries.apply_symmetries,
    flaw=search.flaw,
    caveat=search.caveat,
    solutions=search.cp_sat_solutions,
    exact_method="cp-sat",
    checkpoint=lambda side: "sudoku_extreme" if side == 9 else "sudoku",
    samples=SAMPLES,
)
