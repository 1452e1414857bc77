"""Slow, obvious answers about puzzles, puzzles to ask about, and files of stages, for tests of several packages."""

from collections.abc import Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import UInt8

from serrm.arrays.arc import ArcPairs
from serrm.arrays.build import build_arc_arrays
from serrm.core.files import write_json
from serrm.datasets.arc import AUDIT, PAIRS, write_pairs
from serrm.puzzles.arc.grids import Pair, PairName, RuleFacts
from serrm.puzzles.maze import rules as maze_rules
from serrm.puzzles.maze.data import iterate_mazes
from serrm.puzzles.raw import Puzzle
from serrm.puzzles.sudoku import search as sudoku_search
from serrm.puzzles.sudoku.rules import are_solutions
from serrm.scoring.predictions import PREDICTIONS, Rows, SetPredictions, write_predictions
from serrm.scoring.schema import Evaluation
from serrm.sources.manifest import MANIFEST, Manifest

# Of a stage's files: scores after a step, and a puzzle to look at.
RATES = {"fsr": 0.5, "fsr_lo": 0.4, "fsr_hi": 0.6, "gpa": 0.7, "gpa_lo": 0.6, "gpa_hi": 0.8}
SCORED = {"status": "scored", "side": 9, "num_puzzles": 12, "headline_steps": 16, "steps": {"16": RATES}}
EXAMPLE = {
    "set": "4x4",
    "side": 4,
    "name": "p7",
    "question": [1] * 16,
    "answer": [2] * 16,
    "predictions": {"16": [2] * 16, "1": [1] * 16},
}


def write_examples(folder: Path, task: str, examples: Sequence[Mapping[str, Any]]) -> Path:
    """Write the predictions of a run, by puzzles such as EXAMPLE; those of a set have the same numbers of steps."""
    sets = []
    for name, group in groupby(examples, lambda example: example["set"]):
        puzzles = list(group)
        questions, answers = (
            np.array([puzzle[part] for puzzle in puzzles], np.uint8) for part in ("question", "answer")
        )
        after = {}
        for step in map(str, sorted(map(int, puzzles[0]["predictions"]))):
            tokens = np.array([puzzle["predictions"][step] for puzzle in puzzles], np.uint8)
            right = (tokens == answers).sum(axis=1)
            blank, confidence = np.full(len(puzzles), tokens.shape[1]), np.ones(len(puzzles), np.float32)
            solved = np.array([puzzle.get("is_right", False) for puzzle in puzzles])
            after[int(step)] = Rows(solved, right, blank, confidence, None, tokens)
        names = [puzzle["name"] for puzzle in puzzles]
        sets.append(SetPredictions(name, puzzles[0]["side"], names, questions, answers, {}, after))
    folder.mkdir(parents=True, exist_ok=True)
    write_predictions(folder / PREDICTIONS, task, sets)
    return folder / PREDICTIONS


def run_scores(profile: str, model: str, sets: dict[str, Any], **changes: Any) -> Evaluation:
    """The scores of an SE-RRM on Sudoku with seed 0, with the given sections changed."""
    source = {"source": "generated puzzles", "source_kind": "generated"}
    values = {
        "profile": profile,
        "name": f"sudoku-{model}-s0",
        "data_set": "sudoku",
        "task": "sudoku",
        "variant": model,
        "seed": 0,
        "model_info": {"family": "se_rrm", "parameters": 1000, "parameters_with_task_types": 1016},
        "training": {"settings_digest": "d", "steps": 6, "samples": 24, "flops": 100, "final_loss": 0.5}
        | {"weights_sha256": "e" * 64},
        "data": {**source, "side": 9, "train_puzzles": 12, "hash": "d" * 64},
        "sets": sets,
        "set_of_trained_size": "9x9",
        **changes,
    }
    return Evaluation.model_validate(values)


def count_solutions(grid: UInt8[np.ndarray, " I"], limit: int = 2) -> int:
    """Solutions of a Sudoku according to CP-SAT, or `limit` if there are at least as many."""
    return sum(1 for _ in islice(sudoku_search.cp_sat_solutions(grid, {}), limit))


def is_solution(grid: UInt8[np.ndarray, " I"]) -> bool:
    """Whether every unit of a Sudoku holds every digit once."""
    return bool(are_solutions(grid[None])[0])


def is_valid_path(maze: UInt8[np.ndarray, " I"], answer: UInt8[np.ndarray, " I"]) -> bool:
    """Whether an answer marks a path in a maze."""
    return bool(maze_rules.are_valid_paths(maze[None], answer[None])[0])


def is_shortest_path(maze: UInt8[np.ndarray, " I"], answer: UInt8[np.ndarray, " I"]) -> bool:
    """Whether it is one of least length."""
    return bool(maze_rules.are_shortest_paths(maze[None], answer[None])[0])


def generate_mazes(side: int, num: int, rng: np.random.Generator, min_path: int) -> list[Puzzle]:
    """The first `num` mazes that are made."""
    return list(islice(iterate_mazes(side, rng, min_path), num))


def read_manifest(raw: Path) -> Manifest:
    """The manifest of a raw directory."""
    return Manifest.model_validate_json((raw / MANIFEST).read_text())


class TaskType(NamedTuple):
    """What a row of the task-type table stands for."""

    puzzle: str
    transform: int
    permutation: UInt8[np.ndarray, "10"]


def describe(pairs: ArcPairs, row: int) -> TaskType:
    """The puzzle and variant of a row."""
    puzzle, variant = divmod(row, pairs.num_variants)
    change = np.asarray(pairs.arrays.index[puzzle, variant])
    return TaskType(pairs.arrays.puzzle_names[puzzle], int(change[0]), change[1:])


def write_arc_arrays(
    folder: Path,
    pairs: Mapping[PairName, Pair],
    canvas: int,
    num_variants: int,
    rules: Mapping[str, RuleFacts] | None = None,
) -> Path:
    """The arrays of ARC pairs, in a folder below theirs; all pairs that are not scored are trained on."""
    folder.mkdir(exist_ok=True)
    write_pairs(folder / PAIRS, pairs, {name for name in pairs if not name.is_scored}, rules or {})
    write_json(folder / AUDIT, {"canvas": canvas})
    build_arc_arrays(folder, folder / "arrays", task="arc_agi_1", num_variants=num_variants, seed=0)
    return folder / "arrays"
