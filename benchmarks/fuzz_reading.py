"""Damage files of puzzles, one character each, and check what the reader makes of them.

    python -m benchmarks.fuzz_reading [--seconds 600] [--seed 0]

A valid file of each form (docs/howto.md) gets one mutation. It must be read as meant (as many puzzles and answers, at
most one cell of one grid changed) or be refused by a ValueError of one line with its place, within a second.
"""

import gzip
import io
import json
import random
import re
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from serrm.puzzles.maze.data import TEXT as MAZE_TEXT
from serrm.puzzles.maze.data import iterate_mazes
from serrm.puzzles.raw import Puzzle
from serrm.puzzles.sudoku.data import SYMBOLS, generate_puzzles
from serrm.puzzles.sudoku.data import TEXT as SUDOKU_TEXT
from serrm.reading.question import Question
from serrm.reading.reader import read_arguments, read_text

CLUES = {4: (6, 9), 6: (16, 22), 9: (30, 40)}
NUM = 3  # puzzles of a file
LONGEST = 1.0  # CPU seconds for an input
CHARACTERS = "0123456789.-_*x?#SGoEABqZ ,;:|/\"'[]{}()=+\t\n\r\0é█"
NAMES = ("easy", "Puzzle_17", "00a1b2c3d4e5", "7.1", "id 5")

Grids = Sequence[tuple[str, str]]  # questions and answers as text
Form = Callable[[Grids, random.Random], str]


def side_of(grid: str) -> int:
    """The side of a grid of a text."""
    return round(len(grid) ** 0.5)


def rows_of(grid: str) -> list[str]:
    """The rows of a grid of a text."""
    side = side_of(grid)
    return [grid[start : start + side] for start in range(0, side**2, side)]


def framed(grid: str) -> str:
    """A grid in rows with a frame between its boxes."""
    side = side_of(grid)
    rows = {4: 2, 6: 2, 9: 3, 16: 4}[side]
    width, lines = side // rows, list[str]()
    for number, row in enumerate(rows_of(grid)):
        lines += ["-------+-------+-------"] if number % rows == 0 else []
        lines.append(
            "| " + " | ".join(" ".join(row[start : start + width]) for start in range(0, side, width)) + " |"
        )
    return "\n".join(lines)


def table(delimiter: str, grids: Grids) -> str:
    """A table with remarks."""
    lines = [["id", "puzzle", "note", "solution"]]
    lines += [[str(number), one, f'"a{delimiter} b"', two] for number, (one, two) in enumerate(grids)]
    return "\n".join(map(delimiter.join, lines)) + "\n"


def cells(grid: str) -> list[list[int | None]]:
    """Rows of numbers, null for a blank."""
    return [[SYMBOLS.index(sign) or None for sign in row] for row in rows_of(grid)]


FORMS: dict[str, Form] = {
    "lines": lambda grids, rng: "".join(f"{one}\n" for one, _ in grids),
    "lines with zeros": lambda grids, rng: "".join(f"{one.replace('.', '0')}\n" for one, _ in grids),
    "lines with remarks": lambda grids, rng: "".join(f"{rng.choice(NAMES)} {one}  7.1\n" for one, _ in grids),
    "lines with answers": lambda grids, rng: "".join(f"{one},{two} # hard\n" for one, two in grids),
    "rows": lambda grids, rng: "\n\n".join("\n".join(rows_of(one)) for one, _ in grids),
    "rows with spaces": lambda grids, rng: "\n\n".join(
        "\n".join(map(" ".join, rows_of(one.replace(".", "-")))) for one, _ in grids
    ),
    "rows with frames": lambda grids, rng: "\n\n".join(framed(one) for one, _ in grids),
    "rows with headings": lambda grids, rng: "".join(
        f"Grid {number:02}\n" + "\n".join(rows_of(one)) + "\n" for number, (one, _) in enumerate(grids)
    ),
    "CSV": lambda grids, rng: table(",", grids),
    "TSV": lambda grids, rng: table("\t", grids),
    "semicolons": lambda grids, rng: table(";", grids),
    "JSON lines": lambda grids, rng: "".join(
        json.dumps({"name": "a", "question": one, "answer": two}) + "\n" for one, two in grids
    ),
    "JSON texts": lambda grids, rng: json.dumps([one for one, _ in grids], indent=1),
    "JSON rows": lambda grids, rng: json.dumps([cells(one) for one, _ in grids]),
    "JSON objects": lambda grids, rng: json.dumps(
        [{"puzzle": cells(one), "solution": cells(two)} for one, two in grids], indent=1
    ),
}  # fmt: skip
WITH_ANSWERS = {"lines with answers", "CSV", "TSV", "semicolons", "JSON lines", "JSON objects"}
OF_MAZES = ("lines", "rows", "CSV", "TSV", "JSON lines", "JSON texts")
BY_LINE = tuple(name for name in FORMS if not name.startswith("JSON"))


