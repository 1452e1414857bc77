"""Raw files to Parquet: each set holds its raw puzzles, subsets are seeded, and wrong puzzles are refused."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.core.files import hash_file
from serrm.datasets import sets as sets_module
from serrm.datasets.arc import AUDIT
from serrm.datasets.sets import draw, read_puzzle_set, set_file, write_grid_sets, write_sets
from serrm.puzzles.maze import data as maze_data
from serrm.puzzles.maze import rules as maze_rules
from serrm.puzzles.maze.data import TEXT as MAZE_TEXT
from serrm.puzzles.raw import Puzzle, RawSet
from serrm.puzzles.sudoku import data as sudoku_data
from serrm.puzzles.sudoku.data import TEXT as SUDOKU_TEXT
from serrm.puzzles.sudoku.grade import GRADES
from serrm.puzzles.sudoku.rules import BLANK, are_answers
from serrm.puzzles.tables import read_table, write_table
from serrm.puzzles.tasks import TASKS, grid_task
from serrm.puzzles.transforms import cell_order
from serrm.sources.download import fetch
from tests.hashing import data_hash
from tests.references import count_solutions, generate_mazes

NUM_TRAIN, NUM_TEST = 20, 24
SUDOKU = sudoku_data.GeneratedSudoku(
    kind="generated",
    num_train=NUM_TRAIN,
    num_test=NUM_TEST,
    clues=(34, 40),
    num_16x16=2,
    clues_16x16=(170, 190),
    num_25x25=3,
    clues_25x25=(520, 560),
)
FEWER = SUDOKU.model_copy(update={"num_16x16": 0, "num_25x25": 0, "num_train": 2})
MAZE = maze_data.GeneratedMaze(kind="generated", num_train=9, num_test=5, side=8, min_path=10)
CLUES = {"train": (34, 40), "9x9": (34, 40), "4x4": (7, 7), "16x16": (170, 190), "25x25": (520, 560)}
SIDE = 7
MAZES = generate_mazes(SIDE, 35, np.random.default_rng(0), 8)
TRAIN, TEST = MAZES[:20], MAZES[20:]
ALL_SIZES: dict[str, int | None] = {"4x4": None, "16x16": None, "25x25": None}
ALL: dict[str, Any] = {"num_train": None, "num_test": None, "seed": 0}


@pytest.fixture(scope="module")
def shared_raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generated Sudokus, those of 25×25 as published, one of them without a solution; no test changes them."""
    raw = tmp_path_factory.mktemp("shared") / "raw"
    fetch("sudoku", SUDOKU, raw, seed=0)
    grids = [puzzle.question.reshape(25, 25) for puzzle in read_sudokus(raw, sudoku_data.GENERATED_25X25)]
    clash = grids[0].copy()
    row = next(row for row in clash if np.count_nonzero(row > BLANK) > 1)
    one, other = np.flatnonzero(row > BLANK)[:2]
    row[other] = row[one]
    (raw / sudoku_data.GENERATED_25X25).unlink()
    for number, grid in enumerate([grids[0], clash, *grids[1:]]):
        record = {"difficulty": "generated", "grid": SUDOKU_TEXT.numbers(grid).tolist()}
        (raw / f"sudoku-25x25/{number}.json").write_text(json.dumps(record))
    return raw


def read_sudokus(raw: Path, name: str) -> list[Puzzle]:
    return list(read_table(SUDOKU_TEXT, raw / name))


def fill_mazes(raw: Path, train: list[Puzzle] = TRAIN, test: list[Puzzle] = TEST) -> Path:
    for name, mazes in {"train.csv": train, "test.csv": test}.items():
        write_table(MAZE_TEXT, raw / "maze-generated" / name, mazes)
    return raw


def write(raw: Path, target: Path, task: str = "sudoku", **changes: Any) -> Path:
    sizes: dict[str, Any] = {"num_test_sizes": {}} if task == "sudoku" else {}
    write_sets(raw, target, task, TASKS[task].subset.model_validate({**ALL, **sizes, **changes}))
    return target


def numbers_of(path: Path, raw: Path, name: str) -> list[int]:
    """The numbers of a set's puzzles in the raw file."""
    known = {puzzle.question.tobytes(): number for number, puzzle in enumerate(read_sudokus(raw, name))}
    return [known[question.tobytes()] for question in read_puzzle_set(path)[0]]


