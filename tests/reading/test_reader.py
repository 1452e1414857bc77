"""Puzzles are read in any form that users have; invalid input is one line that names its place."""

import bz2
import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from serrm.reading.question import Question
from serrm.reading.reader import questions_of, read_arguments, read_file, read_puzzles, read_text

SUDOKU, ANSWER = "12..34..4..1.3.2", "1234341242314322"  # which keeps the clues, and no rule
ROWS = [[1, 2, 0, 0], [3, 4, 0, 0], [4, 0, 0, 1], [0, 3, 0, 2]]
TOKENS = [[number + 1 for number in row] for row in ROWS]
NINE_ROWS = ["53..7....", "6..195...", ".98....6.", "8...6...3", "4..8.3..1", "7...2...6"]
NINE_ROWS += [".6....28.", "...419..5", "....8..79"]
SIXTEEN_ROWS = ["." + ("123456789ABCDEFG" * 2)[(4 * row + row // 4) % 16 :][:15] for row in range(16)]
MAZE_ROWS = ["#####", "#S #G", "# # #", "#   #", "#####"]
MAZE = "S  #" + " # #" + "    " + "## G"
ARC = {
    "train": [{"input": [[1]], "output": [[2, 2]]}],
    "test": [{"input": [[1, 2], [3, 0]]}, {"input": [[5]], "output": [[6]]}],
}


def read(*lines: str) -> list[Question]:
    return read_text("".join(f"{line}\n" for line in lines), "input", "name")


@pytest.mark.parametrize(
    "lines",
    [
        [SUDOKU],
        [f"  {SUDOKU[:8]} {SUDOKU[8:]}\t\r"],
        ["# a comment", "", SUDOKU],
        [json.dumps(ROWS)],
        [json.dumps({"question": SUDOKU})],
        json.dumps({"size": 4, "grid": ROWS}, indent=2).splitlines(),
        json.dumps([SUDOKU], indent=1).splitlines(),
        ["source,question,rating", f"x,{SUDOKU},"],
        ["source,question,answer,rating", f"x,{SUDOKU},,"],
        ["source,question,answer,rating", f"x,{SUDOKU},{ANSWER},"],
        ["Puzzle\tSolution", f"{SUDOKU}\t{ANSWER}"],
        ['"quizzes","solutions"', f'"{SUDOKU}","{ANSWER}"'],
    ],
)
def test_one_sudoku_in_many_forms(lines: list[str]) -> None:
    (question,) = read(*lines)
    assert (question.task, question.side, question.cells.tolist()) == ("sudoku", 4, TOKENS)
    assert question.place.startswith("input:")
    if ANSWER in lines[-1]:
        assert question.answer is not None
        assert question.answer.reshape(-1).tolist() == [int(digit) + 1 for digit in ANSWER]
    else:
        assert question.answer is None


@pytest.mark.parametrize("heading", [["Sudoku"], ["Puzzle", ""], ["Grid", "# easy"], ["Maze", "Puzzle"]])
def test_a_word_above_rows_is_a_heading(heading: list[str]) -> None:
    for rows in (
        [SUDOKU[start : start + 4] for start in range(0, 16, 4)],
        NINE_ROWS,
        SIXTEEN_ROWS,
        MAZE_ROWS,
    ):
        (question,) = read(*heading, *rows)
        assert question.text == "".join(rows)
    with pytest.raises(ValueError, match=r"\b8 rows of 9 symbols\b"):
        read(*heading, *NINE_ROWS[1:])


def test_a_word_above_puzzles_names_their_column() -> None:
    for cell in (SUDOKU, f'"{SUDOKU}"', json.dumps(ROWS).join('""'), f"{SUDOKU},a remark", NINE_ROWS[0] * 9):
        assert [question.place for question in read("Sudoku", *[cell] * 20)] == [
            f"input:{number}" for number in range(2, 22)
        ]
    with pytest.raises(ValueError, match=r"^input:3: "):
        read("question", SUDOKU, "12345")


def test_several_puzzles_in_one_row_of_a_table_are_refused() -> None:
    row = f'"{json.dumps([ROWS, ROWS])}"'
    with pytest.raises(ValueError, match=r"^input:2: 2 puzzles\b"):
        read("source,question", f"a,{row}")
    assert len(read("source,question", f'a,"{json.dumps([ROWS])}"')) == 1


def test_sizes_and_mazes_may_be_mixed_and_mazes_begin_like_comments() -> None:
    questions = read(MAZE, MAZE[::-1], "# G and S", "." * 81, SUDOKU)
    assert [(question.task, question.side) for question in questions] == [
        *[("maze", 4)] * 2, ("sudoku", 9), ("sudoku", 4)
    ]  # fmt: skip
    assert [question.place for question in questions] == ["input:1", "input:2", "input:4", "input:5"]
    assert questions[0].cells[0].tolist() == [3, 2, 2, 1]
    (broken,) = questions_of(MAZE[:4] + "\n" + MAZE[4:])
    assert np.array_equal(broken.cells, questions[0].cells)
    solved = MAZE.replace("    ", "oooo").replace("S  #", "So #").replace(" # #", "o# #")
    assert read("question,answer", f"{MAZE},{solved}")[0].answer is not None


def test_the_tests_of_arc_tasks_come_with_their_demonstrations(tmp_path: Path) -> None:
    first, second = read(*json.dumps(ARC, indent=1).splitlines())
    assert (first.task, first.name, first.answer) == ("arc", "name", None)
    assert first.cells.tolist() == [[1, 2], [3, 0]]
    assert second.answer is not None and second.answer.tolist() == [[6]]
    assert [pair.answer.tolist() for pair in second.demonstrations] == [[[2, 2]]]
    (tmp_path / "x_challenges.json").write_text(json.dumps({"aa": ARC, "bb": ARC}))
    (tmp_path / "x_solutions.json").write_text(json.dumps({"aa": [[[7]], [[8]]], "bb": [[[9]], [[0]]]}))
    many = read_file(tmp_path / "x_challenges.json")
    assert [question.name for question in many] == ["aa", "aa", "bb", "bb"]
    assert [question.answer.tolist() for question in many if question.answer is not None] == [
        [[7]],
        [[8]],
        [[9]],
        [[0]],
    ]
    (tmp_path / "x_solutions.json").write_text(json.dumps({"aa": [[[7]], [[8]]]}))
    with pytest.raises(ValueError, match=r"x_solutions\.json: .*\bbb$"):
        read_file(tmp_path / "x_challenges.json")


KAGGLE = {
    "x_challenges.json": {"aa": ARC, "bb": ARC},
    "x_solutions.json": {"aa": [[[7]], [[8]]], "bb": [[[9]], [[0]]]},
    "y_challenges.json": {"cc": ARC},  # as Kaggle's test set, whose solutions are not published
    "sample_submission.json": {"cc": [{"attempt_1": [[0, 0], [0, 0]], "attempt_2": [[0, 0], [0, 0]]}]},
}
KAGGLE_ANSWERS = {"aa": [[[7]], [[8]]], "bb": [[[9]], [[0]]], "cc": [None, [[6]]]}


def answers_by_name(questions: list[Question]) -> dict[str, list[Any]]:
    answers = dict[str, list[Any]]()
    for question in questions:
        grid = None if question.answer is None else question.answer.tolist()
        answers.setdefault(question.name, []).append(grid)
    return answers


def test_the_files_of_kaggle_in_a_folder_or_an_archive(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, value in KAGGLE.items():
            (tmp_path / "folder" / name).write_text(json.dumps(value))
            archive.writestr(f"arc/{name}", json.dumps(value))
    assert answers_by_name(read_file(tmp_path / "folder")) == KAGGLE_ANSWERS
    assert answers_by_name(read_file(tmp_path / "all.zip")) == KAGGLE_ANSWERS
    assert answers_by_name(read_arguments(["-"], (tmp_path / "all.zip").read_bytes)) == KAGGLE_ANSWERS


@pytest.mark.parametrize("challenges", ["", ".gz", ".zip"])
@pytest.mark.parametrize("solutions", ["", ".gz", ".bz2", ".zip"])
def test_kaggles_solutions_may_be_compressed(challenges: str, solutions: str, tmp_path: Path) -> None:
    for name, ending in (("x_challenges.json", challenges), ("x_solutions.json", solutions)):
        content = json.dumps(KAGGLE[name]).encode()
        if ending == ".zip":
            with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
                archive.writestr(name, content)
        else:
            compress = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[ending]
            (tmp_path / f"{name}{ending}").write_bytes(compress(content))
    for path in (tmp_path / f"x_challenges.json{challenges}", tmp_path):
        assert answers_by_name(read_file(path)) == {name: KAGGLE_ANSWERS[name] for name in ("aa", "bb")}


@pytest.mark.parametrize(
    "bad",
    [
        "12345",
        "5" + "." * 15,
        "." * 25,
        "." * 36**2,
        MAZE[:-1],
        MAZE.replace("S", " "),
        MAZE.replace("#", "x", 1),
        "\udcff\x00",
    ],
)
def test_a_bad_line_is_one_error_with_file_line_and_value(bad: str) -> None:
    for lines in ([SUDOKU, bad, SUDOKU], ["question,answer", f"{bad},", SUDOKU]):
        with pytest.raises(ValueError, match=r"^input:2: ") as raised:
            read(*lines)
        assert "\n" not in str(raised.value) and len(str(raised.value)) < 200


@pytest.mark.parametrize(
    "row",
    ["a", f'"a,{SUDOKU},', f"a,{SUDOKU}", f"a,{SUDOKU},{SUDOKU}", f"a,{SUDOKU},2{ANSWER[1:]}", "c,1\0" * 50],
)
def test_a_bad_row_of_a_table_is_one_error_with_its_line(row: str) -> None:
    with pytest.raises(ValueError, match=r"^input:2: "):
        read("source,question,answer", row, f"b,{SUDOKU},")


@pytest.mark.parametrize(
    "value",
    [
        "[1, 2",
        "[" * 100_000,
        f"[{'9' * 5000}]",
        {},
        [[[[[1]]]]],
        {"test": []},
        [*ROWS[:3], [0, 3, 0]],
        [*ROWS[:3], [0, 3, 0, True]],
        {"question": SUDOKU, "answer": SUDOKU},
        {"test": [{"input": [[10]]}]},
        {"train": [1], "test": [{"input": [[1]]}]},
    ],
)
def test_bad_json_is_one_error_with_its_place(value: Any) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    with pytest.raises(ValueError, match=r"^input: puzzle") as raised:
        read(text)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 250


def test_python_values_are_texts_arrays_and_sequences_of_them() -> None:
    grid = np.array(ROWS)
    for one in (SUDOKU, grid, ROWS, json.dumps(ROWS), tuple(map(tuple, ROWS))):
        (question,) = questions_of(one)
        assert question.cells.tolist() == TOKENS and question.place == "puzzle"
    for several in ([SUDOKU, ROWS], np.stack([grid, grid]), (value for value in (grid, SUDOKU))):
        questions = list(questions_of(several))
        assert [question.cells.tolist() for question in questions] == [TOKENS, TOKENS]
        assert [question.place for question in questions] == ["puzzle 1", "puzzle 2"]
    with pytest.raises(ValueError, match=r"^puzzle 2: .*'7'"):
        list(questions_of([SUDOKU, 7]))


def test_arguments_are_puzzles_files_folders_or_standard_input(tmp_path: Path) -> None:
    file, folder = tmp_path / "puzzles.txt", tmp_path / "folder"
    file.write_bytes(b"\xef\xbb\xbf" + f"{SUDOKU}\n".encode())
    folder.mkdir()
    (folder / "abc.json").write_text(json.dumps(ARC))
    questions = read_arguments(
        [SUDOKU, str(file), "-", "." * 900, str(folder)], lambda: f"\n{SUDOKU}\n".encode()
    )
    assert [each.place for each in questions] == [
        "argument 1",
        f"{file}:1",
        "standard input:2",
        "argument 4",
        *(f"{folder / 'abc.json'}: puzzle test {n}" for n in (1, 2)),
    ]
    assert questions[-1].name == "abc"
    assert [puzzle.side for puzzle in read_puzzles(file, "sudoku")] == [4]
    with pytest.raises(ValueError, match=r"abc\.json: puzzle test 1: .*\bsudoku\b"):
        read_puzzles(folder, "sudoku")
    (folder / "abc.json").unlink()
    with pytest.raises(ValueError, match="folder: "):
        read_file(folder)


@pytest.mark.parametrize(
    "value",
    [
        "0" * 60,
        "\n".join(["0123456789"] * 6),
        [[0] * 10] * 6,
        np.zeros((6, 10), dtype=int),
        np.zeros(60, int),
    ],
)
def test_60_cells_are_not_a_square_grid(value: Any) -> None:
    with pytest.raises(ValueError, match=r"\b60\b|\b6\b.*\b10\b"):
        list(questions_of(value))


@pytest.mark.parametrize(("num", "num_answers"), [(2, 1), (1, 2), (2, 3)])
def test_lists_of_questions_and_answers_have_the_same_length(num: int, num_answers: int) -> None:
    value = {"question": [SUDOKU] * num, "answer": [ANSWER] * num_answers}
    with pytest.raises(ValueError, match=rf"^x: {num} .*\b{num_answers}\b"):
        list(questions_of(value, "x"))


@pytest.mark.parametrize("num", [2, 4])  # four of 4×4 have as many cells as one of 8×8
def test_several_puzzles_in_one_text_of_an_object_are_refused(num: int) -> None:
    with pytest.raises(ValueError, match=rf"\b{num} puzzles\b"):
        list(questions_of({"question": "\n".join(["1.3.\n3.1.\n2.4.\n4.2.\n"] * num)}))