@dataclass(frozen=True)
class Case:
    """A valid text of a form with its grids."""

    form: str
    grids: Grids
    text: str


def text_of(puzzle: Puzzle, is_maze: bool) -> tuple[str, str]:
    """Question and answer as text."""
    text = MAZE_TEXT if is_maze else SUDOKU_TEXT
    assert puzzle.answer is not None
    return text.format(puzzle.question), text.format(puzzle.answer)


def cases(rng: random.Random) -> Iterator[Case]:
    """Yield valid texts without end."""
    drawing, pools = np.random.default_rng(rng.randrange(2**32)), dict[str, list[tuple[str, str]]]()
    for side, clues in CLUES.items():
        pools[f"Sudoku {side}"] = [text_of(one, False) for one in generate_puzzles(side, 12, drawing, clues)]
    for side in (4, 6, 9):
        mazes = islice(iterate_mazes(side, drawing, min_path=3), 12)
        pools[f"maze {side}"] = [text_of(one, True) for one in mazes]
    shift = [[(4 * (row % 4) + row // 4 + column) % 16 + 1 for column in range(16)] for row in range(16)]
    for signs in (SYMBOLS, ".ABCDEFGHIJKLMNOP"):
        answer = "".join(signs[value] for row in shift for value in row)
        question = "".join(sign if index % 3 else "." for index, sign in enumerate(answer))
        pools[f"Sudoku 16 {signs[1]}"] = [(question, answer)] * 3
    while True:
        pool = rng.choice([*pools])
        names = OF_MAZES if pool.startswith("maze") else [*FORMS]
        if pool.endswith("A"):  # numbers have no letters
            names = [name for name in names if name not in ("JSON rows", "JSON objects")]
        form, grids = rng.choice(names), rng.sample(pools[pool], rng.randint(1, NUM))
        yield Case(form, grids, FORMS[form](grids, rng))


def mutated(text: str, rng: random.Random) -> str:
    """A text with one character deleted, inserted, replaced or repeated, or two exchanged."""
    index, sign = rng.randrange(len(text)), rng.choice(CHARACTERS)
    ways = (
        text[:index] + text[index + 1 :],
        text[:index] + sign + text[index:],
        text[:index] + sign + text[index + 1 :],
        text[: index + 1] + text[index:],
        text[:index] + text[index : index + 2][::-1] + text[index + 2 :],
    )
    return rng.choice(ways)


def as_texts(question: Question) -> tuple[str, str | None]:
    """Question and answer as text in the task's characters."""
    text = MAZE_TEXT if question.task == "maze" else SUDOKU_TEXT
    answer = None if question.answer is None else text.format(question.answer.reshape(-1))
    return text.format(question.cells.reshape(-1)), answer


def in_characters(grid: str) -> str:
    """A Sudoku of letters in the task's characters; other grids unchanged."""
    is_lettered = len(grid) == 256 and not {*grid} & {*"123456789"}
    return "".join(SYMBOLS[".ABCDEFGHIJKLMNOP".index(sign)] for sign in grid) if is_lettered else grid


def flaw_of(case: Case, text: str, read: Callable[[str], Sequence[Question]]) -> str | None:
    """What is wrong with the reader's answer to a mutated text; None if nothing is."""
    start = time.process_time()
    try:
        questions = read(text)
    except ValueError as error:
        seconds, message = time.process_time() - start, str(error)
        if seconds > LONGEST:
            return f"{seconds:.1f} s"
        place = r"text:\d+: |text: puzzle: not JSON.* line \d+ column" if case.form in BY_LINE else r"text\b"
        return None if re.match(place, message) and "\n" not in message else f"message {message!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if (seconds := time.process_time() - start) > LONGEST:
        return f"{seconds:.1f} s"
    if len(questions) != len(case.grids):
        return f"{len(questions)} puzzles instead of {len(case.grids)}"
    num_changed = 0
    for question, grids in zip(questions, case.grids, strict=True):
        meant = grids if case.form in WITH_ANSWERS else (grids[0], None)
        for found, grid in zip(as_texts(question), meant, strict=True):
            if (found is None) != (grid is None):
                return "an answer is lost"
            if found is not None and grid is not None:
                grid = in_characters(grid)
                num_changed += sum(
                    one != two for one, two in zip(found, grid, strict=len(found) == len(grid))
                )
                if len(found) != len(grid):
                    return "a grid of another size"
    # Two neighbours that are exchanged are two cells.
    return None if num_changed <= 2 else f"{num_changed} cells changed"


def is_commented_out(text: str) -> bool:
    """True for a line that the mutation made a comment."""
    return any(re.match(r"//|#[A-Za-z ]", line) for line in text.splitlines())


def fuzz(seconds: float, seed: int, num: int | None = None) -> tuple[int, dict[str, tuple[str, str]]]:
    """The number of mutated texts that were tried, and the first text with each kind of flaw, by form and kind."""
    rng, end, source = random.Random(seed), time.monotonic() + seconds, partial(read_text, source="text")
    flaws, num_tried, endless = dict[str, tuple[str, str]](), 0, cases(rng)
    while time.monotonic() < end and (num is None or num_tried < num):
        case = next(endless)
        assert flaw_of(case, case.text, source) is None, case
        for _ in range(50):
            text = mutated(case.text, rng)
            if is_commented_out(text) and not is_commented_out(case.text):
                continue
            num_tried += 1
            if flaw := flaw_of(case, text, source):
                flaws.setdefault(f"{case.form}: {re.sub(r'[0-9]+', 'N', flaw)[:60]}", (flaw, text))
        _damage_bytes(case, rng, flaws)
    return num_tried, flaws


def _damage_bytes(case: Case, rng: random.Random, flaws: dict[str, tuple[str, str]]) -> None:
    """Damage a compressed text and an array: only a ValueError may come of it."""
    array = io.BytesIO()
    np.save(array, np.zeros((2, 9, 9), dtype=rng.choice([np.uint8, np.float32, np.int64])))
    for content in (gzip.compress(case.text.encode()), array.getvalue(), case.text.encode("utf-16")):
        damaged = bytearray(content)
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            read_arguments(["-"], lambda damaged=damaged: bytes(damaged))  # type: ignore[misc]
        except ValueError as error:
            if "\n" in str(error):
                flaws.setdefault("bytes: lines", (str(error), repr(bytes(damaged))))
        except Exception as error:
            flaws.setdefault(f"bytes: {type(error).__name__}", (str(error), repr(bytes(damaged))))


def main() -> None:
    """Print the flaws."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    num_tried, flaws = fuzz(options.seconds, options.seed)
    for name, (flaw, text) in flaws.items():
        print(f"{name}\n  {flaw}\n  {text[:2000]!r}")
    print(f"{num_tried:,} mutated texts, {len(flaws)} kinds of flaws")
    raise SystemExit(bool(flaws))


if __name__ == "__main__":
    main()