def test_every_set_holds_the_generated_puzzles_in_their_order_with_typed_facts(
    shared_raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sets_module, "ROW_GROUP", 7)
    sets = write(shared_raw, tmp_path / "sets", num_test_sizes=ALL_SIZES)
    raw = {
        "train": read_sudokus(shared_raw, "sudoku-9x9/train.csv"),
        "9x9": read_sudokus(shared_raw, "sudoku-9x9/test.csv"),
        "4x4": read_sudokus(shared_raw, sudoku_data.FILE_4X4),
        "16x16": read_sudokus(shared_raw, sudoku_data.FILE_16X16),
        "25x25": [sudoku_data.read_json(shared_raw / f"sudoku-25x25/{number}.json") for number in (0, 2, 3)],
    }
    nums = {"train": NUM_TRAIN, "9x9": NUM_TEST, "4x4": 288, "16x16": 2, "25x25": 3}
    for name, puzzles in raw.items():
        questions, answers = read_puzzle_set(sets / set_file(name))
        assert len(questions) == len(np.unique(answers, axis=0)) == nums[name]
        np.testing.assert_array_equal(questions, [puzzle.question for puzzle in puzzles])
        num_clues = np.count_nonzero(questions > BLANK, axis=1)
        assert are_answers(questions, answers).all()
        assert all(count_solutions(question) == 1 for question in questions[:30])
        assert CLUES[name][0] <= num_clues.min() <= num_clues.max() <= CLUES[name][1]
    table = pq.read_table(sets / set_file("9x9"))
    types = {field.name: str(field.type) for field in table.schema}
    assert types == {**dict.fromkeys(["question", "answer"], "fixed_size_binary[81]"), "grade": "string"}
    audit = json.loads((sets / AUDIT).read_text())
    assert {name: sum(counts.values()) for name, counts in audit["grades"].items()} == nums
    assert audit["grades"]["9x9"] == dict.fromkeys(GRADES, 0) | Counter(table["grade"].to_pylist())
    assert audit["num_symmetric_copies"] == 0


# Generated sets.


@pytest.mark.parametrize(
    ("task", "source", "golden"),
    [("sudoku", FEWER, "32a6fea89444b7ba"), ("maze", MAZE, "63ac5f26e5ef30a5")],
    ids=["sudoku", "maze"],
)
def test_the_seed_decides_all(shared_raw: Path, tmp_path: Path, task: str, source: Any, golden: str) -> None:
    """The 4×4 puzzles do not depend on the other sizes."""
    for name, seed in {"one": 3, "other": 0}.items():
        fetch(task, source, tmp_path / name, seed)
    # A change would make every committed result irreproducible.
    assert data_hash(tmp_path / "one")[:16] == golden
    one, other = ({hash_file(path) for path in (tmp_path / name).rglob("*.csv")} for name in ("one", "other"))
    assert not one & other
    assert task == "maze" or hash_file(shared_raw / sudoku_data.FILE_4X4) in other


# Mazes.


def transform(puzzle: Puzzle, number: int) -> Puzzle:
    order = cell_order(SIDE, number)
    return Puzzle(puzzle.question[order], puzzle.answer[order])


def test_mazes_and_the_counts_of_their_audit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    test = [*TEST, transform(TRAIN[2], 3), transform(TRAIN[2], 6), transform(TRAIN[9], 4)]
    # Without walls there are many shortest paths.
    open_maze = MAZE_TEXT.read("S" + " " * (SIDE**2 - 2) + "G")
    label = maze_rules.shortest_path(open_maze)
    train = [*TRAIN, Puzzle(open_maze, label)]
    sets = write(fill_mazes(tmp_path / "raw", train, test), tmp_path / "sets", "maze")
    for name, mazes in {"train.parquet": train, "test_7x7.parquet": test}.items():
        questions, answers = read_puzzle_set(sets / name)
        np.testing.assert_array_equal(questions, np.stack([maze.question for maze in mazes]))
        np.testing.assert_array_equal(answers, np.stack([maze.answer for maze in mazes]))
    assert json.loads((sets / "audit.json").read_text()) == {
        "num_mazes": {"train": len(train), "test": len(test)},
        "num_with_one_shortest_path": {"train": len(TRAIN), "test": len(test)},
        "num_dihedral_images": 3,
    }
    (warning,) = (record.message for record in caplog.records if record.levelname == "WARNING")
    assert warning.startswith(f"1 of {len(train)} training mazes have several shortest paths")


