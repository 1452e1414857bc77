"""Puzzles are found in whatever they come in, lazily, and what is none says so."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from serrm.solving.puzzle_stream import read_arguments, read_lines
from serrm.solving.questions import Entry, entries_of_text

SUDOKU = "12..34..4..1.3.2"
ROWS = [[1, 2, 0, 0], [3, 4, 0, 0], [4, 0, 0, 1], [0, 3, 0, 2]]
MAZE = "S  #" + " # #" + "    " + "## G"
ARC = {"train": [], "test": [{"input": [[1, 2], [3, 0]]}, {"input": [[5]]}]}


def read(*lines: str, task: str = "sudoku") -> list[Entry]:
    return list(read_lines((f"{line}\n" for line in lines), "input", task, "name"))


def cells(entry: Entry) -> list[int]:
    assert entry.question is not None, entry.error
    return entry.question.cells.reshape(-1).tolist()


@pytest.mark.parametrize(
    "lines",
    [
        [SUDOKU],
        [f"  {SUDOKU[:8]} {SUDOKU[8:]}\t\r"],
        [json.dumps(SUDOKU)],
        [json.dumps(ROWS)],
        [json.dumps({"question": SUDOKU})],
        [json.dumps({"size": 4, "grid": ROWS})],
        [json.dumps({"puzzle": ["12..", "34..", "4..1", ".3.2"]})],
        json.dumps({"size": 4, "grid": ROWS}, indent=2).splitlines(),
        json.dumps([ROWS], indent=1).splitlines(),
        ["# a comment", "", SUDOKU],
        ["source,question,answer,rating", f"x,{SUDOKU},,"],
        ["Puzzle\tSolution", f"{SUDOKU}\t1"],
        ['"quizzes","solutions"', f'"{SUDOKU}","1"'],
    ],
)
def test_one_sudoku_in_many_forms(lines: list[str]) -> None:
    (entry,) = read(*lines)
    assert cells(entry) == [int(c) if c != "." else 0 for c in SUDOKU]
    assert entry.question is not None
    assert (entry.question.task, entry.question.side) == ("sudoku", 4)
    assert entry.place.startswith("input")


def test_mazes_may_begin_like_comments() -> None:
    turned = MAZE[::-1]
    entries = read(MAZE, turned, "# G and S", "####", "#G G" + turned[4:], json.dumps(MAZE))
    assert [entry.question is not None for entry in entries] == [True, True, False, True]
    assert all(entry.question.task == "maze" for entry in entries if entry.question)
    assert len(read("# no comment", task="maze")) == 1
    (entry,) = entries_of_text(MAZE[:4] + "\n" + MAZE[4:], "argument 1")
    assert cells(entry)[:4] == [3, 2, 2, 1]


def test_the_test_inputs_of_arc_tasks() -> None:
    one, many = read(json.dumps(ARC)), read(*json.dumps({"aa": ARC, "bb": ARC}, indent=1).splitlines())
    assert [entry.question.name for entry in one if entry.question] == ["name", "name"]
    assert [entry.question.name for entry in many if entry.question] == ["aa", "aa", "bb", "bb"]
    assert [entry.place for entry in many][2:] == ["input bb test 1", "input bb test 2"]
    assert cells(one[0]) == [1, 2, 3, 0]
    assert one[0].question is not None and one[0].question.cells.shape == (2, 2)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("12345", "5 characters make no square grid"),
        ("5" + "." * 15, "'5' at position 1 is no digit of a 4x4 grid"),
        ("." * 25, "no box shape for a grid of side 5"),
        ("." * 36**2, "at most 35 rows here, not 36"),
        (MAZE[:-1], "15 characters make no square maze"),
        (MAZE.replace("S", " "), "one S, one G and no o, not 0 S, 1 G and 0 o"),
        (MAZE.replace("#", "x", 1), "'x' at position 4"),
        ("[1, 2", "not JSON: Expecting ',' delimiter"),
        ("[" * 100_000, "not JSON: "),
        (f"[{'9' * 5000}]", "not JSON: "),
        ("{}", "no puzzle: '{}'"),
        ("[[[[[1]]]]]", "no puzzle: '[[[1]]]'"),
        ('{"test": []}', "no puzzle"),
        ('{"grid": []}', "no box shape for a grid of side 0"),
        (json.dumps([*ROWS[:3], [0, 3, 0]]), "row 4 is no list of 4 numbers: '[0, 3, 0]'"),
        (json.dumps([*ROWS[:3], [0, 3, 0, True]]), "row 4 holds 'true', not a number 0 to 4"),
        (json.dumps([*ROWS[:3], [0, 3, 0, -1]]), "row 4 holds '-1'"),
        (json.dumps({"test": [{"input": [[10]]}]}), "row 1 holds '10', not a number 0 to 9"),
        (json.dumps({"test": [{"input": [[]]}]}), "no input of 1 to 30 rows and columns"),
        (json.dumps({"test": [{"output": [[1]]}]}), "no input of 1 to 30 rows and columns: 'null'"),
        ("\udcff\x00", "characters make no square grid"),
    ],
)
def test_what_is_no_puzzle_says_why_and_the_rest_goes_on(line: str, message: str) -> None:
    for lines in ([line, SUDOKU], [SUDOKU, line, SUDOKU]):
        entries = read(*lines)
        assert [entry.question is None for entry in entries] == [each == line for each in lines]
        (entry,) = (entry for entry in entries if entry.question is None)
        assert message in entry.error
        assert "\n" not in entry.error
        assert len(entry.error) < 200
        assert entry.place.startswith(f"input:{1 + lines.index(line)}")


def test_a_broken_row_of_a_table_takes_no_other_along() -> None:
    entries = read("source,question", f"a,{SUDOKU}", "a", f'"a,{SUDOKU}', f"b,{SUDOKU}", "c,1\0" * 50_000)
    assert [entry.question is not None for entry in entries] == [True, False, False, True, False]
    assert "1 columns are too few" in entries[1].error


def test_lines_are_read_one_at_a_time() -> None:
    num_read = 0

    def lines(first: str) -> Iterator[str]:
        nonlocal num_read
        num_read = 0
        yield first
        while True:
            num_read += 1
            yield f"x,{SUDOKU}" if first.startswith("source") else SUDOKU

    for first in (SUDOKU, "source,question", json.dumps(ROWS)):
        entries = read_lines(lines(first), "input", "sudoku")
        for number in range(5):
            assert cells(next(entries))
            assert num_read <= number + 2


def test_arguments_are_puzzles_files_or_standard_input(tmp_path: Path) -> None:
    file, folder = tmp_path / "puzzles.txt", tmp_path / "folder"
    file.write_bytes(b"\xef\xbb\xbf" + f"{SUDOKU}\n".encode() + b"\xff\n")
    folder.mkdir()
    task = tmp_path / "abc.json"
    task.write_text(json.dumps(ARC))
    arguments = [SUDOKU, str(file), "-", "." * 900, str(folder), str(task)]
    entries = list(read_arguments(arguments, [f"{SUDOKU}\n"], "sudoku"))
    assert [entry.place for entry in entries] == [
        "argument 1",
        f"{file}:1",
        f"{file}:2",
        "standard input:1",
        "argument 4",
        "argument 5",
        f"{task}:1 test 1",
        f"{task}:1 test 2",
    ]
    assert [entry.question is not None for entry in entries] == [
        True, True, False, True, True, False, True, True,
    ]  # fmt: skip
    assert entries[-1].question is not None and entries[-1].question.name == "abc"
