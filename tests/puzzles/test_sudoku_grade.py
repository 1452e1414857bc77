"""Grades of Sudokus: the techniques are sound and do not depend on symmetries; least shares; copies by symmetry."""

import numpy as np
import pytest

from serrm.puzzles.sudoku import data, search
from serrm.puzzles.sudoku.canonical import audit, canonical_form, find_copies, invariants
from serrm.puzzles.sudoku.data import generate_puzzles, with_least_shares
from serrm.puzzles.sudoku.grade import GRADES, TECHNIQUES, are_single, cells_of, grades, reduced
from serrm.puzzles.sudoku.rules import BLANK
from serrm.puzzles.sudoku.symmetries import apply_symmetries, draw_symmetries

FEW_CLUES = generate_puzzles(9, 60, np.random.default_rng(0), (22, 26))
QUESTIONS = np.stack([puzzle.question for puzzle in FEW_CLUES])


@pytest.mark.parametrize(("side", "clues"), [(4, (5, 7)), (6, (9, 14)), (9, (22, 26)), (16, (100, 110))])
def test_techniques_keep_every_digit_of_the_answer(side: int, clues: tuple[int, int]) -> None:
    puzzles = generate_puzzles(side, 10, np.random.default_rng(1), clues)
    questions, answers = (np.stack([getattr(p, part) for p in puzzles]) for part in ("question", "answer"))
    full = np.uint32((1 << side) - 1)
    bits = np.left_shift(1, answers.astype(np.int64) - BLANK - 1).astype(np.uint32)
    left = np.where(questions > BLANK, bits, full).astype(np.uint32)
    counts = []
    for techniques in TECHNIQUES.values():
        left = reduced(left, techniques, cells_of(side))
        assert (left & bits == bits).all()
        counts.append(int(np.bitwise_count(left).sum()))
    assert counts == sorted(counts, reverse=True)


def test_singles_solve_what_the_search_solves_without_a_branch() -> None:
    """Both kinds of singles, by an independent implementation."""
    masks = search.masks_of(9)
    for question, grade in zip(QUESTIONS, grades(QUESTIONS), strict=True):
        node = search.propagate(search.place_clues(question.tolist(), masks), masks)
        is_solved = (node[0] & masks.cell_fields).bit_count() == 81
        assert is_solved == (GRADES.index(grade) <= 1)


def grid(rows: str) -> np.ndarray:
    """Candidates of a 4×4 grid, such as "12" for 1 or 2."""
    cells = [sum(1 << int(digit) - 1 for digit in cell) for cell in rows.split()]
    return np.array([cells], dtype=np.uint32)


def test_locked_candidates_and_pairs_remove_what_they_should() -> None:
    techniques, cells = TECHNIQUES["more rules"], cells_of(4)
    full = "1234 1234 1234 1234 " * 3
    # Digit 1 of the first box is in the first row: no other cell of that row has it.
    pointing = reduced(
        grid("1234 1234 1234 1234 234 234 1234 1234 " + full[: len(full) // 3 * 2]), techniques, cells
    )
    assert (pointing[0, 2:4] & 1 == 0).all() and (pointing[0, 6:8] & 1).all()
    # Two cells of the first row with 1 or 2: the others have 3 or 4.
    pair = reduced(grid("12 1234 12 1234 " + full), techniques, cells)
    assert (pair[0, [1, 3]] & 0b0011 == 0).all()
    # Digits 1 and 2 only in two cells of the first row: these have no 3 or 4.
    hidden = reduced(grid("1234 34 1234 34 " + full), techniques, cells)
    assert (hidden[0, [0, 2]] & 0b1100 == 0).all()


def test_symmetries_do_not_change_grades() -> None:
    moved = apply_symmetries(QUESTIONS, draw_symmetries(9, len(QUESTIONS), np.random.default_rng(2)), 9)
    assert grades(moved) == grades(QUESTIONS)
    assert set(grades(QUESTIONS)) == {*GRADES}


def test_grids_without_answers_need_guesses() -> None:
    empty = np.full((1, 81), BLANK, dtype=np.uint8)
    twice = empty.copy()
    twice[0, :2] = BLANK + 1
    assert grades(np.concatenate([empty, twice])) == ["guesses", "guesses"]
    solved = np.stack([FEW_CLUES[0].answer])
    assert grades(solved) == ["naked singles"] and are_single(np.uint32([[1]])).all()


def test_at_least_the_shares_asked_for_have_the_grade_in_random_order() -> None:
    puzzles = data.iterate_puzzles(9, np.random.default_rng(3), (26, 34))
    shares = {"hidden singles": 0.9, "guesses": 0.3}
    chosen = [*with_least_shares(puzzles, [30, 10], shares, np.random.default_rng(4))]
    ranks = [GRADES.index(grade) for grade in grades(np.stack([puzzle.question for puzzle in chosen]))]
    for part in (ranks[:30], ranks[30:]):
        assert sum(rank >= 1 for rank in part) >= 0.9 * len(part)
        assert sum(rank == 3 for rank in part) >= 0.3 * len(part)
    assert 2 <= sum(rank == 3 for rank in ranks[:15]) <= 13
    assert len({puzzle.question.tobytes() for puzzle in chosen}) == 40


def test_shares_that_cannot_be_met_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "MAX_EASIER", 20)
    easy = data.iterate_puzzles(9, np.random.default_rng(3), (60, 70))
    with pytest.raises(ValueError, match=r"^least_shares: .*20.*guesses$"):
        list(with_least_shares(easy, [2], {"guesses": 1.0}, np.random.default_rng(0)))


# Symmetric copies.


@pytest.mark.parametrize("side", [4, 6, 9])
def test_copies_have_one_form_and_one_invariant(side: int) -> None:
    puzzles = generate_puzzles(side, 8, np.random.default_rng(6), (side**2 // 3, side**2 // 2))
    questions = np.stack([puzzle.question for puzzle in puzzles])
    moved = apply_symmetries(questions, draw_symmetries(side, len(questions), np.random.default_rng(7)), side)
    assert [canonical_form(q) for q in moved] == [canonical_form(q) for q in questions]
    np.testing.assert_array_equal(invariants(moved), invariants(questions))


def test_the_audit_finds_every_symmetric_copy_and_no_other_puzzle() -> None:
    test = apply_symmetries(QUESTIONS[::-1], draw_symmetries(9, 60, np.random.default_rng(8)), 9)
    assert find_copies(QUESTIONS[:5], test) == [(55 + n, 4 - n) for n in range(5)]
    assert audit(QUESTIONS[:30], QUESTIONS[30:], 9) == {
        "num_test": 30,
        "num_symmetric_copies": 0,
        "symmetric_copies": [],
    }
    # One clue fewer is another puzzle.
    fewer = test.copy()
    fewer[59, np.flatnonzero(fewer[59] > BLANK)[0]] = BLANK
    assert find_copies(QUESTIONS[:1], fewer) == []