def test_a_subset_depends_on_the_seed_and_its_own_file_only(shared_raw: Path, tmp_path: Path) -> None:
    some: dict[str, Any] = {
        "num_train": 10,
        "num_test": 12,
        "num_test_sizes": {"4x4": 3, "25x25": 2},
        "seed": 1,
    }
    one, same = (write(shared_raw, tmp_path / name, **some) for name in ("one", "same"))
    other_sizes = {"num_train": None, "num_test_sizes": {"25x25": 2}}
    others = write(shared_raw, tmp_path / "others", **some | other_sizes)
    more = write(shared_raw, tmp_path / "more", **some | {"num_test": 13, "num_test_sizes": {"16x16": 1}})
    seed = write(shared_raw, tmp_path / "seed", **some | {"seed": 2})
    assert hash_file(one / set_file("train")) == hash_file(more / set_file("train")), "trained on as before"
    assert data_hash(one) == data_hash(same)
    for name in ("9x9", "25x25"):
        assert hash_file(one / set_file(name)) == hash_file(others / set_file(name))
    assert hash_file(one / set_file("9x9")) != hash_file(seed / set_file("9x9"))


def test_held_out_is_never_scored(shared_raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the 1,000 training puzzles the first of the test file are held out, and the others are the score."""
    monkeypatch.setattr(sudoku_data, "NUM_HELD_OUT", 2)
    raw = Path(shutil.copytree(shared_raw, tmp_path / "raw"))
    (raw / "sudoku-9x9").rename(raw / "sudoku-extreme-1k")
    chosen = write(raw, tmp_path / "chosen", num_test_sizes=ALL_SIZES, scored="held_out")
    assert sorted(path.name for path in chosen.iterdir()) == [AUDIT, "test_held_out.parquet", "train.parquet"]
    scored = write(raw, tmp_path / "scored")
    train, test = "sudoku-extreme-1k/train.csv", "sudoku-extreme-1k/test.csv"
    assert numbers_of(chosen / "test_held_out.parquet", raw, test) == [0, 1]
    assert numbers_of(scored / "test_9x9.parquet", raw, test) == list(range(2, NUM_TEST))
    for sets in (chosen, scored):
        assert numbers_of(sets / "train.parquet", raw, train) == list(range(NUM_TRAIN))


def test_elsewhere_puzzles_that_are_not_trained_on_are_held_out(shared_raw: Path, tmp_path: Path) -> None:
    drawn = write(shared_raw, tmp_path / "few", num_train=2, num_test=2, scored="held_out")
    train, test = "sudoku-9x9/train.csv", "sudoku-9x9/test.csv"
    trained, chosen = (
        set(numbers_of(drawn / name, shared_raw, train))
        for name in ("train.parquet", "test_held_out.parquet")
    )
    assert len(trained) == len(chosen) == 2 and not trained & chosen
    scored = write(shared_raw, tmp_path / "scored", num_train=2)
    same = set(numbers_of(scored / "train.parquet", shared_raw, train))
    assert same == trained, "choosing changes no training set"
    assert numbers_of(scored / "test_9x9.parquet", shared_raw, test) == list(range(NUM_TEST))


@given(total=st.integers(1, 60), data=st.data(), seed=st.integers(0, 2**32))
def test_a_draw_is_an_ordered_subset_of_larger_draws(total: int, data: st.DataObject, seed: int) -> None:
    small = data.draw(st.integers(1, total))
    large = data.draw(st.integers(small, total))

    def drawn(num: int | None) -> list[int]:
        puzzles = ((number, None) for number in range(total))
        return [number for number, _ in draw(puzzles, num, np.random.default_rng(seed), "9x9")]

    assert len(drawn(small)) == small
    assert drawn(small) == sorted(set(drawn(small)))
    assert set(drawn(small)) <= set(drawn(large))
    assert drawn(total) == drawn(None) == list(range(total))
    with pytest.raises(ValueError, match=rf"^9x9: .*\b{total + 1}\b.*\b{total}\b"):
        drawn(total + 1)


# Refusals.


def with_line(name: str, number: int, text: str) -> Callable[[Path], None]:
    """Put another line into a file of raw Sudokus."""

    def spoil(raw: Path) -> None:
        lines = (raw / name).read_text().splitlines()
        lines[number] = text
        (raw / name).write_text("\n".join(lines) + "\n")

    return spoil


def with_sudokus(change: Callable[..., tuple[list[Puzzle], list[Puzzle]]]) -> Callable[[Path], None]:
    """Put other puzzles into the training and the test file, made of those there."""

    def spoil(raw: Path) -> None:
        names = ("sudoku-9x9/train.csv", "sudoku-9x9/test.csv")
        for name, puzzles in zip(names, change(*(read_sudokus(raw, name) for name in names)), strict=True):
            write_table(SUDOKU_TEXT, raw / name, puzzles)

    return spoil


def swap_digits(puzzle: Puzzle) -> Puzzle:
    """The puzzle without its first two clues, and with these swapped in the answer."""
    question, answer = puzzle.question.copy(), puzzle.answer.copy()
    question[:2], answer[:2] = BLANK, answer[1::-1]
    return replace(puzzle, question=question, answer=answer)


OPEN = MAZE_TEXT.read("S #  " + "   G " + "     " + "     " + "     ")
LONG = Puzzle(OPEN, MAZE_TEXT.read("S #  " + "o  G " + "o  o " + "oooo " + "     "))
SHORT = Puzzle(OPEN, MAZE_TEXT.read("S #  " + "oooG " + "     " + "     " + "     "))
SMALL = sudoku_data.generate_puzzles(4, 1, np.random.default_rng(0), (7, 7))


@pytest.mark.parametrize(
    ("task", "spoil", "place"),
    [
        ("sudoku", with_line("sudoku-9x9/train.csv", 5, "made,12"), r"train\.csv:6: "),
        ("sudoku", with_line("sudoku-25x25/2.json", 0, "{"), r"2\.json"),
        ("sudoku", with_sudokus(lambda a, b: (a, [*b[:3], swap_digits(b[3])])), "9x9: .* puzzle 3 "),
        ("sudoku", with_sudokus(lambda a, b: ([a[0], replace(a[1], answer=None)], b)), "train: puzzle 1 "),
        ("sudoku", with_sudokus(lambda a, b: (a, [a[1], *b])), "row 0 of test_9x9"),
        ("sudoku", with_sudokus(lambda a, b: ([*a[:2], *SMALL], b)), "train: puzzle 2 "),
        ("sudoku", with_sudokus(lambda a, b: (a, [])), "9x9: "),
        (
            "sudoku",
            with_line("sudoku-25x25/2.json", 0, json.dumps({"grid": [[0] * 10] * 6})),
            "60 characters are not a square grid",
        ),
        ("sudoku", lambda raw: (raw / sudoku_data.FILE_16X16).unlink(), r"puzzles\.csv: "),
        ("sudoku", lambda raw: (raw / "sudoku-extreme").mkdir(), "sudoku-extreme"),
        ("maze", lambda raw: fill_mazes(raw, [LONG], [SHORT]), "train: .* puzzle 0 "),
    ],
)
def test_bad_raw_files_are_refused_with_one_line_and_nothing_is_left(
    shared_raw: Path, tmp_path: Path, task: str, spoil: Callable[[Path], object], place: str
) -> None:
    raw = tmp_path / "raw"
    if task == "sudoku":
        shutil.copytree(shared_raw, raw)
    spoil(raw)
    sizes = {"num_test_sizes": ALL_SIZES} if task == "sudoku" else {}
    with pytest.raises(ValueError, match=place) as error:
        write(raw, tmp_path / "sets", task, **sizes)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == [raw]


def test_no_test_set_of_the_training_side_has_a_training_puzzle(tmp_path: Path) -> None:
    def raw_sets(raw: Path, settings: Any) -> dict[str, RawSet]:
        parts = {"train": TRAIN, "one": TEST[:5], "other": [*TEST[5:8], TRAIN[3]]}
        return {
            name: RawSet(SIDE, None, stream=stream, puzzles=enumerate(puzzles))
            for stream, (name, puzzles) in enumerate(parts.items())
        }

    maze = grid_task("maze")
    settings = maze.subset.model_validate(ALL)
    with pytest.raises(ValueError, match="row 3 of test_other"):
        write_grid_sets(tmp_path, tmp_path / "sets", settings, replace(maze, raw_sets=raw_sets))
