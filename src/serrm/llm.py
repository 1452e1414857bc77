"""Scores of a language model on Sudoku, through a server of the OpenAI chat API (table 1, row GPT-OSS).

The paper prints neither its prompt nor its notation, only that the model had no tools and was given only the rules
(table 1, footnote b); prompt and notation here are ours. FSR counts a reply without a grid as unsolved. GPA needs a
grid, so it counts only answered puzzles (footnote c). Puzzles without a response of the server are left out and counted
separately.
"""

import asyncio
import logging
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8
from openai import APIError, AsyncOpenAI

from serrm.arrays.file_sets import read_test_sets
from serrm.core.progress import progress_bar
from serrm.core.randomness import Purpose, keyed_rng
from serrm.puzzles.boxes import box_for_side
from serrm.puzzles.raw import Puzzle
from serrm.puzzles.sudoku.rules import BLANK
from serrm.puzzles.tasks import grid_task
from serrm.scoring.metrics import RATE, RATIO, metrics_of
from serrm.scoring.tally import Tally

logger = logging.getLogger(__name__)

GPA = "gpa_answered"  # the name of the score over the puzzles with a grid
NUM_RETRIES = 3  # per request, by the client
# Decimal numbers with spaces between them, so that 16×16 and 25×25 need no letters.
PROMPT = """\
Solve this {n}×{n} Sudoku.

Put a number from 1 to {n} into every empty cell, so that each of the {n} rows, each of the {n} columns and each \
of the {n} boxes ({rows} rows by {cols} columns) holds every number from 1 to {n} exactly once. The given numbers \
stay where they are. There is a solution.

The puzzle, one line a row, cells separated by spaces, a dot for an empty cell:

```
{grid}
```

Use no tools. End your reply with the complete solution in one fenced block: {n} lines of {n} numbers, separated by \
spaces, without dots, labels or lines between the boxes, and with nothing after it.
"""
# Characters between the numbers of a row: box lines, brackets, commas, quotes, stars.
_SEPARATORS = re.compile(r"[\s|\u2500-\u257F!,;&\[\](){}'\"`*_\\+=-]+")


@dataclass(frozen=True)
class Server:
    """A served model and the options of its requests."""

    address: str  # version included: http://localhost:8000/v1
    model: str
    extra: Mapping[str, Any]  # other fields of requests, such as temperature and max_tokens
    concurrency: int  # simultaneous requests
    key: str | None = None


def ask(server: Server, puzzles: Mapping[str, Sequence[Puzzle]]) -> dict[str, Any]:
    """Request a solution of every puzzle; return the scores, counts and replies by the name of the set.

    ValueError if a request fails before any has been answered: then the address, the model or the key is wrong.
    """
    prompts = [prompt_for(puzzle.question) for puzzle_set in puzzles.values() for puzzle in puzzle_set]
    replies = iter(asyncio.run(_ask_all(server, prompts)))
    return {
        name: score(puzzle_set, [next(replies) for _ in puzzle_set]) for name, puzzle_set in puzzles.items()
    }


async def _ask_all(server: Server, prompts: Sequence[str]) -> list[str | None]:
    """Collect the replies to the prompts; None for a prompt without a response after all retries."""
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs a line per request
    limit, replies = asyncio.Semaphore(server.concurrency), dict[int, str | None]()

    async def request(number: int) -> None:
        async with limit:
            try:
                completion = await client.chat.completions.create(
                    model=server.model,
                    messages=[{"role": "user", "content": prompts[number]}],
                    extra_body=dict(server.extra),
                )
                if not completion.choices:
                    raise ValueError("a response without choices")
                replies[number] = completion.choices[0].message.content or ""
            except (APIError, ValueError) as error:
                if all(reply is None for reply in replies.values()):
                    raise ValueError(f"{server.address}: {error}") from error
                logger.warning("%s: %s", server.address, error)
                replies[number] = None
            bar.update()

    key = server.key or "none"  # without a key, the client would take one from the environment
    client = AsyncOpenAI(base_url=server.address, api_key=key, max_retries=NUM_RETRIES)
    async with client:
        with progress_bar("asking", len(prompts), unit="puzzle") as bar:
            await asyncio.gather(*map(request, range(len(prompts))))
    return [replies[number] for number in range(len(prompts))]


