"""Puzzles of files as scenes to draw: `serrm show`, and the answers of `serrm solve`."""

from dataclasses import replace
from itertools import groupby
from pathlib import Path

from serrm.drawing.examples import Example, example_scene, read_examples
from serrm.drawing.puzzles import DrawnPuzzle, Panel, Scene
from serrm.puzzles.arc import grids as arc
from serrm.puzzles.look import CellLook
from serrm.puzzles.tasks import ARC, grid_task
from serrm.reading.question import Question
from serrm.reading.reader import read_file
from serrm.scoring.predictions import PREDICTIONS

USUAL_SIDE = 9  # of a Sudoku


def read_scene(
    path: Path, number: int | None = None, name: str | None = None, has_answer: bool = False
) -> Scene:
    """Read the puzzle with a number in a file or folder of puzzles, or in a run's predictions; ARC's also by name.

    Without a number it is the first one, of predictions for several sizes the first 9×9.

    With `has_answer`, the answer to a Sudoku or a maze is computed if the file has none. ValueError if the file is
    malformed or the puzzle is missing.
    """
    if (path / PREDICTIONS).is_file():
        path = path / PREDICTIONS
    if path.name == PREDICTIONS:
        return example_scene(path, _example(path, number, name))
    number = number or 1
    puzzles = [list(questions) for _, questions in groupby(read_file(path), _place_of_puzzle)]
    if name is not None:
        puzzles, number = [tests for tests in puzzles if tests[0].name == name], 1
        if not puzzles:
            raise ValueError(f"{path}: no puzzle is named {name!r}")
    if number > len(puzzles):
        raise ValueError(f"{path}: there is no puzzle {number}, only {len(puzzles)}")
    tests = puzzles[number - 1]
    if not tests[0].name:
        return Scene(f"{path.name}: puzzle {number}", [puzzle_of(tests[0], has_answer)])
    has_own_name = name is not None or sum(others[0].name == tests[0].name for others in puzzles) == 1
    label = tests[0].name if has_own_name else f"puzzle {number}"
    title = label if path.stem == label else f"{path.name}: {label}"
    demonstrations = [_arc_puzzle(pair.question, pair.answer) for pair in tests[0].demonstrations]
    return Scene(title, [puzzle_of(test) for test in tests], demonstrations)


def _example(path: Path, number: int | None, name: str | None) -> Example:
    """Find the puzzle of a run's predictions with this number or name; without both the first 9×9, or the first."""
    if number is not None:
        (example,) = read_examples(path, number=number)
        return example
    examples = read_examples(path, num_per_set=1 if name is None else None)
    if name is not None:
        examples = [example for example in examples if example.name.partition(", test ")[0] == name]
    if not examples:
        raise ValueError(f"{path}: no puzzle{'' if name is None else f' is named {name!r}'}")
    return next((example for example in examples if example.puzzle.side == USUAL_SIDE), examples[0])


def _place_of_puzzle(question: Question) -> str:
    """Name the place of a question's puzzle: the tests of an ARC puzzle belong together."""
    return question.place.rpartition(" test ")[0] if question.task == ARC else question.place


def puzzle_of(question: Question, has_answer: bool = False) -> DrawnPuzzle:
    """Convert a question to a puzzle to draw. With `has_answer`, a missing answer on a square grid is computed."""
    if question.task == ARC:
        return _arc_puzzle(question.cells, question.answer)
    tokens, answer = question.cells.reshape(-1), question.answer
    if has_answer and answer is None:
        answer = grid_task(question.task).solution(tokens)
    return DrawnPuzzle(question.task, question.side, tokens, None if answer is None else answer.reshape(-1))


def _arc_puzzle(question: arc.Grid, answer: arc.Grid | None) -> DrawnPuzzle:
    right = None if answer is None else arc.encode(answer, arc.MAX_SIDE)
    # Grids of both ARC-AGIs look alike.
    return DrawnPuzzle("arc_agi_1", arc.MAX_SIDE, arc.encode(question, arc.MAX_SIDE), right)


def written_in(panel: Panel, signs: str) -> Panel:
    """Write a panel in the signs of its question, such as the letters A–P; `signs` may be empty."""
    look = panel.look

    def cell(token: int, is_given: bool, is_wrong: bool) -> CellLook:
        plain = look.cell(token, is_given, is_wrong)
        has_sign = plain.symbol and 0 < token <= len(signs)
        return plain._replace(symbol=signs[token - 1], plain=signs[token - 1]) if has_sign else plain

    return replace(panel, look=replace(look, cell=cell))
