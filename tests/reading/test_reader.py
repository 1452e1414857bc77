"""Python values, ARC puzzles and what holds the text; invalid input is one line that names its place."""

import gzip
import io
import json
import os
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from serrm.core.archives import MAX_BYTES
from serrm.puzzles.sudoku.data import TEXT, generate_puzzles
from serrm.reading.question import Question
from serrm.reading.reader import questions_of, read_argument, read_arguments, read_file, read_text

PUZZLES = list(generate_puzzles(9, 4, np.random.default_rng(3), (30, 40)))
NUMBERS = np.stack([TEXT.numbers(puzzle.question).astype(np.int64) for puzzle in PUZZLES])
ANSWERS = np.stack(
    [TEXT.numbers(puzzle.answer).astype(np.int64) for puzzle in PUZZLES if puzzle.answer is not None]
)
LINES = [TEXT.format(puzzle.question) for puzzle in PUZZLES]
GRID = NUMBERS[0].reshape(9, 9)
NULLS = [[cell or None for cell in row] for row in GRID.tolist()]
ARC = {
    "train": [{"input": [[1]], "output": [[2, 2]]}],
    "test": [{"input": [[1, 2], [3, 0]]}, {"input": [[5]], "output": [[6]]}],
}
KAGGLE = {
    "x_challenges.json": {"aa": ARC, "bb": ARC},
    "x_solutions.json": {"aa": [[[7]], [[8]]], "bb": [[[9]], [[0]]]},
    "y_challenges.json": {"cc": ARC},  # as Kaggle's test set, whose solutions are not published
    "sample_submission.json": {"cc": [{"attempt_1": [[0, 0], [0, 0]], "attempt_2": [[0, 0], [0, 0]]}]},
}
KAGGLE_ANSWERS = {"aa": [[[7]], [[8]]], "bb": [[[9]], [[0]]], "cc": [None, [[6]]]}


def numbers_of(questions: Any) -> list[list[int]]:
    return [TEXT.numbers(question.cells).reshape(-1).tolist() for question in questions]


@pytest.mark.parametrize(
    ("value", "num"),
    [
        (NUMBERS, 4),
        (NUMBERS.reshape(2, 2, 9, 9), 4),
        (GRID, 1),
        (np.where(NUMBERS == 0, np.nan, NUMBERS), 4),
        (np.array(NULLS, dtype=object), 1),
        (NULLS, 1),
        ([torch.from_numpy(grid) for grid in NUMBERS], 4),
        ((grid for grid in NUMBERS), 4),
        ([[str(cell or "") for cell in row] for row in GRID.tolist()], 1),
        (["".join(map(str, row)) for row in GRID.tolist()], 1),
        (np.array(LINES), 4),
        ([LINES[0], GRID.tolist()], None),
        ({"quizzes": NUMBERS, "solutions": ANSWERS, "source": "a"}, 4),
        ({"question": LINES[:2], "answer": [None, TEXT.format((ANSWERS[1] + 1).astype(np.uint8))]}, 2),
        ({"question": LINES[0], "solution": float("nan"), "id": 3, "variant": "Sudoku"}, 1),
        (f"{LINES[0]}\n".encode(), 1),
    ],
)
def test_values_of_every_shape_and_kind(value: Any, num: int | None) -> None:
    expected = NUMBERS[:num].tolist() if num else NUMBERS[[0, 0]].tolist()
    assert numbers_of(questions_of(value)) == expected


def test_tables_of_pandas_and_pyarrow() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"puzzle": LINES, "rating": [1, 2, pandas.NA, 4], "solution": [np.nan] * 4})
    table = pytest.importorskip("pyarrow").table({"puzzle": LINES, "solution": [None] * 4})
    for value in (frame, frame["puzzle"], table):
        assert numbers_of(questions_of(value)) == NUMBERS.tolist()
    with pytest.raises(ValueError, match="two columns"):
        list(questions_of(pandas.DataFrame([LINES[:2]], columns=["puzzle", "puzzle"])))


