"""Latin squares of 5×5: a task of one's own, in one module."""

import json
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Bool, UInt8
from pydantic import NonNegativeInt, PositiveInt

from serrm.core.files import Origin
from serrm.core.randomness import Purpose, keyed_rng
from serrm.core.settings import Settings
from serrm.puzzles.look import digits
from serrm.puzzles.raw import Counts, Puzzle, RawSet, Tokens
from serrm.puzzles.task import Alphabet, Criterion, GridTask
from serrm.puzzles.text import GridText

SIDE = 5
CHARACTERS = ".12345"  # of the tokens 1, a blank, to 6
BLANK = 1
Grids = UInt8[np.ndarray, "N I"]


class LatinSource(Settings):
    """Squares made here: shifted rows, in random order and symbols."""

    kind: Literal["generated"]
    num: PositiveInt


class LatinSubset(Settings):
    """Which of them are used."""

    num_train: PositiveInt
    seed: NonNegativeInt


def are_latin(questions: Grids, answers: Grids) -> Bool[np.ndarray, " N"]:
    """True for answers that keep the digits given and have every digit in every row and column."""
    rows = answers.reshape(-1, SIDE, SIDE)
    lines = np.concatenate([rows, rows.transpose(0, 2, 1)], axis=1)
    is_latin = (np.sort(lines, axis=2) == np.arange(2, SIDE + 2)).all(axis=(1, 2))
    return np.asarray(is_latin & ((questions == BLANK) | (questions == answers)).all(axis=1))


def have_full_rows(questions: Grids, predictions: Grids) -> Bool[np.ndarray, " N"]:
    """True for predictions with every digit in every row."""
    rows = np.sort(predictions.reshape(-1, SIDE, SIDE), axis=2)
    return np.asarray((rows == np.arange(2, SIDE + 2)).all(axis=(1, 2)))


def make_squares(source: LatinSource, directory: Path, seed: int) -> dict[str, Origin]:
    """Write different squares."""
    rng, lines = np.random.default_rng(seed), np.arange(SIDE)
    pattern, squares = (lines[:, None] + lines) % SIDE, dict[bytes, list[int]]()
    while len(squares) < source.num:
        square = (rng.permutation(SIDE)[pattern[rng.permutation(SIDE)]] + 2).astype(np.uint8)
        squares[square.tobytes()] = square.ravel().tolist()
    (directory / "squares.json").write_text(json.dumps([*squares.values()]))
    return {"squares.json": Origin("generated")}


def latin_sets(raw: Path, settings: LatinSubset) -> dict[str, RawSet]:
    """The training set, and the rest for testing."""
    answers = np.array(json.loads((raw / "squares.json").read_text()), dtype=np.uint8)
    rows = [
        (
            number,
            Puzzle(np.where(np.arange(SIDE**2) % 3, BLANK, answer).astype(np.uint8), answer, "generated"),
        )
        for number, answer in enumerate(answers)
    ]
    rest = RawSet(SIDE, None, 1, iter(rows), is_rest=True)
    return {"train": RawSet(SIDE, settings.num_train, 0, iter(rows)), "unseen": rest}


def recognises(text: str) -> bool:
    """True for 25 characters that are digits up to 5 or blanks."""
    return len(text) == SIDE**2 and {*text} <= {*CHARACTERS, "0"}


def judge(side: int, prediction: Tokens, question: Tokens, answer: Tokens | None) -> str:
    """Judge a prediction."""
    return "a Latin square" if are_latin(question[None], prediction[None]).all() else "none"


def draw_order(seed: int, puzzle: int, member: int, side: int) -> UInt8[np.ndarray, " P"]:
    """An order of the rows; member 0 leaves them as they are."""
    rng = keyed_rng(seed, Purpose.AUGMENTATION, puzzle, member)
    return (rng.permutation(side) if member else np.arange(side)).astype(np.uint8)


def apply_orders(tokens: Grids, orders: Grids, side: int) -> Grids:
    """Squares with their rows in new orders."""
    rows = np.take_along_axis(tokens.reshape(-1, side, side), orders[:, :, None].astype(np.intp), axis=1)
    return rows.reshape(len(tokens), -1)


LATIN = GridTask(
    name="Latin square",
    alphabet=lambda side: Alphabet(side + 2),
    source=LatinSource,
    subset=LatinSubset,
    make=make_squares,
    in_words=lambda source, subset: f"{source.num} Latin squares",
    count=lambda source, subset: Counts(SIDE, subset.num_train, {SIDE: source.num - subset.num_train}),
    verify=are_latin,
    blank=BLANK,
    look=digits(CHARACTERS),
    judge=judge,
    raw_sets=latin_sets,
    recognises=recognises,
    text=GridText(characters=CHARACTERS, others={"0": BLANK}, largest=lambda side: SIDE + 1),
    draw=draw_order,
    apply=apply_orders,
    criteria={"full_rows": Criterion(have_full_rows, "Full rows", "every digit in every row")},
    has_permutations=True,
    permutation_title="A permutation of the digits",
)
