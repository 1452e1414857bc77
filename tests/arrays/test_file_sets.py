"""Test sets of users' files: read, solved where they have no answer, scored beside the task's own sets."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from serrm.arrays.file_sets import write_test_set
from serrm.arrays.stream import FILES, open_file_sets
from serrm.config import Params
from serrm.core.execution import Execution
from serrm.inference.evaluate import evaluate
from serrm.puzzles.maze.rules import are_shortest_paths
from serrm.puzzles.sudoku.data import TEXT, generate_puzzles
from serrm.reporting.headline import headline
from serrm.reporting.other_tables import file_sets_table
from serrm.reporting.paper import CANNOT_EXTRAPOLATE
from serrm.reporting.report import headline_scores
from serrm.reporting.results import Report, grouped, read_runs
from serrm.scoring.schema import write_evaluation
from tests.conftest import SHALLOW, MakePath, scoring

CLUES = {4: (6, 9), 9: (40, 50)}
PUZZLES = {
    side: generate_puzzles(side, 3, np.random.default_rng(side), clues) for side, clues in CLUES.items()
}
DETOUR = "S G#" + "   #" * 3, "S G#" + "o o#" + "ooo#" + "   #"  # a path of six steps instead of two


def text(side: int, part: str = "question") -> list[str]:
    return [TEXT.format(getattr(puzzle, part)) for puzzle in PUZZLES[side]]


def written(folder: Path, content: str, kind: str = "sudoku", num: int | None = None) -> Path:
    """The arrays of a task to which a file with that content was added as `mine`."""
    (folder / "file.txt").write_text(content)
    write_test_set(folder / "file.txt", folder / "arrays" / FILES / "mine", "mine", kind, num)
    return folder / "arrays"


def test_answers_are_kept_or_found(tmp_path: Path) -> None:
    lines = [f"{question},{answer}" for question, answer in zip(text(9), text(9, "answer"), strict=True)]
    for content in ("\n".join(lines), "\n".join(text(9))):
        (puzzles,) = open_file_sets(written(tmp_path, content), "mine")
        assert (puzzles.name, puzzles.side, puzzles.task) == ("mine", 9, "sudoku")
        np.testing.assert_array_equal(puzzles.questions, [puzzle.question for puzzle in PUZZLES[9]])
        np.testing.assert_array_equal(puzzles.answers, [puzzle.answer for puzzle in PUZZLES[9]])
    (first,) = open_file_sets(written(tmp_path, "\n".join(text(9)), num=1), "mine")
    assert len(first) == 1


def test_a_maze_without_an_answer_gets_a_shortest_path(tmp_path: Path) -> None:
    (mazes,) = open_file_sets(written(tmp_path, "S #\n   \n  G\n", "maze"), "mine")
    assert are_shortest_paths(np.asarray(mazes.questions), np.asarray(mazes.answers)).all()


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("\n".join([*text(4), "11.............."]), r"file\.txt:4: "),
        ("\n".join([*text(4), "1..............."]), r"file\.txt:4: the puzzle has several solutions"),
        (f"{text(4)[0]},{text(4, 'answer')[1]}", r"file\.txt:1: "),
        ("S #\n   \n  G\n", r"file\.txt:1: not a puzzle of sudoku"),
        ("# nothing\n", r"file\.txt: no puzzle"),
    ],
)
def test_invalid_test_sets_are_refused_and_leave_nothing(tmp_path: Path, content: str, place: str) -> None:
    with pytest.raises(ValueError, match=place) as error:
        written(tmp_path, content)
    assert "\n" not in str(error.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "file.txt"]


def test_a_longer_path_than_the_shortest_is_refused_for_its_length(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"file\.txt:2: .* obeys the rules\b.*'Shortest paths'$"):
        written(tmp_path, f"question,answer\n{DETOUR[0]},{DETOUR[1]}\n", "maze")
    with pytest.raises(ValueError, match=r"file\.txt:2: the given answer breaks the rules$"):
        written(tmp_path, f"question,answer\n{DETOUR[0]},{DETOUR[0]}\n", "maze")


def test_file_sets_are_scored_and_tabulated(trained: MakePath, make_arrays: MakePath, tmp_path: Path) -> None:
    arrays = Path(shutil.copytree(make_arrays(side=4, tests=(4,)), tmp_path / "arrays"))
    plain = scoring(curve_puzzles=0)
    checkpoint, here = trained(model={**SHALLOW, "symbols": "untied"}), Execution(device="cpu")
    alone, _ = evaluate(checkpoint, arrays, plain, here)
    written(tmp_path, "\n".join([*text(9), *text(4)]))
    run, predictions = evaluate(checkpoint, arrays, plain.model_copy(update={"tests": ("mine",)}), here)
    assert list(run.sets) == ["4x4", "mine_4x4", "mine_9x9"] and run.sets["4x4"] == alone.sets["4x4"]
    assert run.main_set == "4x4" and run.scored["mine_4x4"].num_puzzles == 3
    assert list(run.refused) == ["mine_9x9"]
    assert "mine_4x4" in [of_set.name for of_set in predictions.sets]
    report = Report("made", grouped([run]))
    rows = {row["Puzzles"]: row for row in file_sets_table(report).to_dict("records")}
    assert rows["mine_4x4"]["n"] == "3" and rows["mine_9x9"]["Solved"] == CANNOT_EXTRAPOLATE
    assert set(headline_scores([run])[run.name]) == {"4x4", "mine_4x4"}
    assert any("Sudoku mine_4x4" in line for line in headline(report).frame["Test puzzles"])
    write_evaluation(tmp_path / f"{run.name}.json", run)

    def sets(tests: dict[str, Any]) -> list[str]:
        params = Params.model_construct(profile="made", runs={run.name: None}, tests=tests)
        return list(read_runs(params, tmp_path)[0].sets)

    assert sets({"mine": None}) == list(run.sets)
    assert sets({}) == ["4x4"], "a test set that is no longer in the profile"
    (tmp_path / "file.txt").write_text("\n".join(text(4)))
    write_test_set(tmp_path / "file.txt", arrays / FILES / "4x4", "4x4", "sudoku")
    with pytest.raises(ValueError, match=r"tests\.4x4: "):
        evaluate(checkpoint, arrays, plain.model_copy(update={"tests": ("4x4",)}), here)