@pytest.mark.parametrize(
    "value",
    [
        np.full((9, 9), 0.5),
        np.full((9, 9), 10),
        np.zeros((9, 8)),
        [[True] * 9] * 9,
        [*NULLS[:8], [0] * 9],
        7,
        None,
        [],
        {(0, 0): 5, (0, 1): 0},
        [[[[[[[[[[[[1]]]]]]]]]]]],
        list(zip(NUMBERS, ANSWERS, strict=True)),
        {"input": LINES[0], "solution": LINES[1]},
        {"puzzle": LINES[0], "constraints": ["diagonal"]},
        {"puzzle": LINES, "answer": LINES[:3]},
        {"train": [{"input": [[1]], "output": [[2]]}]},
        {"train": [], "test": [{"input": [[10]]}]},
        {"train": [], "test": [{"input": [[1]], "outptu": [[1]]}]},
        torch.zeros(9, 9, device="meta"),
    ],
)
def test_other_values_are_one_line(value: Any) -> None:
    with pytest.raises(ValueError, match=r"puzzle|tensor") as raised:
        list(questions_of(value))
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 400


@pytest.mark.parametrize(
    "text",
    ["[1, 2", "[" * 100_000, f"[{'9' * 5000}]", f'{{"puzzle": "{LINES[0]}", "puzzle": "{LINES[1]}"}}'],
    ids=["open", "deep", "a large number", "a key twice"],
)
def test_bad_json_is_one_error_with_its_place(text: str) -> None:
    with pytest.raises(ValueError, match=r"^input: .*puzzle") as raised:
        read_text(text, "input")
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 400


