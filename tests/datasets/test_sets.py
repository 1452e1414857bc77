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

from serrm.datasets import sets as sets_module
from serrm.datasets.sets import draw, read_puzzle_set, set_file, write_sets
from serrm.manifest import data_hash
from serrm.puzzles import maze as maze_parse
from serrm.puzzles import sudoku_data
from serrm.puzzles.maze import PATH, MazePuzzle, cell_order, parse_maze, shortest_path
from serrm.puzzles.sudoku import Puzzle, are_solutions, box_for_side, format_grid, write_csv
from serrm.puzzles.tasks import TASKS
from tests.references import generate_mazes, seal

NUM_TRAIN, NUM_TEST, NUM_4X4, NUM_16X16, NUM_25X25 = 30, 40, 5, 6, 4
BLANK_SHARE = 0.4
SIDE = 7
MAZES = generate_mazes(SIDE, 35, np.random.default_rng(0), 8)
TRAIN, TEST = MAZES[:20], MAZES[20:]
ALL_SIZES: dict[str, int | None] = {"4x4": None, "16x16": None, "25x25": None}
ALL: dict[str, Any] = {"num_train": None, "num_test": None, "seed": 0}


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
    """Small Sudoku sets in the published formats; one more 25×25 puzzle has no solution."""
    write_csv(raw / "sudoku-9x9/train.csv", make_puzzles(9, NUM_TRAIN))
    write_csv(raw / "sudoku-9x9/test.csv", make_puzzles(9, NUM_TEST))
    write_csv(raw / "sudoku-16x16/puzzles.csv", make_puzzles(16, NUM_16X16))
    lines = ["Puzzle\tSolution"]
    for puzzle in make_puzzles(4, NUM_4X4):
        assert puzzle.answer is not None
        lines.append(f"{format_grid(puzzle.question)}\t{format_grid(puzzle.answer)}")
    (raw / "sudoku-4x4").mkdir()
    (raw / "sudoku-4x4/4x4_sudoku_unique_solution.csv").write_text("\n".join(lines))
    questions = [puzzle.question for puzzle in make_puzzles(25, NUM_25X25)]
    questions.insert(1, clash(questions[0]))
    (raw / "sudoku-25x25").mkdir()
    # Written in reverse, so that the order of names is not that of making.
    for number, question in reversed(list(enumerate(questions))):
        record = {"size": 25, "difficulty": "Easy", "grid": question.reshape(25, 25).tolist()}
        (raw / f"sudoku-25x25/{number}.json").write_text(json.dumps(record))
    return seal(raw)


def fill_mazes(raw: Path, train: list[MazePuzzle] = TRAIN, test: list[MazePuzzle] = TEST) -> Path:
    for name, mazes in {"train.csv": train, "test.csv": test}.items():
        maze_parse.write_csv(raw / "maze-generated" / name, mazes)
    return seal(raw)


