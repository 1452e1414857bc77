"""Raw files to Parquet: what goes in comes out, subsets are seeded, and wrong puzzles are refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import UInt8

from serrm.datasets import parquet, sudoku_raw
from serrm.datasets import sudoku as puzzle_sets
from serrm.datasets.parquet import draw, read_puzzle_set, set_file
from serrm.datasets.settings import SudokuSubsetSettings
from serrm.datasets.sudoku import write_puzzle_sets
from serrm.manifest import data_hash
from serrm.puzzles.sudoku.grid import are_solutions, box_for_side
from serrm.puzzles.sudoku.parse import Puzzle, write_csv
from serrm.puzzles.sudoku.text import format_grid
from tests.references import seal

NUM_TRAIN, NUM_TEST, NUM_4X4, NUM_16X16, NUM_25X25 = 30, 40, 5, 6, 4
BLANK_SHARE = 0.4


def make_puzzle(side: int, rng: np.random.Generator) -> Puzzle:
    """A solved pattern with its digits and its rows within bands shuffled, some cells blank."""
    root = box_for_side(side).rows
    rows = (np.arange(side).reshape(root, root)[:, rng.permutation(root)]).reshape(-1)
    pattern = (root * (rows % root) + rows // root)[:, None] + np.arange(side)
    digits = rng.permutation(side) + 1
    answer = digits[pattern % side].astype(np.uint8).reshape(-1)
    question = np.where(rng.random(side**2) < BLANK_SHARE, 0, answer).astype(np.uint8)
    return Puzzle(question, answer, side, "made", int(rng.integers(100)))


def make_puzzles(side: int, num: int) -> list[Puzzle]:
    rng = np.random.default_rng([side, num])
    return [make_puzzle(side, rng) for _ in range(num)]


def clash(question: UInt8[np.ndarray, " I"]) -> UInt8[np.ndarray, " I"]:
    """The question with one clue twice in a row: no solution."""
    wrong = question.copy()
    first, second = np.flatnonzero(wrong[:25])[:2]
    wrong[second] = wrong[first]
    return wrong


def fill_raw(raw: Path) -> Path:
    """A raw directory of small sets in the published formats; one more 25×25 puzzle has no solution."""
    for folder in ("sudoku-9x9", "sudoku-4x4", "sudoku-16x16", "sudoku-25x25"):
        (raw / folder).mkdir(parents=True)
    write_csv(raw / "sudoku-9x9/train.csv", make_puzzles(9, NUM_TRAIN))
    write_csv(raw / "sudoku-9x9/test.csv", make_puzzles(9, NUM_TEST))
    write_csv(raw / "sudoku-16x16/puzzles.csv", make_puzzles(16, NUM_16X16))
    lines = ["Puzzle\tSolution"]
    for puzzle in make_puzzles(4, NUM_4X4):
        assert puzzle.answer is not None
        lines.append(f"{format_grid(puzzle.question)}\t{format_grid(puzzle.answer)}")
    (raw / "sudoku-4x4/4x4_sudoku_unique_solution.csv").write_text("\n".join(lines))
    questions = [puzzle.question for puzzle in make_puzzles(25, NUM_25X25)]
    questions.insert(1, clash(questions[0]))
    # Written in reverse, so that the order of names is not that of making.
    for number, question in reversed(list(enumerate(questions))):
        record = {"size": 25, "difficulty": "Easy", "grid": question.reshape(25, 25).tolist()}
        (raw / f"sudoku-25x25/{number}.json").write_text(json.dumps(record))
    return seal(raw)


@pytest.fixture(scope="module")
def shared_raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A raw directory that no test changes."""
    return fill_raw(tmp_path_factory.mktemp("shared") / "raw")


ALL_SIZES: dict[str, int | None] = {"4x4": None, "16x16": None, "25x25": None}
ALL: dict[str, Any] = {"num_train": None, "num_test": None, "num_test_sizes": {}, "seed": 0}


def write(raw: Path, target: Path, **changes: Any) -> Path:
    write_puzzle_sets(raw, target, SudokuSubsetSettings(**{**ALL, **changes}))
    return target


