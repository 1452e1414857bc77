"""Whatever form a puzzle is written in, it is read as what was meant, by file, pipe, argument and in Python alike."""

import bz2
import gzip
import io
import json
import os
import re
import threading
import zipfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.puzzles.maze.data import TEXT as MAZE_TEXT
from serrm.puzzles.maze.data import iterate_mazes
from serrm.puzzles.sudoku.data import TEXT as SUDOKU_TEXT
from serrm.puzzles.sudoku.data import generate_puzzles
from serrm.reading.question import Question
from serrm.reading.reader import questions_of, read_argument, read_arguments, read_file, read_text
from tests.conftest import CLUES
from tests.reading.forms import LARGE, SIGNS, TEXTS, line, rows

MAZE_ROWS = ["#######", "#S    #", "# ### #", "# #   #", "# # # #", "#   #G#", "#######"]
MAZE = "".join(MAZE_ROWS)


def grids(side: int, num: int) -> list[list[int]]:
    return [
        SUDOKU_TEXT.numbers(puzzle.question).tolist()
        for puzzle in generate_puzzles(side, num, np.random.default_rng(3), CLUES[side])
    ]


GRIDS = grids(9, 4)
SMALL = grids(4, 4) + grids(6, 2)
BASE = np.array([[(4 * (r % 4) + r // 4 + c) % 16 + 1 for c in range(16)] for r in range(16)])
LARGE_GRID = np.where(np.arange(256) % 3 == 1, 0, BASE.reshape(-1)).tolist()
# In hexadecimal signs, as the numbers 0…15; of the 16 values all are there.
HEX = "".join("." if not cell else "0123456789ABCDEF"[cell - 1] for cell in LARGE_GRID)


def numbers(question: Question) -> list[int]:
    return SUDOKU_TEXT.numbers(question.cells).reshape(-1).tolist()


def numbers_of(questions: list[Question]) -> list[list[int]]:
    return [numbers(question) for question in questions]


def ways(text: str, path: Path) -> dict[str, list[Question]]:
    """The puzzles of a text that comes as a file, by standard input, as an argument and in Python."""
    path.write_text(text, newline="")
    return {
        "file": read_file(path),
        "standard input": read_arguments(["-"], text.encode),
        "argument": read_arguments([text], bytes),
        "Python": read_argument(text),
        "path": list(questions_of(path)),
    }


@pytest.mark.parametrize("form", TEXTS)
def test_a_form_is_read_in_every_way(form: str, tmp_path: Path) -> None:
    for grid in GRIDS[:2]:
        for way, questions in ways(TEXTS[form](grid), tmp_path / "puzzle").items():
            assert numbers_of(questions) == [grid], way
            assert questions[0].task == "sudoku" and "\n" not in questions[0].text


@pytest.mark.parametrize("form", LARGE)
def test_a_form_of_a_large_grid(form: str, tmp_path: Path) -> None:
    for way, questions in ways(LARGE[form](LARGE_GRID), tmp_path / "puzzle").items():
        assert numbers_of(questions) == [LARGE_GRID], way


# Forms that are a whole text, not a part of one.
WHOLE = {"header of other names", "semicolons", "tabs", "quotes", "markup", "assignment", "array", "code"}
NINES, FOURS, LARGES, MAZES = "nine by nine", "small", "large", "maze"
KINDS = {
    NINES: (GRIDS, sorted(TEXTS.keys() - WHOLE)),
    FOURS: (SMALL, ["blank .", "rating after", "blank 0"]),
    LARGES: ([LARGE_GRID], sorted(LARGE.keys() - {"semicolons"})),
    MAZES: ([MAZE, "\n".join(MAZE_ROWS)], ["maze"]),
}
ALL: dict[str, Callable[[Any], str]] = {**TEXTS, **LARGE, "maze": str}
PIECES = st.sampled_from(sorted(KINDS)).flatmap(
    lambda kind: st.tuples(
        st.just(kind), st.sampled_from(KINDS[kind][1]), st.integers(0, len(KINDS[kind][0]) - 1)
    )
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=5), st.sampled_from(["\n\n", "\n# a comment\n", "\n\nGrid 7\n"]))
def test_a_text_of_many_forms_loses_nothing(pieces: list[tuple[str, str, int]], between: str) -> None:
    grids = [KINDS[kind][0][number] for kind, _, number in pieces]
    text = between.join(ALL[form](grid) for (_, form, _), grid in zip(pieces, grids, strict=True))
    questions = read_text(text, "text")
    assert [question.task == "maze" for question in questions] == [kind == MAZES for kind, *_ in pieces]
    for question, grid in zip(questions, grids, strict=True):
        if isinstance(grid, str):
            assert question.text == MAZE
        else:
            assert numbers(question) == grid


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(TEXTS)),
    st.sampled_from(GRIDS),
    st.sampled_from(["delete", "insert", "replace"]),
    st.integers(0, 10**6),
    st.sampled_from("q#.~5 ,é\n\x00["),
)
def test_a_damaged_text_is_refused_or_every_clue_is_kept(
    form: str, grid: list[int], way: str, place: int, character: str
) -> None:
    text = TEXTS[form](grid)
    at = place % len(text)
    end = at if way == "insert" else at + 1
    damaged = text[:at] + ("" if way == "delete" else character) + text[end:]
    try:
        questions = read_text(damaged, "text")
    except ValueError as error:
        assert "\n" not in str(error) and str(error).startswith("text")
        return
    # At most one cell is another than was meant, where a symbol was replaced by a symbol.
    for question in questions:
        if question.side == 9:
            assert sum(one != two for one, two in zip(numbers(question), grid, strict=True)) < 2


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from('123.0x-|+# SGo\n,;[]{}":aZé'), max_size=200))
def test_any_text_is_puzzles_or_one_line(text: str) -> None:
    for read in (
        lambda: read_text(text, "text"),
        lambda: read_argument(text),
        lambda: list(questions_of([text])),
    ):
        try:
            assert all(question.cells.size for question in read())
        except ValueError as error:
            assert "\n" not in str(error)