@pytest.fixture(scope="module")
def shared_raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A raw directory that no test changes."""
    return fill_raw(tmp_path_factory.mktemp("shared") / "raw")


def write(raw: Path, target: Path, task: str = "sudoku", **changes: Any) -> Path:
    sizes: dict[str, Any] = {"num_test_sizes": {}} if task == "sudoku" else {}
    write_sets(raw, target, task, TASKS[task].subset.model_validate({**ALL, **sizes, **changes}))
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


def image(maze: MazePuzzle, transform: int) -> MazePuzzle:
    order = cell_order(SIDE, transform)
    return MazePuzzle(maze.question[order], maze.answer[order], SIDE)


def test_mazes_and_what_the_audit_counts(tmp_path: Path) -> None:
    test = [*TEST, image(TRAIN[2], 3), image(TRAIN[2], 6), image(TRAIN[9], 4)]
    # Without walls there are many shortest paths.
    open_maze = parse_maze("S" + " " * (SIDE**2 - 2) + "G")
    label = shortest_path(open_maze)
    assert label is not None
    train = [*TRAIN, MazePuzzle(open_maze, label, SIDE)]
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


def test_row_groups_change_nothing(shared_raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = read_puzzle_set(write(shared_raw, tmp_path / "one") / set_file("9x9"))
    monkeypatch.setattr(sets_module, "ROW_GROUP", 7)
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
    monkeypatch.setattr(sudoku_data, "NUM_HELD_OUT", 2)
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


def spoiled(name: str, number: int, text: str) -> Callable[[Path], None]:
    """Raw Sudokus with another line in a file."""

    def spoil(raw: Path) -> None:
        lines = (fill_raw(raw) / name).read_text().splitlines()
        lines[number] = text
        (raw / name).write_text("\n".join(lines) + "\n")

    return spoil


def swap_answer(raw: Path) -> None:
    """Row 3 of the test file: the first two cells of an otherwise right answer are swapped, both blank."""
    wrong = make_puzzles(9, NUM_TEST)
    assert wrong[3].answer is not None
    question, answer = wrong[3].question.copy(), wrong[3].answer.copy()
    question[:2], answer[:2] = 0, answer[1::-1]
    wrong[3] = Puzzle(question, answer, 9)
    write_csv(fill_raw(raw) / "sudoku-9x9/test.csv", wrong)


def with_sudokus(train: list[Puzzle], test: list[Puzzle]) -> Callable[[Path], None]:
    def fill(raw: Path) -> None:
        fill_raw(raw)
        write_csv(raw / "sudoku-9x9/train.csv", train)
        write_csv(raw / "sudoku-9x9/test.csv", test)

    return fill


def with_mazes(train: list[MazePuzzle], test: list[MazePuzzle]) -> Callable[[Path], Path]:
    return lambda raw: fill_mazes(raw, train, test)


def without_answer(puzzle: Puzzle) -> Puzzle:
    return Puzzle(puzzle.question, None, puzzle.side)


OPEN = parse_maze("S #  " + "   G " + "     " + "     " + "     ")
LONG = parse_maze("S #  " + "o  G " + "o  o " + "oooo " + "     ")
SHORT = parse_maze("S #  " + "oooG " + "     " + "     " + "     ")


def cut(maze: MazePuzzle) -> MazePuzzle:
    """The maze with its first path cell unmarked."""
    answer = maze.answer.copy()
    answer[np.flatnonzero(answer == PATH)[0]] = 2
    return MazePuzzle(maze.question, answer, SIDE)


SUDOKUS = make_puzzles(9, 3)


@pytest.mark.parametrize(
    ("task", "fill", "place"),
    [
        ("sudoku", spoiled("sudoku-9x9/train.csv", 5, "made,12"), r"train\.csv:6: "),
        ("sudoku", spoiled("sudoku-4x4/4x4_sudoku_unique_solution.csv", 2, "9\t1"), r"solution\.csv:3: "),
        ("sudoku", spoiled("sudoku-25x25/3.json", 0, "{"), r"3\.json"),
        ("sudoku", swap_answer, "9x9: .* puzzle 3 "),
        ("sudoku", with_sudokus([SUDOKUS[0], without_answer(SUDOKUS[1])], SUDOKUS[2:]), "train: puzzle 1 "),
        ("sudoku", with_sudokus(SUDOKUS[:2], SUDOKUS[1:]), "row 0 of test_9x9"),
        ("sudoku", with_sudokus([*SUDOKUS[:2], *make_puzzles(4, 1)], SUDOKUS[2:]), "train: puzzle 2 "),
        ("sudoku", with_sudokus(SUDOKUS[:2], []), "9x9: "),
        ("sudoku", lambda raw: (fill_raw(raw) / "sudoku-16x16/puzzles.csv").unlink(), r"puzzles\.csv: "),
        ("sudoku", lambda raw: (fill_raw(raw) / "sudoku-extreme").mkdir(), "exactly one of"),
        ("maze", with_mazes([*TRAIN[:3], cut(TRAIN[3])], TEST), "train: .* maze 3 |train: .* puzzle 3 "),
        (
            "maze",
            with_mazes([MazePuzzle(OPEN, LONG, 5)], [MazePuzzle(OPEN, SHORT, 5)]),
            "train: .* puzzle 0 ",
        ),
        ("maze", with_mazes(TRAIN, [*TEST[:4], TRAIN[7]]), "row 4 of test_7x7"),
        ("maze", with_mazes(TRAIN, [TEST[0], MazePuzzle(OPEN, SHORT, 5)]), "test|7x7: puzzle 1 "),
        ("maze", with_mazes([], TEST), "train: "),
    ],
)
def test_bad_raw_files_are_refused_with_one_line_and_nothing_is_left(
    tmp_path: Path, task: str, fill: Callable[[Path], object], place: str
) -> None:
    raw = tmp_path / "raw"
    fill(raw)
    seal(raw)
    sizes = {"num_test_sizes": ALL_SIZES} if task == "sudoku" else {}
    with pytest.raises(ValueError, match=place) as error:
        write(raw, tmp_path / "sets", task, **sizes)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == [raw]


def test_more_puzzles_than_there_are_are_refused(shared_raw: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="train: 31 puzzles asked for, only 30 there"):
        write(shared_raw, tmp_path / "sets", num_train=31)
