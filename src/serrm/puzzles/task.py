"""The record of a task: all that differs between tasks, from which stages and commands read it.

A record needs neither torch nor a drawing library. Token 0 is padding in every task; see the paper's section on
symbol-equivariant embeddings for special and usual symbols.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, UInt8

from serrm.core.files import Origin
from serrm.core.settings import Settings
from serrm.puzzles.look import Keys, Look
from serrm.puzzles.raw import Counts, Published, RawSet
from serrm.puzzles.settings import MIRROR
from serrm.puzzles.text import GridText

PADDING: Final = 0  # the token of padding in every task
Grid = UInt8[np.ndarray, " I"]
Grids = UInt8[np.ndarray, "N I"]
Rule = Callable[[Grids, Grids], Bool[np.ndarray, " N"]]  # (questions, answers) → which answers obey it


class Criterion(NamedTuple):
    """A rule that is counted of predictions besides the right ones: its name, and its meaning in words."""

    holds: Rule
    name: str
    meaning: str
    binds_labels: bool = False  # an answer of a data set that breaks it is refused


@dataclass(frozen=True)
class Alphabet:
    """The token ids 0…K-1 of one task.

    `num_symbols` is K, padding included; `special` are the ids that no symbol permutation may move.
    """

    num_symbols: int
    special: tuple[int, ...] = (0, 1)

    @property
    def usual(self) -> tuple[int, ...]:
        """The ids that symbol permutations act on, ascending."""
        return tuple(token for token in range(self.num_symbols) if token not in self.special)


def as_mirror(source: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """A source of published files, as one from a folder with these files."""
    return {**source, "kind": MIRROR}


@dataclass(frozen=True, kw_only=True)
class Task:
    """The record of a task. Grids are tokens."""

    name: str  # in reports
    alphabet: Callable[[int], Alphabet]  # of grids of a side
    # Where puzzles come from. `source` are the kinds of the download stage's setting of that name, `make` is
    # (source, directory, seed) → the origins of the files made here, `mirrored` is source → names of files to copy,
    # and `in_words` describes (source, subset) for the notes beneath tables.
    source: Any
    subset: type[Settings]  # settings of the augment stage
    most_augmentations: int | None = None  # of a puzzle; None: any number
    make: Callable[[Any, Path, int], dict[str, Origin]]
    published: Iterable[Published] = ()  # what the source `hub` downloads
    mirrored: Callable[[Any], list[str]] = lambda source: []
    in_words: Callable[[Any, Any], str]
    # Plans: the numbers of puzzles that (source, subset) give, the largest values of these settings in a rehearsal, and
    # the source `hub`, as a params file has it, as one from a folder.
    count: Callable[[Any, Any], Counts]
    at_most: Mapping[str, int] = field(default_factory=dict)
    mirror: Callable[[Mapping[str, Any], Path], dict[str, Any]] = as_mirror
    # Answers.
    verify: Rule | None = None  # which predictions are right, without the label
    # How many answers of a question are right: one, which is the label, so that rule and label agree (Sudoku); several,
    # of which FSR counts only the label, as the paper does (mazes); or any that `verify` accepts (graph colouring).
    # Without a rule only the label is right.
    right_answers: Literal["one", "label", "any"] = "one"
    blank: int | None = None  # the token of the cells that a question leaves open
    # Which cells of questions an answer fills; None: those that hold `blank`.
    open_cells: Callable[[Grids], Bool[np.ndarray, "N I"]] | None = None
    # Which questions break no rule. Where there is one, tokens above the blank may be guessed in its place.
    allows: Callable[[Grids], Bool[np.ndarray, " N"]] | None = None
    # The title of a picture of permuted symbols; empty if usual symbols may not be exchanged. And a note.
    permuted: str = ""
    permuted_note: str = ""
    # Reports: the metrics of learning curves, that of the headline first; and what a model is trained on.
    metrics: tuple[str, ...] = ("fsr",)
    examples: str = "puzzles"
    # Pictures: `judge` is (side, prediction, question, answer) → a remark, such as "7 of 51 blanks wrong".
    look: Look
    judge: Callable[[int, Grid, Grid, Grid | None], str]

    def __post_init__(self) -> None:
        """Raise ValueError if any answer that obeys the rule is right, and there is no rule."""
        if self.right_answers == "any" and self.verify is None:
            raise ValueError(
                f"{self.name}: right_answers is 'any', but there is no rule to verify answers by"
            )

    def is_open(self, questions: Grids) -> Bool[np.ndarray, "N I"]:
        """The cells that an answer fills; padding is none of them."""
        if self.open_cells is None:
            return np.asarray(questions == self.blank)
        return np.asarray(self.open_cells(questions) & (questions != PADDING))

    def obeys(self, questions: Grids, predictions: Grids) -> Bool[np.ndarray, " N"]:
        """Which predictions the rule verifies, whatever they hold in the padding of the question."""
        assert self.verify is not None
        return self.verify(questions, np.where(questions == PADDING, np.uint8(PADDING), predictions))

    def are_right(self, questions: Grids, predictions: Grids, labels: Grids) -> Bool[np.ndarray, " N"]:
        """Which predictions are right, as FSR counts them: by the rule, or by the label where that alone is right.

        Padding of the label does not count, as in the loss.
        """
        if self.verify is not None and self.right_answers != "label":
            return self.obeys(questions, predictions)
        return np.asarray(((predictions == labels) | (labels == PADDING)).all(axis=1))


@dataclass(frozen=True, kw_only=True)
class GridTask(Task):
    """A task on square grids with one label a puzzle."""

    # (raw directory, settings of the subset) → the training set, then the test sets.
    raw_sets: Callable[[Path, Any], Mapping[str, RawSet]]
    # Puzzles of users, as text or as rows of numbers. A puzzle is of the last task of TASKS that recognises it.
    recognises: Callable[[Any], bool]
    text: GridText
    # (training questions, test questions, side) → entries of audit.json.
    audit: Callable[[Grids, Grids, int], dict[str, Any]] | None = None
    # (seed, puzzle, augmentation, side) → a row of numbers; that of augmentation 0 leaves the puzzle as it is.
    draw: Callable[[int, int, int, int], UInt8[np.ndarray, " P"]]
    apply: Callable[[Grids, UInt8[np.ndarray, "N P"], int], Grids]  # (tokens, a row each, side)
    # Why a question has no solution, if that is quick to see, and its solutions by an exact method.
    flaw: Callable[[Grid], str | None] = lambda question: None
    solutions: Callable[[Grid, Mapping[int, int]], Iterator[Grid]] | None = None  # with likely values by cell
    exact_method: str = ""
    # Other facts about a question with a solution: how many solutions it has, if not one and if that is quick to find.
    caveat: Callable[[Grid], str] = lambda question: ""
    checkpoint: Callable[[int], str] | None = None  # the packaged one for grids of a side
    # Of `serrm demo`: the keys that edit a question, by default one for each symbol above the blank; and puzzles to try
    # by name, as text or made from a seed.
    keys: Keys | None = None
    samples: Mapping[str, str | Callable[[int], str]] = field(default_factory=dict)
    criteria: Mapping[str, Criterion] = field(default_factory=dict)  # by the name of the score
    names_blanks: bool = True  # reports say how many blank squares a puzzle has

    def are_labels(self, questions: Grids, answers: Grids) -> Bool[np.ndarray, " N"]:
        """Which answers may be labels: those that obey the rule, and the criteria that bind labels."""
        are_right = np.full(len(questions), True)
        if self.verify is not None:
            are_right &= self.obeys(questions, answers)
        for criterion in self.criteria.values():
            if criterion.binds_labels:
                are_right &= criterion.holds(questions, answers)
        return are_right

    def solution(self, question: Grid) -> Grid | None:
        """A solution of a question by the exact method; None if there is none, or no such method."""
        return None if self.solutions is None else next(self.solutions(question, {}), None)


@dataclass(frozen=True, kw_only=True)
class ArcTask(Task):
    """An ARC-AGI: puzzles are pairs of coloured grids, and variants of a question vote on its answer."""

    metrics: tuple[str, ...] = ("pass_at_2",)
    examples: str = "pairs"
    version: Literal[1, 2]