# Signs.


@pytest.mark.parametrize("form", ["line", "rows"])
def test_hexadecimal_grids_keep_their_zeros_and_are_answered_in_their_signs(form: str) -> None:
    text = HEX if form == "line" else "\n".join(HEX[start : start + 16] for start in range(0, 256, 16))
    [question] = read_text(text, "text")
    assert numbers(question) == LARGE_GRID
    assert question.notation is not None and question.notation.base == 0
    assert question.notation.format(question.cells.reshape(-1)) == HEX


def test_nine_digits_from_zero_are_read_where_nothing_else_fits() -> None:
    text = "".join("." if not cell else str(cell - 1) for cell in GRIDS[0])
    [question] = read_text(text, "text")
    assert numbers(question) == GRIDS[0]


@pytest.mark.parametrize(
    "text",
    [
        line(GRIDS[0]).replace(".", "0", 2),  # a 9 is there, so 0 is a second blank or a mistake
        "00.1" + "." * 77,  # twice in a row
        "[[0, null, 1, 2], [0, 3, 4, null], [0, 0, 0, 0], [0, 0, 0, 0]]",
    ],
)
def test_two_signs_that_may_both_be_blanks_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="'0'"):
        read_text(text, "text")


def test_answers_are_in_the_signs_of_their_question() -> None:
    for form in ("letters", "digits and small letters", "blank .", "numbers"):
        text = LARGE[form](LARGE_GRID)
        [question] = read_text(text, "text")
        assert question.notation is not None
        shown = question.notation.format(question.cells.reshape(-1)).split(" ")
        assert [sign.replace(".", "0") if len(shown) > 1 else sign for sign in shown] == text.split(" ")