def test_every_set_holds_the_raw_puzzles_in_their_order_with_typed_facts(
    shared_raw: Path, tmp_path: Path
) -> None:
    sets = write(shared_raw, tmp_path / "sets", num_test_sizes=ALL_SIZES)
    nums = {"9x9": NUM_TEST, "4x4": NUM_4X4, "16x16": NUM_16X16, "25x25": NUM_25X25}
    for name, num in {"train": NUM_TRAIN, **nums}.items():
        side = int(name.partition("x")[0]) if name in nums else 9
        questions, answers = read_puzzle_set(sets / set_file(name))
        np.testing.assert_array_equal(questions, [puzzle.question for puzzle in make_puzzles(side, num)])
        assert are_solutions(answers, box_for_side(side)).all()
        assert ((questions == 0) | (questions == answers)).all()
    table = pq.read_table(sets / set_file("9x9"))
    types = {field.name: str(field.type) for field in table.schema}
    assert types == {
        "id": "int32",
        "side": "uint8",
        "question": "fixed_size_binary[81]",
        "answer": "fixed_size_binary[81]",
        "num_clues": "int16",
        "rating": "int32",
        "source": "string",
    }
    puzzle = make_puzzles(9, NUM_TEST)[7]
    row = table.slice(7, 1).to_pylist()[0]
    assert row["question"] == puzzle.question.tobytes()
    assert (row["id"], row["side"], row["source"], row["rating"]) == (7, 9, "made", puzzle.rating)
    assert row["num_clues"] == np.count_nonzero(puzzle.question)
    # File 1 of the 25×25 has no solution, so its number does not occur; the publisher gives no rating.
    table = pq.read_table(sets / set_file("25x25"))
    assert table.column("id").to_pylist() == [0, 2, 3, 4]
    assert table.column("rating").null_count == NUM_25X25