def score(puzzles: Sequence[Puzzle], replies: Sequence[str | None]) -> dict[str, Any]:
    """Score replies: FSR over the puzzles with a response, GPA over those with a grid, with 95% intervals."""
    tally, grids = Tally(grid_task("sudoku"), metrics_of("sudoku")), list[UInt8[np.ndarray, " I"] | None]()
    for puzzle, reply in zip(puzzles, replies, strict=True):
        grids.append(None if reply is None else find_grid(reply, puzzle.side))
        if grids[-1] is not None and puzzle.answer is not None:
            tally.add(*(grid[None] for grid in (puzzle.question, grids[-1], puzzle.answer)))
    num = sum(reply is not None for reply in replies)
    fsr, gpa = tally.sums["fsr"], tally.sums["gpa"]
    scores = RATE.scores("fsr", {"total": fsr["total"], "num": num}) if num else {}
    if gpa["num"]:
        scores |= RATIO.scores(GPA, gpa)
    return {
        "num_puzzles": num,
        "num_answered": fsr["num"],
        "num_without_response": len(puzzles) - num,
        "scores": scores,
        "replies": list(replies),
    }


def draw_puzzles(file: Path, num: int | None) -> dict[str, list[Puzzle]]:
    """Draw the Sudokus of a file at random by size of grid, at most `num` per size, with answers.

    A missing answer is computed. ValueError for a malformed file, another puzzle, or a wrong answer.
    """
    sets = {}
    for puzzles in read_test_sets(file, file.stem, "sudoku"):
        order = keyed_rng(0, Purpose.SUBSET, puzzles.side).permutation(len(puzzles))
        sets[f"{puzzles.side}x{puzzles.side}"] = [
            Puzzle(puzzles.questions[number], puzzles.answers[number])
            for number in sorted(order[:num].tolist())
        ]
    return sets


def prompt_for(question: UInt8[np.ndarray, " I"]) -> str:
    """Write the prompt for a puzzle of I = n² tokens. ValueError for sizes that no Sudoku has."""
    side = math.isqrt(len(question))
    box = box_for_side(side)
    return PROMPT.format(n=side, rows=box.rows, cols=box.cols, grid=format_rows(question))


def format_rows(grid: UInt8[np.ndarray, " I"]) -> str:
    """Write a square grid of I tokens as lines of numbers, a dot for a blank."""
    rows = grid.reshape(math.isqrt(len(grid)), -1).tolist()
    return "\n".join(" ".join("." if token == BLANK else str(token - BLANK) for token in row) for row in rows)


def find_grid(text: str, side: int) -> UInt8[np.ndarray, " I"] | None:
    """Find the last n consecutive rows of n numbers 1…n in a reply, as n² tokens; None if there are none.

    Thoughts (`<think>`) are skipped. Lines without numbers and letters may separate the rows, all n² numbers may be on
    one line, and up to n = 9 the digits of a row need no separators. The grid may break every rule of Sudoku.
    """
    grid: list[int] | None = None
    values: list[int] = []
    for line in text.rpartition("</think>")[2].partition("<think>")[0].splitlines():
        numbers = _SEPARATORS.sub(" ", line).split()
        if not numbers:
            continue
        if side <= 9:
            numbers = list("".join(numbers))
        row = [int(word) if word.isdecimal() else 0 for word in numbers]
        is_row = len(row) in (side, side**2) and all(1 <= value <= side for value in row)
        values = [*values, *row] if is_row else []
        if len(values) >= side**2:
            grid = values[-(side**2) :]
    return None if grid is None else np.array(grid, np.uint8) + np.uint8(BLANK)