def test_a_table_of_hexadecimal_answers() -> None:
    answer = "".join("0123456789ABCDEF"[cell - 1] for cell in BASE.reshape(-1))
    [question] = read_text(f"puzzle,solution\n{HEX},{answer}\n", "text")
    assert question.answer is not None
    assert SUDOKU_TEXT.numbers(question.answer).tolist() == BASE.tolist()


# Mazes.


def test_a_maze_in_rows_in_every_way(tmp_path: Path) -> None:
    for text in ("\n".join(MAZE_ROWS), MAZE, json.dumps(MAZE_ROWS)):
        for questions in ways(text, tmp_path / "maze").values():
            assert [(question.task, question.text) for question in questions] == [("maze", MAZE)]
    many = "\n".join([*MAZE_ROWS, *MAZE_ROWS, "", MAZE, "# a comment", *MAZE_ROWS])
    assert [question.text for question in read_text(many, "text")] == [MAZE] * 4


@pytest.mark.parametrize("between", ["", "\n", "\n# a comment\n", "     \n"])
def test_rows_of_spaces_are_part_of_a_maze(between: str) -> None:
    mazes = [
        MAZE_TEXT.format(maze.question) for maze in islice(iterate_mazes(5, np.random.default_rng(0), 5), 60)
    ]
    if between.isspace() and len(between) > 1:  # such a row may also be the first one of the next maze
        mazes = [maze for maze in mazes if maze[:5].strip() and maze[-5:].strip()]
    in_rows = ["".join(f"{maze[start : start + 5]}\n" for start in range(0, 25, 5)) for maze in mazes]
    for text, maze in zip(in_rows, mazes, strict=True):
        assert [question.text for question in read_text(text, "text")] == [maze]
    for number, maze in enumerate(mazes[1:]):
        text = between.join(in_rows[number : number + 2])
        assert [question.text for question in read_text(text, "text")] == [mazes[number], maze]
    assert [question.text for question in read_text(between.join(in_rows), "text")] == mazes


@pytest.mark.parametrize(
    "rows",
    [
        ["S  G", "    ", "####", "    "],  # whose first row is itself a maze
        ["    ", "#S #", "   #", "   G"],
        ["    ", " S  ", "    ", "#  G"],
    ],
)
def test_no_row_of_a_maze_is_lost(rows: list[str]) -> None:
    maze, other = "".join(rows), ["#S #", "   #", "   G", "####"]
    text = "\n".join(rows)
    for written in (text, f"{text}\n\n", "\r\n".join(rows), f"\n{text}\n    ", rows, [*map(list, rows)]):
        assert [question.text for question in questions_of(written)] == [maze]
    for first, second in ((rows, other), (other, rows)):
        questions = read_text("\n".join([*first, *second]), "text")
        assert [question.text for question in questions] == ["".join(first), "".join(second)]
        assert [question.place for question in questions] == ["text:1", "text:5"]


@pytest.mark.parametrize("rows", [["#S #", "   #", "   G", "####", "#  #"], ["S  G", "    ", "####"]])
def test_a_row_of_no_maze_is_an_error(rows: list[str]) -> None:
    for text in ("\n".join(rows), "\n".join(["#S #", "   #", "   G", "####", *rows])):
        with pytest.raises(ValueError, match=r"^text:1: "):
            read_text(text, "text")


def test_a_wrapped_maze_may_have_a_line_of_spaces() -> None:
    for maze in ("#S#  #" + " " * 18 + "#    #" + "#   G ", "#S#  #" + "#    #" + "#   G " + " " * 18):
        lines = [maze[start : start + 9] for start in range(0, 36, 9)]
        assert [question.text for question in read_text("\n".join(lines), "text")] == [maze]


@pytest.mark.parametrize("between", ["", "\n", "    \n", "----\n"])
def test_rows_of_spaces_are_part_of_a_sudoku(between: str) -> None:
    grids = ["     13 4  2  4 ", "1   3  2 4      ", "  41      4 2   ", "        4  21  3"]
    texts = ["".join(f"{grid[start : start + 4]}\n" for start in range(0, 16, 4)) for grid in grids]
    for text, grid in zip(texts, grids, strict=True):
        assert [question.text for question in read_text(text, "text")] == [grid.replace(" ", ".")]
    questions = read_text(between.join(texts), "text")
    assert [question.text for question in questions] == [grid.replace(" ", ".") for grid in grids]