def test_row_groups_change_nothing(shared_raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = read_puzzle_set(write(shared_raw, tmp_path / "one") / set_file("9x9"))
    monkeypatch.setattr(parquet, "ROW_GROUP", 7)
    path = write(shared_raw, tmp_path / "many") / set_file("9x9")
    assert pq.ParquetFile(path).num_row_groups == -(-NUM_TEST // 7)
    for grids, expected_grids in zip(read_puzzle_set(path), expected, strict=True):
        np.testing.assert_array_equal(grids, expected_grids)


def ids(path: Path) -> list[int]:
    numbers: list[int] = pq.read_table(path).column("id").to_pylist()
    return numbers


def test_a_subset_depends_on_the_seed_and_its_own_file_only(shared_raw: Path, tmp_path: Path) -> None:
    some: dict[str, Any] = {
        "num_train": 10,
        "num_test": 12,
        "num_test_sizes": {"4x4": 3, "25x25": 2},
        "seed": 1,
    }
    changes: dict[str, dict[str, Any]] = {
        "same": {},
        "others": {"num_train": None, "num_test_sizes": {"25x25": 2}},
        "seed": {"seed": 2},
    }
    one = write(shared_raw, tmp_path / "one", **some)
    same, others, seed = (write(shared_raw, tmp_path / name, **some | changes[name]) for name in changes)
    assert data_hash(one) == data_hash(same)
    for name in ("9x9", "25x25"):
        assert ids(one / set_file(name)) == ids(others / set_file(name))
    assert ids(one / set_file("9x9")) != ids(seed / set_file("9x9"))


def test_rows_to_choose_on_are_never_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the 1,000 training puzzles the first of the test file are held out, and the others are the score."""
    for module in (puzzle_sets, sudoku_raw):
        monkeypatch.setattr(module, "NUM_HELD_OUT", 2)
    raw = fill_raw(tmp_path / "raw")
    (raw / "sudoku-9x9").rename(raw / "sudoku-extreme-1k")
    seal(raw)
    chosen = write(raw, tmp_path / "chosen", num_test_sizes=ALL_SIZES, scored="held_out")
    assert sorted(path.name for path in chosen.iterdir()) == ["test_held_out.parquet", "train.parquet"]
    scored = write(raw, tmp_path / "scored")
    assert ids(chosen / "test_held_out.parquet") == [0, 1]
    assert ids(scored / "test_9x9.parquet") == list(range(2, NUM_TEST))
    assert ids(chosen / "train.parquet") == ids(scored / "train.parquet") == list(range(NUM_TRAIN))


def test_elsewhere_puzzles_that_are_not_trained_on_are_held_out(shared_raw: Path, tmp_path: Path) -> None:
    drawn = write(shared_raw, tmp_path / "few", num_train=2, num_test=2, scored="held_out")
    trained, chosen = (set(ids(drawn / name)) for name in ("train.parquet", "test_held_out.parquet"))
    assert len(trained) == len(chosen) == 2 and not trained & chosen
    scored = write(shared_raw, tmp_path / "scored", num_train=2)
    assert set(ids(scored / "train.parquet")) == trained, "choosing changes no training set"
    assert ids(scored / "test_9x9.parquet") == list(range(NUM_TEST))
    with pytest.raises(ValueError, match=r"held_out: 512 puzzles asked for, only \d+ there"):
        write(shared_raw, tmp_path / "none", num_train=2, scored="held_out")
    assert not (tmp_path / "none").exists()


@given(total=st.integers(1, 60), data=st.data(), seed=st.integers(0, 2**32))
def test_a_draw_is_an_ordered_subset_that_a_larger_draw_holds(
    total: int, data: st.DataObject, seed: int
) -> None:
    small = data.draw(st.integers(1, total))
    large = data.draw(st.integers(small, total))

    def drawn(num: int | None) -> list[int]:
        puzzles = ((number, None) for number in range(total))
        return [number for number, _ in draw(puzzles, num, np.random.default_rng(seed), "9x9")]

    assert len(drawn(small)) == small
    assert drawn(small) == sorted(set(drawn(small)))
    assert set(drawn(small)) <= set(drawn(large))
    assert drawn(total) == drawn(None) == list(range(total))


def replace_line(path: Path, number: int, text: str) -> None:
    lines = path.read_text().splitlines()
    lines[number] = text
    path.write_text("\n".join(lines) + "\n")


def swap_answer(raw: Path) -> None:
    """Row 3 of the test file: the first two cells of an otherwise right answer are swapped, both blank."""
    path = raw / "sudoku-9x9/test.csv"
    source, question, answer, rating = path.read_text().splitlines()[4].split(",")
    replace_line(path, 4, f"{source},..{question[2:]},{answer[1]}{answer[0]}{answer[2:]},{rating}")


def leak(raw: Path) -> None:
    puzzles = make_puzzles(9, NUM_TEST)
    puzzles[11] = make_puzzles(9, NUM_TRAIN)[4]
    write_csv(raw / "sudoku-9x9/test.csv", puzzles)


def drop_answer(raw: Path) -> None:
    puzzle = make_puzzles(9, 1)[0]
    replace_line(raw / "sudoku-9x9/train.csv", 2, f"made,{format_grid(puzzle.question)},,")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda raw: replace_line(raw / "sudoku-9x9/train.csv", 5, "made,12"), r"train\.csv:6: .*made,12"),
        (
            lambda raw: replace_line(raw / "sudoku-4x4/4x4_sudoku_unique_solution.csv", 2, f"9{'0' * 15}\t1"),
            r"unique_solution\.csv:3: '9' at position 1",
        ),
        (lambda raw: (raw / "sudoku-25x25/3.json").write_text('{"size": 25'), r"3\.json:1: "),
        (swap_answer, r"9x9: the answer of puzzle 3 is no solution: \.\."),
        (drop_answer, "train: puzzle 1 has no answer"),
        (leak, r"row 11 of test_9x9\.parquet is also in train\.parquet: [.1-9]{81}$"),
        (lambda raw: (raw / "sudoku-16x16/puzzles.csv").unlink(), r"puzzles\.csv: no such file"),
        (lambda raw: [path.unlink() for path in raw.glob("sudoku-25x25/*")], "25x25: no puzzles"),
        (lambda raw: (raw / "sudoku-extreme").mkdir(), "exactly one of sudoku-extreme, .* expected"),
        (
            lambda raw: write_csv(raw / "sudoku-9x9/train.csv", [*make_puzzles(9, 3), *make_puzzles(4, 1)]),
            "train: puzzle 3 is 4x4",
        ),
    ],
)
def test_bad_raw_files_are_refused_with_one_line_and_nothing_is_left(
    tmp_path: Path, spoil: Callable[[Path], object], message: str
) -> None:
    raw = fill_raw(tmp_path / "raw")
    spoil(raw)
    seal(raw)
    with pytest.raises(ValueError, match=message) as error:
        write(raw, tmp_path / "sets", num_test_sizes=ALL_SIZES)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == [raw]
