"""The record of a task: everything that differs between tasks, for stages and commands to read.

A record needs neither torch nor a drawing library. Token 0 is padding in every task; see the paper's section on
symbol-equivariant embeddings for special and usual symbols.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, UInt8

from serrm.core.files import Origin
from serrm.core.settings import Settings
from serrm.puzzles.look import Keys, Look
from serrm.puzzles.raw import Counts, Grids, Published, RawSet, Tokens
from serrm.puzzles.settings import MIRROR
from serrm.puzzles.text import GridText

PADDING: Final = 0  # the token of padding in every task
# (questions, answers) → True for answers that obey it.
Rule = Callable[[Grids, Grids], Bool[np.ndarray, " N"]]


def obey(rule: Rule, questions: Grids, predictions: Grids) -> Bool[np.ndarray, " N"]:
    """Return True for predictions that obey a rule; cells in the padding of the question do not count."""
    return rule(questions, np.where(questions == PADDING, np.uint8(PADDING), predictions))


class Criterion(NamedTuple):
    """A rule whose rate among predictions is scored besides FSR: its name, and its meaning in words."""

    holds: Rule
    name: str
    meaning: str
    binds_labels: bool = False  # a given answer that breaks the rule is refused


@dataclass(frozen=True)
class Alphabet:
    """The token ids 0…K-1 of one task.

    `num_symbols` is K, padding included. `special` are the ids with an embedding of their own where the embeddings of
    symbols are tied. If the task has permutations (`Task.has_permutations`), a token that they may not exchange must be
    special. SE-RRM with tied symbols takes only the first ids, 0, 1, …, as special ones.
    """

    num_symbols: int
    special: tuple[int, ...] = (0, 1)

    @property
    def usual(self) -> tuple[int, ...]:
        """The ids that share an embedding, ascending; symbol permutations exchange them if the task has any."""
        return tuple(token for token in range(self.num_symbols) if token not in self.special)


def as_mirror(source: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """Return the settings of a source of published files, changed to read them from a folder.

    The folder itself is set as `data_sets.<data_set>.files`. `root` is not used here, but a task's own function may
    look which files it has.
    """
    return {**source, "kind": MIRROR}


@dataclass(frozen=True, kw_only=True)
class Task:
    """The record of a task. Grids are tokens."""

    name: str  # in reports
    alphabet: Callable[[int], Alphabet]  # side → the tokens of its grids
    # Where puzzles come from.
    source: Any  # the type of the download stage's setting `source`, a union over `kind`
    # Settings of the stage choose_puzzles, with a field `seed`, which is the data set's.
    subset: type[Settings]
    most_augmentations: int | None = None  # of a puzzle; None: any number
    # (source, directory, seed): writes the files that are neither copied nor downloaded → their origins.
    make: Callable[[Any, Path, int], dict[str, Origin]]
    published: Iterable[Published] = ()  # what the source `hub` downloads
    mirror_files: Callable[[Any], list[str]] = lambda source: []  # source → names of files to copy
    in_words: Callable[[Any, Any], str]  # (source, subset) → their description for the notes beneath tables
    # Plans.
    count: Callable[[Any, Any], Counts]  # (source, subset) → the numbers of puzzles
    # The largest values of settings in `serrm rehearse`, by name; a name counts wherever it stands in the settings of
    # the task and of its runs.
    at_most: Mapping[str, int] = field(default_factory=dict)
    # (settings of the source `hub`, folder) → settings of the source `mirror`.
    as_mirror: Callable[[Mapping[str, Any], Path], dict[str, Any]] = as_mirror
    # Answers.
    # True for answers that obey the rules, without the label; `right_answers` says whether they are right.
    verify: Rule | None = None
    # The right answers of a question: "one", the label, so that rule and label agree (Sudoku); "label", if there are
    # several and FSR counts only the label, as in the paper (mazes); or "any" that `verify` accepts (as graph colouring
    # would have it). Without a rule only the label is right.
    right_answers: Literal["one", "label", "any"] = "one"
    blank: int | None = None  # the token of the cells that a question leaves open
    # True for questions that break no rule. With this function, the search may guess tokens above the blank.
    allows: Callable[[Grids], Bool[np.ndarray, " N"]] | None = None
    # True if a permutation of the usual symbols turns a puzzle with its answer into another one; then the title of the
    # report's picture of permuted symbols, and a note.
    has_permutations: bool = False
    permutation_title: str = "A permutation of the symbols"
    permutation_note: str = ""
    # Reports: the metrics of learning curves, with the main one first; and the plural of a training example.
    curve_metrics: tuple[str, ...] = ("fsr",)
    examples: str = "puzzles"
    # Pictures: `judge` is (side, prediction, question, answer) → a remark, such as "7 of 51 blanks wrong".
    look: Look
    judge: Callable[[int, Tokens, Tokens, Tokens | None], str]

    def __post_init__(self) -> None:
        """Raise ValueError if `right_answers` is "any" and there is no rule."""
        if self.right_answers == "any" and self.verify is None:
            raise ValueError(
                f"{self.name}: right_answers is 'any', but there is no rule to verify answers by"
            )

    @property
    def main_metric(self) -> str:
        """The metric of the paper's tables 1 and 3."""
        return self.curve_metrics[0]

    def special_in_answers(self, side: int) -> tuple[int, ...]:
        """List the special tokens that answers may hold, which are all except padding."""
        return tuple(token for token in self.alphabet(side).special if token != PADDING)

    def is_open(self, questions: Grids) -> Bool[np.ndarray, "N I"]:
        """Return True for the cells that an answer fills, which are those with the token `blank`."""
        return np.asarray(questions == self.blank)

    def obeys(self, questions: Grids, predictions: Grids) -> Bool[np.ndarray, " N"]:
        """Return True for predictions that `verify` accepts (see `obey`)."""
        assert self.verify is not None
        return obey(self.verify, questions, predictions)

    def are_right(self, questions: Grids, predictions: Grids, labels: Grids) -> Bool[np.ndarray, " N"]:
        """Return True for predictions that FSR counts as right.

        The rule decides, or the label if only the label is right.

        Padding of the label does not count, as in the loss.
        """
        if self.verify is not None and self.right_answers != "label":
            return self.obeys(questions, predictions)
        return np.asarray(((predictions == labels) | (labels == PADDING)).all(axis=1))