@pytest.mark.parametrize("wrong", ["E", "g", ".", "0"])
def test_a_maze_with_a_wrong_character_names_it_and_its_line(wrong: str) -> None:
    with pytest.raises(ValueError, match=rf"^text:2: '\{wrong}'" if wrong == "." else f"^text:2: '{wrong}'"):
        read_text("\n".join([MAZE, MAZE.replace("G", wrong), MAZE]), "text")
    spoilt = "\n".join(MAZE_ROWS).replace("G", wrong)
    with pytest.raises(ValueError, match=re_of(wrong)):
        read_text(spoilt, "text")


def re_of(character: str) -> str:
    return f"'\\{character}'" if character == "." else f"'{character}'"


@pytest.mark.parametrize(
    "text", [MAZE[1:], MAZE[:-1], "\n".join(MAZE_ROWS[1:]), MAZE.replace("G", " "), MAZE.replace("S", " ")]
)
def test_a_maze_with_a_part_missing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^text:1: "):
        read_text(text, "text")


@pytest.mark.parametrize("changed", [("S", "s"), (" ", "."), (" ", "0"), ("G", "E")])
def test_a_maze_in_rows_of_other_signs_is_not_a_comment(changed: tuple[str, str]) -> None:
    rows = "\n".join(MAZE_ROWS).replace(*changed)
    for text in (rows, f"{MAZE}\n\n{rows}"):
        with pytest.raises(ValueError, match=f"'{re.escape(changed[1])}'"):
            read_text(text, "text")


def test_comments_and_headings_are_not_mazes() -> None:
    text = f"# mazes of S and G\n#AMe\n####### easy #######\n#\n{MAZE}\n# end"
    assert [question.place for question in read_text(text, "text")] == ["text:5"]


# Whatever holds the text.


def in_zip(content: bytes) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        archive.writestr("folder/puzzles.txt", content)
        archive.writestr("__MACOSX/._puzzles.txt", b"\x00\x05")
    return memory.getvalue()


WRAPPERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zip": in_zip,
    "BOM": lambda content: b"\xef\xbb\xbf" + content,
    "UTF-16": lambda content: content.decode().encode("utf-16"),
    "Latin-1 in a comment": lambda content: "# M\xfcller\n".encode("latin-1") + content,
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_compressed_and_encoded_files_and_pipes(wrapper: str, tmp_path: Path) -> None:
    content = WRAPPERS[wrapper](f"{line(GRIDS[0])}\n{line(GRIDS[1])}\n".encode())
    (tmp_path / "file").write_bytes(content)
    assert numbers_of(read_file(tmp_path / "file")) == GRIDS[:2]
    assert numbers_of(read_arguments(["-"], lambda: content)) == GRIDS[:2]
    os.mkfifo(tmp_path / "pipe")
    threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(content), daemon=True).start()
    assert numbers_of(read_file(tmp_path / "pipe")) == GRIDS[:2]


def test_a_text_with_a_byte_order_mark_is_read_in_python() -> None:
    for form in ("rows", "json rows", "json object", "assignment"):
        text = TEXTS[form](GRIDS[0]).replace("], [", "],\n[")
        assert numbers_of(list(questions_of(f"\ufeff{text}"))) == GRIDS[:1], form


def test_arrays_in_files(tmp_path: Path) -> None:
    np.save(tmp_path / "grids.npy", np.array(GRIDS, dtype=np.uint8))
    assert numbers_of(read_file(tmp_path / "grids.npy")) == GRIDS


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b"x", mtime=0)[:-9],  # without the time, so that the test's name stays the same
        bz2.compress(b"x")[:-9],
        b"PK\x03\x04nothing",
        b"PAR1" * 20,
        b"\x00" * 50,
        b"\x93NUMPY",
        b"%PDF-1.4",
        "5\xfc.".encode("latin-1"),
    ],
)
def test_binary_content_is_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match="file") as raised:
        read_file(tmp_path / "file")
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 300


