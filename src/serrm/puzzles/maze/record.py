"""The record of mazes."""

from collections.abc import Iterator, Mapping

import numpy as np

from serrm.puzzles.look import FILLED, INK, PAPER, WRONG, WRONG_TINT, CellLook, Keys, Look
from serrm.puzzles.maze import data, rules
from serrm.puzzles.maze.rules import GOAL, PATH, START, WALL, shortest_path
from serrm.puzzles.raw import Tokens
from serrm.puzzles.settings import SubsetSettings
from serrm.puzzles.task import Alphabet, Criterion, GridTask
from serrm.puzzles.transforms import NUM_TRANSFORMS, apply_transforms, draw_transform

SAMPLE_SIDE = 8  # the packaged model was trained on mazes of this side
GROUNDS = {WALL: "#3A3A3A", START: "#009E73", GOAL: "#CC79A7", PATH: FILLED}


def recognises(text: str) -> bool:
    """Return True for a text that contains a wall, or a start and a goal among spaces."""
    return "#" in text or {"S", "G"} <= {*text} <= {*data.TEXT.characters}


def cell(token: int, is_given: bool, is_wrong: bool) -> CellLook:
    """Choose the look of a cell."""
    ground_if_wrong = WRONG if token == PATH else WRONG_TINT
    ground = ground_if_wrong if is_wrong else GROUNDS.get(token, PAPER)
    symbol = {START: "S", GOAL: "G"}.get(token, "")
    return CellLook(
        ground, INK if ground in (PAPER, WRONG_TINT) else PAPER, symbol, f"?{data.TEXT.characters}"[token]
    )


def flaw(question: Tokens) -> str | None:
    """Say why a maze has no solution."""
    return None if shortest_path(question) is not None else "there is no path from S to G"


def solutions(question: Tokens, hints: Mapping[int, int]) -> Iterator[Tokens]:
    """Yield the shortest path of `shortest_path`, if there is one; the search needs no hints."""
    path = shortest_path(question)
    if path is not None:
        yield path


def judge(side: int, prediction: Tokens, question: Tokens, answer: Tokens | None) -> str:
    """Judge a prediction in a few words; it may be another shortest path than the answer's."""
    if answer is not None and np.array_equal(prediction, answer):
        return "exactly the answer"
    pair = question[None], prediction[None]
    if rules.are_shortest_paths(*pair).all():
        return "a shortest path" if answer is None else "another shortest path"
    return "a path, not a shortest one" if rules.are_valid_paths(*pair).all() else "no path"


def sample(seed: int) -> str:
    """Generate a random maze, one line per row."""
    maze = next(data.iterate_mazes(SAMPLE_SIDE, np.random.default_rng(seed), min_path=SAMPLE_SIDE))
    return "\n".join(map(data.TEXT.format, maze.question.reshape(SAMPLE_SIDE, SAMPLE_SIDE)))


MAZE = GridTask(
    name="Maze",
    alphabet=lambda side: Alphabet(6),  # 1 wall, 2 space, 3 start, 4 goal, 5 path
    source=data.MazeSource,
    subset=SubsetSettings,
    make=data.make,
    published=data.PUBLISHED,
    mirror_files=data.mirror_files,
    in_words=data.in_words,
    count=data.count_puzzles,
    at_most={"num_per_maze": 1},
    verify=rules.are_valid_paths,
    right_answers="label",  # the paper's exact match
    blank=rules.SPACE,
    look=Look(cell=cell, has_lines=False, legend="wrong squares are orange"),
    judge=judge,
    raw_sets=data.raw_sets,
    recognises=recognises,
    text=data.TEXT,
    audit=data.audit,
    most_augmentations=NUM_TRANSFORMS - 1,
    draw=draw_transform,
    apply=apply_transforms,
    flaw=flaw,
    solutions=solutions,
    exact_method="breadth-first search",
    checkpoint=lambda side: "maze",
    keys=Keys({"#": "wall", " ": "free", "S": "start", "G": "goal"}, brush="#", unique="SG"),
    samples={"New maze": sample},
    # No maze of Maze-Hard has a unique shortest path, so exact match also tests the tie-breaking of the labels.
    criteria={
        "valid": Criterion(rules.are_valid_paths, "Valid paths", "simple paths from start to goal"),
        "valid_shortest": Criterion(
            rules.are_shortest_paths,
            "Shortest paths",
            "shortest valid paths; exact match accepts only the one in the label",
            binds_labels=True,
        ),
    },
    names_blanks=False,
)