def test_an_array_of_sixteen_rows_is_one_grid_or_sixteen() -> None:
    small = np.array([[1, 0, 3, 0, 3, 4, 0, 0, 0, 1, 4, 0, 0, 0, 2, 1]] * 16)
    large = [
        [(4 * (r % 4) + r // 4 + c) % 16 + 1 if (r + c) % 3 else 0 for c in range(16)] for r in range(16)
    ]
    assert [question.side for question in questions_of(small)] == [4] * 16
    assert [question.side for question in questions_of(large)] == [16]


# ARC.


def answers_by_name(questions: list[Question]) -> dict[str, list[Any]]:
    answers = dict[str, list[Any]]()
    for question in questions:
        grid = None if question.answer is None else question.answer.tolist()
        answers.setdefault(question.name, []).append(grid)
    return answers


@pytest.mark.parametrize("ending", ["", ".gz", ".zip"])
def test_the_files_of_kaggle_in_a_folder_or_an_archive(ending: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, value in KAGGLE.items():
            archive.writestr(f"arc/{name}", json.dumps(value))
            file = tmp_path / "folder" / f"{name}{ending}"
            if ending == ".zip":
                with zipfile.ZipFile(file, "w") as member:
                    member.writestr(name, json.dumps(value))
            else:
                file.write_bytes({"": bytes, ".gz": gzip.compress}[ending](json.dumps(value).encode()))
    assert answers_by_name(read_file(tmp_path / "folder")) == KAGGLE_ANSWERS
    assert answers_by_name(read_file(tmp_path / "all.zip")) == KAGGLE_ANSWERS
    one = read_file(tmp_path / "folder" / f"x_challenges.json{ending}")
    assert answers_by_name(one) == {name: KAGGLE_ANSWERS[name] for name in ("aa", "bb")}
    assert {question.task for question in one} == {"arc"}
    assert [pair.answer.tolist() for pair in one[0].demonstrations] == [[[2, 2]]]
    for path in (tmp_path / "folder").glob("x_solutions*"):
        path.write_bytes(json.dumps({"aa": [[[7]], [[8]]]}).encode())
    with pytest.raises(ValueError, match=r"x_solutions\.json.*\bbb$"):
        read_file(tmp_path / "folder")


# What holds the text.


def in_zip(content: bytes) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        archive.writestr("folder/puzzles.txt", content)
        archive.writestr("__MACOSX/._puzzles.txt", b"\x00\x05")
        archive.writestr(".", b"1")
    return memory.getvalue()


def parquet(content: bytes) -> bytes:
    pyarrow, memory = pytest.importorskip("pyarrow"), io.BytesIO()
    pytest.importorskip("pyarrow.parquet").write_table(
        pyarrow.table({"puzzle": content.decode().split()}), memory
    )
    return memory.getvalue()


def as_array(content: bytes) -> bytes:
    memory = io.BytesIO()
    np.save(memory, NUMBERS[:2])
    return memory.getvalue()


WRAPPERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zip": in_zip,
    "gz of zip": lambda content: gzip.compress(in_zip(content)),
    "BOM": lambda content: b"\xef\xbb\xbf" + content,
    "UTF-16": lambda content: content.decode().encode("utf-16"),
    "Latin-1 in a comment": lambda content: "# M\xfcller\n".encode("latin-1") + content,
    "Parquet": parquet,
    "npy": as_array,
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_compressed_and_encoded_files_and_pipes(wrapper: str, tmp_path: Path) -> None:
    content = WRAPPERS[wrapper](f"{LINES[0]}\n{LINES[1]}\n".encode())
    (tmp_path / "file").write_bytes(content)
    assert numbers_of(read_file(tmp_path / "file")) == NUMBERS[:2].tolist()
    assert numbers_of(read_arguments(["-"], lambda: content)) == NUMBERS[:2].tolist()
    os.mkfifo(tmp_path / "pipe")
    threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(content), daemon=True).start()
    assert numbers_of(read_file(tmp_path / "pipe")) == NUMBERS[:2].tolist()


def nested(depth: int) -> bytes:
    content = LINES[0].encode()
    for _ in range(depth):
        content = gzip.compress(content, mtime=0)
    return content


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b"x", mtime=0)[:-9],
        b"PK\x03\x04nothing",
        b"PAR1" * 20,
        b"\x93NUMPY",
        b"BZh91AY&SY",
        nested(4),
        "5\xfc.".encode("latin-1"),
    ],
    ids=range(7),
)
def test_binary_content_is_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match="file") as raised:
        read_file(tmp_path / "file")
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 400


def test_what_unpacks_to_more_than_the_limit_is_refused_in_time(tmp_path: Path) -> None:
    memory, start = io.BytesIO(), time.monotonic()
    with gzip.GzipFile(fileobj=memory, mode="wb", compresslevel=1, mtime=0) as file:
        for _ in range(MAX_BYTES // 2**24 + 1):
            file.write(bytes(2**24))
    with pytest.raises(ValueError, match=r"^standard input: .*\b256 MB"):
        read_arguments(["-"], memory.getvalue)
    assert time.monotonic() - start < 60


LARGE = {
    "signs": "." * 99_000,
    "lines": "x\n" * 49_000,
    "dashes": ("-" * 999 + "x\n") * 99,
    "quotes": 'puzzle\n"' + "x\n" * 49_000,
    "brackets": '[["a"],' * 14_000,
}


@pytest.mark.parametrize("name", LARGE)
def test_the_time_of_a_refusal_is_linear(name: str) -> None:
    start = time.process_time()
    with pytest.raises(ValueError, match="text"):
        read_text(LARGE[name], "text")
    assert time.process_time() - start < 2


@pytest.mark.parametrize("name", ["notes.txt", "folder/notes", "../puzzles.csv.gz"])
def test_a_missing_file_is_named(name: str) -> None:
    for read in (
        lambda: read_arguments([name], bytes),
        lambda: read_argument(name),
        lambda: list(questions_of(Path(name))),
    ):
        with pytest.raises(ValueError, match=f"(no file {name}|{name}: no such file)"):
            read()
