"""The Python API: what is loaded solves, predicts, and comes back from a folder or the Hub with the same logits."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import serrm
from serrm.core.files import hash_file
from serrm.inference.predict import load_model
from serrm.puzzles.sudoku.data import TEXT as SUDOKU_TEXT
from serrm.puzzles.sudoku.data import generate_puzzles
from serrm.reading.reader import questions_of
from serrm.solving.model import PACKAGED
from serrm.solving.solve import Answer, Status
from tests.drawn import CPU
from tests.references import is_solution

MAZE = "S  #" + " # #" + "    " + "## G"


@pytest.fixture(scope="module")
def model() -> serrm.Model:
    return serrm.load("sudoku", device="cpu")


@pytest.fixture(scope="module")
def questions() -> np.ndarray:
    puzzles = generate_puzzles(9, 3, np.random.default_rng(77), (40, 45))
    return np.stack([SUDOKU_TEXT.numbers(each.question).reshape(9, 9) for each in puzzles])


def logits(model: serrm.Model, questions: np.ndarray) -> Tensor:
    return model.predict(torch.from_numpy(questions.reshape(len(questions), -1) + 1), 3)[3]


def test_puzzles_come_as_text_or_arrays(model: serrm.Model, questions: np.ndarray) -> None:
    texts = [SUDOKU_TEXT.format(question.reshape(-1) + np.uint8(1)) for question in questions]
    answers = model.solve(texts, budget=32)
    assert [answer.status for answer in answers] == [Status.VERIFIED] * 3
    for answer, question in zip(answers, questions, strict=True):
        assert answer.cells is not None and is_solution(answer.cells.reshape(-1))
        assert ((answer.grid == question) | (question == 0)).all()
    same = model.solve(questions, budget=32)
    assert [answer.answer for answer in same] == [answer.answer for answer in answers]


def test_without_a_name_each_size_and_task_has_its_packaged_model_but_arc(questions: np.ndarray) -> None:
    model = serrm.load(device="cpu")
    nine, four = model.solve([questions[0], "1.3.34...14...21"])
    assert (nine.status, four.status) == (Status.VERIFIED,) * 2
    assert four.answer == "1234341221434321"
    general = model.model_for(next(questions_of("1.3.34...14...21")))
    assert general.config.side == 9 and set(model.models) == {"sudoku", "sudoku_extreme"}
    with pytest.raises(ValueError, match=r"^puzzle.*: .*\barc\b"):
        model.solve({"train": [], "test": [{"input": [[1]]}]})


def test_the_provenance_of_the_packaged_checkpoint_is_of_its_weights() -> None:
    folder = PACKAGED / "sudoku"
    provenance, config = (
        json.loads((folder / f"{name}.json").read_text()) for name in ("provenance", "config")
    )
    assert hash_file(folder / "model.safetensors") == provenance["sha256"]
    assert (folder / "model.safetensors").stat().st_size < 4_000_000
    assert provenance["data_hash"] == config["data_hash"]


def test_what_is_no_puzzle_is_refused_and_another_task_is_an_answer(model: serrm.Model) -> None:
    with pytest.raises(ValueError, match=r"^puzzle 2: "):
        model.solve([MAZE, "12"], budget=1)
    (of_maze,) = model.solve([MAZE], budget=1)
    assert (of_maze.status, of_maze.place, of_maze.grid.size) == ("unsupported", "puzzle", 0)


def test_logits_are_those_that_the_stages_evaluate(model: serrm.Model, questions: np.ndarray) -> None:
    tokens = torch.from_numpy(questions.reshape(3, -1) + 1)
    found = model.predict(tokens, (1, 3))
    assert list(found) == [1, 3] and found[3].shape == (3, 81, 11)
    assert torch.equal(found[3], logits(model, questions))
    for wrong, steps in ((tokens + 10, 1), (tokens, 0), (tokens, ())):
        with pytest.raises(ValueError, match=r"\b1\d?\b"):
            model.predict(wrong, steps)
    with pytest.raises(ValueError, match=r"\b60\b"):
        model.predict(tokens[:, :60], 1)


def test_saved_and_loaded_it_is_identical(model: serrm.Model, questions: np.ndarray, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path / "saved")
    again = serrm.Model.from_pretrained(tmp_path / "saved", device="cpu")
    assert torch.equal(logits(again, questions), logits(model, questions))
    staged = load_model(tmp_path / "saved", CPU)
    assert (staged.settings, staged.config) == (model.settings, model.config)
    again.save_pretrained(str(tmp_path / "saved"))  # over itself
    (tmp_path / "saved" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"notes\.txt"):
        model.save_pretrained(tmp_path / "saved")


def test_the_hub_gives_back_what_was_pushed(
    model: serrm.Model, questions: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Api:
        """Of a Hub that is a folder."""

        def __init__(self, token: str | None) -> None:
            assert token == "secret"

        def create_repo(self, repo_id: str, **options: Any) -> Any:
            return type("Url", (), {"repo_id": repo_id})

        def upload_folder(self, repo_id: str, folder_path: Path, **options: Any) -> str:
            shutil.copytree(folder_path, tmp_path / repo_id)
            return f"https://hub/{repo_id}"

    monkeypatch.setattr("huggingface_hub.HfApi", Api)
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, **options: tmp_path / name)
    assert model.push_to_hub("me/sudoku", token="secret") == "https://hub/me/sudoku"
    header = (tmp_path / "me" / "sudoku" / "README.md").read_text()
    assert "tags: [serrm, se_rrm, sudoku," in header and 'serrm.load("me/sudoku")' in header
    again = serrm.load("me/sudoku", device="cpu", revision="main")
    assert torch.equal(logits(again, questions), logits(model, questions))


def test_a_name_that_is_nothing_is_one_line(tmp_path: Path) -> None:
    for name in ("sudokus", "a/b/c", "/nowhere"):
        with pytest.raises(ValueError, match=f"{re.escape(name)}.*maze, sudoku, sudoku_extreme"):
            serrm.load(name)
    with pytest.raises(ValueError, match=re.escape(str(tmp_path))):
        serrm.load(tmp_path)


def test_import_serrm_is_light_and_solving_imports_the_core_alone() -> None:
    """What `serrm solve` waits for beside torch: no package of the extra, none of torch's compilers."""
    program = """
import sys, json, serrm
light = "torch" in sys.modules or "numpy" in sys.modules
from serrm.cli import main
main(["solve", "--budget", "1", "1" + "." * 80])
print(json.dumps([light, sorted(sys.modules)]))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    is_heavy, names = json.loads(run.stdout.splitlines()[-1])
    assert not is_heavy
    heavy = {"mlflow", "dvc", "ortools", "huggingface_hub", "pandas", "sympy"}
    assert not (heavy | {"torch._inductor", "torch._dynamo"}) & set(names)
    with pytest.raises(AttributeError, match="'solve'"):
        serrm.solve  # noqa: B018


def test_an_answer_is_shown_as_a_grid(model: serrm.Model) -> None:
    [answer] = model.solve("1.3.34...14...21", budget=32)
    assert str(answer).splitlines()[:4] == ["1 2 3 4", "3 4 1 2", "2 1 4 3", "4 3 2 1"]
    assert "verified" in str(answer)
    assert answer._repr_html_().count("<td") == 16
    letters = "ABCDEFGHIJKLMNOP" + "." * 240
    [question] = questions_of(letters)
    answer = Answer("", "sudoku", letters, question.cells, Status.UNVERIFIED, signs=question.signs)
    assert answer.answer == letters and answer.grid.tolist()[0] == list(range(1, 17))


def test_a_file_may_be_named(model: serrm.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("puzzle.txt").write_text("1.3.34...14...21\n")
    for name in ("puzzle.txt", Path("puzzle.txt")):
        assert [answer.status for answer in model.solve(name, budget=32)] == [Status.VERIFIED]
    with pytest.raises(ValueError, match=r"missing\.txt"):
        model.solve("missing.txt")
