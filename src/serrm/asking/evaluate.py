"""FSR and GPA of a language model by size of grid, as in the GPT-OSS row of table 1 and by its footnotes.

FSR counts a refused and a malformed reply as unsolved. GPA needs a grid, so the paper computes none where the model
refuses (footnote c): `gpa` is there only if every puzzle was answered; `gpa_answered`, over the answered puzzles only,
stands beside their number. A puzzle to which the server gave no response (error, timeout) is no outcome of the model:
it is left out and counted, and the next run asks it again.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from serrm.asking.client import Failure, ask_all, chat_request, read_key, reply_of
from serrm.asking.parse import Kind, Outcome, read_reply
from serrm.asking.prompts import sudoku_prompt
from serrm.asking.questions import PuzzleSets
from serrm.asking.replies import Json, Replies, request_key
from serrm.asking.settings import LanguageModelSettings
from serrm.puzzles.sudoku.parse import Puzzle
from serrm.scoring.intervals import rates
from serrm.scoring.metrics import SudokuTally

logger = logging.getLogger(__name__)

FAMILY = "language_model"
HEARD = (Kind.answered, Kind.malformed, Kind.refused)  # outcomes of the model, the others are the server's


@dataclass
class Outcomes:
    """What became of the puzzles of one set so far."""

    kinds: Counter[Kind] = field(default_factory=Counter)
    answered: SudokuTally = field(default_factory=SudokuTally)

    def add(self, puzzle: Puzzle, outcome: Outcome) -> None:
        """Count a puzzle, whose answer is known."""
        self.kinds[outcome.kind] += 1
        if outcome.grid is not None:
            assert puzzle.answer is not None, "drawn with an answer"
            grids = (puzzle.question, outcome.grid, puzzle.answer)
            self.answered.add(*(grid[None] + np.uint8(1) for grid in grids))

    def entry(self) -> dict[str, Any]:
        """The entry of the set in a metric file. `num_puzzles` is the n of FSR, `num_blank` that of `gpa_answered`."""
        num_puzzles = sum(self.kinds[kind] for kind in HEARD)
        answered = self.answered
        rated = {"fsr": (answered.num_solved, num_puzzles)} if num_puzzles else {}
        if answered.num_blank:
            rated["gpa_answered"] = answered.num_right, answered.num_blank
            if self.kinds[Kind.answered] == num_puzzles:
                rated["gpa"] = rated["gpa_answered"]
        counts = {f"num_{kind.value}": self.kinds[kind] for kind in Kind}
        return {
            "status": "asked",
            "num_puzzles": num_puzzles,
            "num_blank": answered.num_blank,
            **counts,
            "scores": rates(rated),
        }


def evaluate_language_model(sets: PuzzleSets, settings: LanguageModelSettings, cache: Path) -> dict[str, Any]:
    """Ask every puzzle to which the cache holds no response, and score all; returns the `sets` of a metric file.

    Raises:
        ValueError: the server cannot be asked (see `ask_all`), or the cache is damaged. What has been
            answered by then stays in the cache.
    """
    key, replies = read_key(settings), Replies(cache)
    questions = [
        (name, puzzle, chat_request(settings, sudoku_prompt(puzzle.question)))
        for name, puzzles in sets.items()
        for puzzle in puzzles
    ]
    missing = {request_key(each): each for *_, each in questions if replies.get(each) is None}
    num_known = len(questions) - len(missing)
    logger.info("%s: %d puzzles to ask, %d known", settings.model, len(missing), num_known)
    failures: dict[str, Outcome] = {}

    def keep(request: Json, end: Json | Failure) -> None:
        if isinstance(end, Failure):
            logger.warning("%s", end.message)
            failures[request_key(request)] = Outcome(end.kind)
        else:
            replies.put(request, end)

    asyncio.run(ask_all(settings, key, list(missing.values()), keep))
    outcomes = {name: Outcomes() for name in sets}
    for name, puzzle, request in questions:
        response = replies.get(request)
        heard = None if response is None else read_reply(reply_of(response), puzzle.side)
        outcomes[name].add(puzzle, heard or failures[request_key(request)])
    return {name: part.entry() for name, part in outcomes.items()}


def language_model_metrics(
    name: str, profile: str, settings: LanguageModelSettings, sets: dict[str, Any]
) -> dict[str, Any]:
    """The metric file sudoku-<name>-s0.json of a profile, for the language model's row of table 1.

    It has the form of every metric file: zeros where a model would have been trained, for nothing was trained here
    and the size of a model behind an API is not known. How it was asked stands under `language_model` and, with what
    became of the puzzles, in words under `notes`. The sets are those of `evaluate_language_model`.

    Raises:
        ValueError: puzzles without a response are left, so that the file would depend on a server's bad day.
    """
    for of_set, entry in sets.items():
        if num := entry["num_error"] + entry["num_timeout"]:
            raise ValueError(
                f"{of_set}: no response to {num} puzzles; no metric file until they are asked again"
            )
    asked = settings.model_dump(
        mode="json", include={"address", "model", "temperature", "max_tokens", "extra"}
    )
    return {
        "profile": profile,
        "task": "sudoku",
        "model": name,
        "seed": 0,
        "model_info": {"family": FAMILY, "parameters": 0, "parameters_with_task_types": 0},
        "training": {"steps": 0, "samples": 0, "seconds": 0.0},
        "data": {"source": "not trained here", "train_puzzles": 0},
        "learning_curve": [],
        "language_model": asked,
        "notes": [_how_asked(settings), *(_outcomes(of_set, entry) for of_set, entry in sets.items())],
        "sets": sets,
    }


def _how_asked(settings: LanguageModelSettings) -> str:
    limits = {"temperature": settings.temperature, "max_tokens": settings.max_tokens, **settings.extra}
    said = [f"{name} {value}" for name, value in limits.items() if value is not None]
    return ", ".join([f"asked over a chat API as {settings.model}", *said])


def _outcomes(of_set: str, entry: Mapping[str, Any]) -> str:
    """One sentence for the notes beneath the table: outcomes, and GPA where not every puzzle was answered."""
    counts = [f"{entry[f'num_{kind.value}']} {kind.value}" for kind in HEARD]
    text = f"{of_set.replace('x', '×')}: of {entry['num_puzzles']} puzzles {', '.join(counts)}"
    scores = entry["scores"]
    if "gpa_answered" not in scores or "gpa" in scores:
        return text
    rate, low, high = (100 * scores[f"gpa_answered{end}"] for end in ("", "_lo", "_hi"))
    return f"{text}; GPA of the answered only: {rate:.2f} ({low:.2f}–{high:.2f})"