class Grading(NamedTuple):
    """Grades of difficulty, easiest first, and a function from questions to the grade of each."""

    names: tuple[str, ...]
    of: Callable[[Grids], Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class GridTask(Task):
    """A task on square grids with one label per puzzle. ValueError if its text has another blank."""

    # (raw directory, settings of the subset) → the training set, then the test sets; with an `audit`, at least one test
    # set has the side of the training set, and the first of these is audited.
    raw_sets: Callable[[Path, Any], Mapping[str, RawSet]]
    # True for the text of a user's puzzle, which belongs to the last task of TASKS that recognises it.
    recognises: Callable[[str], bool]
    text: GridText
    # side → what the size of a grid leaves open, such as the boxes of a 6×6 Sudoku, for answers and errors.
    layout: Callable[[int], str] = lambda side: ""
    # (training questions, test questions, side) → entries of audit.json.
    audit: Callable[[Grids, Grids, int], dict[str, Any]] | None = None
    grading: Grading | None = None  # of difficulty
    # (seed, puzzle, augmentation, side) → the parameters of an augmentation; augmentation 0 is the puzzle itself.
    draw: Callable[[int, int, int, int], UInt8[np.ndarray, " P"]]
    # (tokens, parameters, side) → augmented tokens.
    apply: Callable[[Grids, UInt8[np.ndarray, "N P"], int], Grids]
    # The reason why a question has no solution, if that is quick to find.
    flaw: Callable[[Tokens], str | None] = lambda question: None
    # (question, likely tokens by cell) → all its right answers by an exact method, which has a name. Where
    # `right_answers` is "label", it finds the label alone.
    solutions: Callable[[Tokens, Mapping[int, int]], Iterator[Tokens]] | None = None
    exact_method: str = ""
    # A remark on a question with several solutions, if that is quick to find; else empty.
    caveat: Callable[[Tokens], str] = lambda question: ""
    checkpoint: Callable[[int], str] | None = None  # side → the packaged checkpoint for such grids
    # `serrm demo`: the keys that edit a question, by default one per symbol above the blank; and puzzles to try by
    # name, as text or as a function of a seed.
    keys: Keys | None = None
    samples: Mapping[str, str | Callable[[int], str]] = field(default_factory=dict)
    criteria: Mapping[str, Criterion] = field(default_factory=dict)  # by the name of the score
    names_blanks: bool = True  # reports name the mean number of blank cells per puzzle

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blank not in (None, self.text.blank):
            raise ValueError(f"{self.name}: blank is {self.blank}, but that of its text {self.text.blank}")

    def special_in_answers(self, side: int) -> tuple[int, ...]:
        """List the special tokens that answers may hold, without the blank if an answer has to fill it."""
        tokens = super().special_in_answers(side)
        return tuple(token for token in tokens if token != self.blank or token >= self.text.least_in_answer)

    def wrong_label(self, questions: Grids, answers: Grids) -> tuple[int, str] | None:
        """Find the index of an answer that may not be a label, and the reason; None if all may be.

        A label obeys the rule, and then the criteria that bind labels.
        """
        rules = {} if self.verify is None else {"breaks the rules": self.verify}
        for criterion in self.criteria.values():
            if criterion.binds_labels:
                reason = f"obeys the rules, but does not meet the criterion {criterion.name!r}"
                rules[reason] = criterion.holds
        for reason, rule in rules.items():
            if (is_broken := ~obey(rule, questions, answers)).any():
                return int(np.argmax(is_broken)), reason
        return None

    def solution(self, question: Tokens) -> Tokens | None:
        """Find a solution of a question by the exact method; None if there is no solution or no such method."""
        return None if self.solutions is None else next(self.solutions(question, {}), None)

    def only_solution(self, question: Tokens) -> Tokens:
        """Find the solution of a question by the exact method.

        ValueError without this method, or unless there is exactly one solution.
        """
        if self.solutions is None:
            raise ValueError(f"no answer, and {self.name} has no exact method that finds one")
        solutions = list(islice(self.solutions(question, {}), 2))
        if not solutions:
            raise ValueError(self.flaw(question) or "the puzzle has no solution")
        if len(solutions) > 1:
            raise ValueError("the puzzle has several solutions: give the answer that counts")
        return solutions[0]


@dataclass(frozen=True, kw_only=True)
class ArcTask(Task):
    """An ARC-AGI: puzzles are pairs of coloured grids, and variants of a question vote on its answer."""

    curve_metrics: tuple[str, ...] = ("pass_at_2",)
    examples: str = "pairs"
    version: Literal[1, 2]
