"""Each form of puzzle file is read as meant in every way it comes; a line that does not obey it is an error."""

import random
from itertools import islice
from pathlib import Path

import pytest

from benchmarks.fuzz_reading import BY_LINE, FORMS, Case, cases, flaw_of, fuzz, rows_of
from serrm.reading.question import Question
from serrm.reading.reader import questions_of, read_argument, read_arguments, read_file, read_text

A = "...5..4..1...2.5.65..79...2...4.....4.3...18.......6473578.6....819...6..46..5.1."
A_ANSWER = "732568491198324576564791832619487253473652189825139647357816924281943765946275318"
B = ".9...7...3..1....5.7..2.4.....4.....6...1..59...5.6..1....45.6..428.15.7563.7...4"
SMALL = "1.3.34...14...21"
MAZE_ROWS = ["#######", "#S    #", "# ### #", "# #   #", "# # # #", "#   #G#", "#######"]
MAZE = "".join(MAZE_ROWS)
SPOILT_MAZE = MAZE.replace("S", "s").replace("G", "g")
ROWS = "\n".join(rows_of(A))


def ways(text: str, file: Path) -> dict[str, list[Question]]:
    """The puzzles of a text that comes as a file, by standard input, as an argument and in Python."""
    file.write_text(text, newline="")
    return {
        "file": read_file(file),
        "standard input": read_arguments(["-"], text.encode),
        "argument": read_arguments([text], bytes),
        "Python": read_argument(text),
        "path": list(questions_of(file)),
    }


@pytest.mark.parametrize("seed", range(8))
def test_a_form_is_read_in_every_way(seed: int, tmp_path: Path) -> None:
    for case in islice(cases(random.Random(seed)), 6):
        for way, questions in ways(case.text, tmp_path / "puzzles").items():
            assert flaw_of(case, case.text, lambda text, found=questions: found) is None, (case, way)  # type: ignore[misc]


def test_a_damaged_file_is_read_as_meant_or_refused() -> None:
    num_tried, flaws = fuzz(seconds=60, seed=0, num=2_000)
    assert num_tried >= 2_000 and not flaws


def test_the_cases_have_every_form_and_a_reader_that_drops_a_puzzle_is_a_flaw() -> None:
    forms = {case.form for case in islice(cases(random.Random(0)), 400)}
    assert forms == {*FORMS} and {*BY_LINE} < forms
    case = Case("lines", [(A, A_ANSWER), (B, "")], f"{A}\n{B}\n")
    assert flaw_of(case, case.text, lambda text: read_text(text, "text")[:1]) is not None
    assert flaw_of(case, case.text, lambda text: read_text(text, "text")) is None


READ = {
    "headers of a collection": ("\n".join(["#Aname", "#D", "#Uhttps://example.org", ROWS]), [A]),
    "state": (f"[Puzzle]\n{ROWS}\n[State]\n" + "\n".join(rows_of(A_ANSWER)), [A]),
    "comments": (f"// mine\n{A}\n# theirs\n\n{B}", [A, B]),
    "a quoted field of several lines": (f'id,puzzle\n1,"{ROWS}"\n', [A]),
    "a comment in a table of one column": (f"puzzle\n# hard ones\n{A}\n{B}\n", [A, B]),
    "a maze in rows": ("\n".join(MAZE_ROWS) + "\n\n" + "\n".join(MAZE_ROWS), [MAZE, MAZE]),
    "a maze whose first row is empty": ("   \nS# \n #G", ["   S#  #G"]),
    "dashes for blanks": ("\n".join(rows_of("-" * 9 + A[9:].replace(".", "-"))), ["-" * 9 + A[9:].replace(".", "-")]),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_what_the_grammar_allows(name: str) -> None:
    text, expected = READ[name]
    assert [question.text for question in read_text(text, "text")] == expected


REFUSED = {
    "two rows of a table on one line": (f"id,puzzle\n1,{A}2,{B}\n", 2),
    "fewer fields": (f"id,puzzle\n1,{A}\n{B}\n", 3),
    "s, g and a trailing space": (f"{MAZE}\n{SPOILT_MAZE} \n{MAZE}", 2),
    "other walls": (MAZE.replace("#", "█"), 1),
    "a maze and a Sudoku": (f"{A}\n{MAZE} {A}", 2),
    "white space within a grid": (ROWS.replace("\n", "\n  \n", 1), 2),
    "grids without a line between": (f"{ROWS}\n{ROWS}", 10),
    "a wrong sign in a row": (f"{ROWS}\n\n{ROWS[:12]}q{ROWS[13:]}", 12),
    "hexadecimal": (".0" + "123456789ABCDEF" * 16 + "12345678ABCDEF", 1),
    "spaces for blanks": (A.replace(".", " "), 1),
    "two signs for blanks": (f"{A}\n{B.replace('.', '0')}", 2),
    "an answer that changes a clue": (f"{A} {A_ANSWER.replace('5', '6')}", 1),
    "grids under another name": (f"id,start,solution\n1,{A},{A_ANSWER}", 1),
    "a flag for other rules": (f"puzzle,diagonal\n{A},false\n{A},true\n", 3),
    "numbers between commas": (f"{','.join(A)}\n{','.join(B)}\n", 1),
    "empty fields for blanks": ("\n".join(map(",".join, rows_of(A.replace(".", "0")))).replace("0", ""), 1),
    "a second puzzle below [State]": (f"[Puzzle]\n{ROWS}\n[State]\n{ROWS}\n\n{ROWS}", 22),
    "an open quote": (f'puzzle\n"{A}\n{B}', 2),
    "no table below a title": (f"Sudoku\n{ROWS}", 2),
    "dashes": ("-" * 120_000, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_another_line_is_an_error_with_its_number(name: str) -> None:
    text, number = REFUSED[name]
    with pytest.raises(ValueError, match=rf"^text:{number}: ") as raised:
        read_text(text, "text")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["+---+---+\n| 1 |   |\n", "board = [[1, 2]]", "<sudoku/>", "5,3,0,0"])
def test_what_has_none_of_the_forms_is_told_them(text: str) -> None:
    with pytest.raises(ValueError, match="five forms"):
        read_text(text, "text")