@pytest.mark.parametrize("name", ["notes.txt", "folder/notes", "../puzzles.csv.gz"])
def test_a_missing_file_is_named(name: str) -> None:
    for read in (
        lambda: read_arguments([name], bytes),
        lambda: read_argument(name),
        lambda: list(questions_of(Path(name))),
    ):
        with pytest.raises(ValueError, match=f"(no file {name}|{name}: no such file)"):
            read()


# Python values.

ARRAY = np.array(GRIDS, dtype=np.int64)
NONE = [[cell or None for cell in row] for row in ARRAY[0].reshape(9, 9).tolist()]


@pytest.mark.parametrize(
    ("value", "num"),
    [
        (ARRAY, 4),
        (ARRAY.reshape(-1, 9, 9), 4),
        (ARRAY.reshape(2, 2, 9, 9), 4),
        (ARRAY[0], 1),
        (ARRAY[0].reshape(9, 9), 1),
        (ARRAY[:1], 1),
        (ARRAY.astype(np.float32), 4),
        (np.where(ARRAY == 0, np.nan, ARRAY), 4),
        (np.array(NONE, dtype=object), 1),
        (np.where(ARRAY == 0, -1, ARRAY), 4),
        ({"puzzles": [line(grid) for grid in GRIDS]}, 4),
        ({"quizzes": ARRAY, "source": "a"}, 4),
        (NONE, 1),
        (torch.from_numpy(ARRAY), 4),
        (torch.from_numpy(ARRAY.reshape(-1, 9, 9)).float(), 4),
        ([torch.from_numpy(grid) for grid in ARRAY], 4),
        (ARRAY.tolist(), 4),
        ([[str(cell or "") for cell in row] for row in ARRAY[0].reshape(9, 9).tolist()], 1),
        (rows(GRIDS[0]), 1),
        ([line(grid) for grid in GRIDS], 4),
        (np.array([line(grid) for grid in GRIDS]), 4),
        ({"first": line(GRIDS[0]), "second": ARRAY[1].tolist()}, 2),
        (f"{line(GRIDS[0])}\n".encode(), 1),
    ],
)
def test_arrays_of_every_shape_and_kind(value: Any, num: int) -> None:
    assert numbers_of(list(questions_of(value))) == GRIDS[:num]


def test_tables_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"puzzle": [line(grid) for grid in GRIDS], "rating": 1})
    assert numbers_of(list(questions_of(frame))) == numbers_of(list(questions_of(frame["puzzle"]))) == GRIDS


def test_an_array_of_sixteen_rows_is_one_grid_or_sixteen() -> None:
    fours = [grid for grid in SMALL if len(grid) == 16][:1] * 16
    assert [question.side for question in questions_of(np.array(fours))] == [4] * 16
    assert [question.side for question in questions_of(np.array(LARGE_GRID).reshape(16, 16))] == [16]
    assert [question.side for question in questions_of(np.zeros((16, 16)))] == [16]


@pytest.mark.parametrize(
    "value",
    [
        np.full((9, 9), 0.5),
        np.full((9, 9), 10),
        np.full((9, 9), -2),
        np.zeros((9, 8)),
        np.zeros((3, 80)),
        [[True] * 9] * 9,
        [[*range(9)]] * 8,
        7,
        None,
        [],
        {},
        [{"input": [[1]], "output": [[2]]}],
        {"train": [{"input": [[1]], "output": [[2]]}]},
        {"task": "arc", "question": "[[1]]", "answer": "[[2]]"},
    ],
)
def test_other_values_are_one_line(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^puzzle") as raised:
        list(questions_of(value))
    assert "\n" not in str(raised.value)


def test_signs_of_all_values_are_known() -> None:
    assert len(SIGNS) == 25
