"""A task of one's own, Latin squares, from its raw file to a row of a table: one record, no file of the package."""

import re
import shutil
import subprocess
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from rich.console import Console

from serrm.arrays import open_stream
from serrm.arrays.build import build
from serrm.config import Params, read_params
from serrm.core.execution import Execution
from serrm.core.settings import parse
from serrm.datasets.sets import write_sets
from serrm.drawing.examples import example_scene, read_examples
from serrm.drawing.scenes import puzzle_of, read_scene
from serrm.drawing.svg import picture_svg
from serrm.drawing.terminal import print_panels
from serrm.inference.evaluate import evaluate
from serrm.planning.forecast import stages_of
from serrm.planning.rehearse import miniature
from serrm.puzzles.task import Alphabet
from serrm.puzzles.tasks import TASKS
from serrm.reading.reader import questions_of, read_file, read_text
from serrm.reporting.claim_rules import UNTESTED
from serrm.reporting.claims import judge
from serrm.reporting.report import Inputs, write_report
from serrm.reporting.results import make_report
from serrm.scoring.predictions import PREDICTIONS
from serrm.scoring.schema import Evaluation
from serrm.sources.download import fetch
from serrm.training.log import LOG, read_training_log, write_training_log
from serrm.training.run import train
from tests.own.latin import LATIN, SIDE, are_latin
from tests.stages.test_pipeline import Project

ROOT = Path(__file__).parents[1]
CI = ROOT / "profiles" / "ci.yaml"


@pytest.fixture
def latin(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(TASKS, "latin", "tests.own.latin:LATIN")
    return "latin"


def params_of(task: str) -> dict[str, Any]:
    """Profile ci with the task in place of its own, trained for three steps."""
    params: dict[str, Any] = yaml.safe_load(CI.read_text())
    recipe = {**params["recipes"]["maze"]["trm"], "steps": 3, "warmup_steps": 1}
    section = {
        "seed": 0,
        "files": "data/none",
        "download": {"source": {"kind": "generated", "num": 9}},
        "puzzles": {"num_train": 6},
        "arrays": {"num_augmentations": 3},
        "evaluate": {
            **params["data_sets"]["maze"]["evaluate"],
            "steps": [1, 2],
            "curve_puzzles": 2,
            "test_time_compute": {"num_puzzles": 2, "max_steps": [1, 2]},
        },
    }
    run = {"data_set": task, "model": "trm", "seed": 0, "init": "random"}
    return params | {
        "profile": "mine",
        "data_sets": {task: section},
        "recipes": {task: {"trm": recipe}},
        "runs": {f"{task}-trm-s0": run},
    }


def test_a_task_of_ones_own_is_trained_scored_and_tabulated(latin: str, tmp_path: Path) -> None:
    params = parse(Params, params_of(latin), "params.yaml")
    raw, sets, arrays, run = (tmp_path / name for name in ("raw", "sets", "arrays", "run"))
    fetch(latin, params.download_settings(latin).source, raw, seed=0)
    write_sets(raw, sets, latin, params.puzzle_settings(latin))
    build(sets, arrays, latin, params.array_settings(latin))
    stream = open_stream(arrays, 3, seed=4)
    assert (stream.num_examples, stream.side, stream.num_symbols) == (6, SIDE, SIDE + 2)
    questions, answers, _ = stream.gather(0, 100)
    assert are_latin(questions, answers).all()
    assert len(np.unique(answers, axis=0)) > stream.num_examples, "with their images"
    name = f"{latin}-trm-s0"
    settings, asked = params.run_settings(name), params.scoring_settings(name)
    trained = train(settings, arrays, run, tmp_path / "scratch", Execution(device="cpu"))
    write_training_log(tmp_path / "logs" / f"{name}.csv", read_training_log(trained.folder / LOG))
    scores, predictions = evaluate(run, arrays, asked, Execution(device="cpu"))
    predictions.write(tmp_path / "examples" / settings.name)
    papers = read_params(CI.with_name("paper.yaml"))
    report = make_report(params, papers, [scores])
    write_report(
        report, tmp_path, tmp_path / "data", Inputs(tmp_path / "examples", tmp_path / "logs", {}, {})
    )
    solved = scores.scored["unseen"].steps[2]["fsr"]
    (row,) = (line for line in (tmp_path / "tables/variants.md").read_text().splitlines() if "| 2 " in line)
    assert "TRM" in row and f"{100 * solved:.2f} (" in row
    page = (tmp_path / "report.html").read_text()
    assert "9 Latin squares; 6 training puzzles" in page and "after 2 steps" in page
    assert not {part.verdict for parts in judge(report).values() for part in parts} - {UNTESTED}
    tables = {path.stem: path.read_text() for path in (tmp_path / "tables").glob("*.md")}
    # The test set is not called after its size: its curve, its compute and its rule are there all the same.
    assert scores.learning_curve and "TRM, Latin square" in tables["compute"]
    assert "Full rows" in tables["criteria"] and "every digit in every row" in tables["criteria"]
    assert "the paper has no such model" in tables["recipes"]
    assert not {"compute", "criteria"} & {path.stem for path in (tmp_path / "tables").glob("table*")}
    for _, body in re.findall(r"<h2>(.*?)</h2>(.*?)(?=<h2>|</main>)", page, flags=re.DOTALL):
        assert re.sub(r"<(?!img)[^>]*>|\s", "", body), "a heading without content"
    path = tmp_path / "examples" / settings.name / PREDICTIONS
    for scene in (example_scene(path, example) for example in read_examples(path)):
        assert "<svg" in picture_svg(scene.rows(has_answer=True), scene.title)


def test_tabulate_leaves_its_outputs_where_nothing_was_solved(latin: str, tmp_path: Path) -> None:
    zero = dict.fromkeys(("fsr", "fsr_lo", "gpa", "gpa_lo"), 0.0)
    zero |= {"fsr_hi": 0.5, "gpa_hi": 0.1, "gpa_guess": 0.2}
    part = {"status": "scored", "side": SIDE, "num_puzzles": 3, "num_blank": 48, "headline_steps": 2}
    facts = {"source": "9 Latin squares", "source_kind": "generated", "side": SIDE, "train_puzzles": 6}
    values = {
        "profile": "mine",
        "name": f"{latin}-trm-s0",
        "data_set": latin,
        "task": latin,
        "variant": "trm",
        "seed": 0,
        "model_info": {"family": "trm", "parameters": 1, "parameters_with_task_types": 1},
        "training": {"settings_digest": "d", "steps": 3, "samples": 3, "flops": 1},
        "data": {**facts, "hash": "d"},
        "sets": {"unseen": {**part, "steps": {"2": zero}}},
        "set_of_trained_size": "unseen",
    }
    write_training_log(tmp_path / "logs" / f"{latin}-trm-s0.csv", [])
    params, papers = parse(Params, params_of(latin), "params.yaml"), read_params(CI.with_name("paper.yaml"))
    report = make_report(params, papers, [Evaluation.model_validate(values)])
    write_report(
        report, tmp_path, tmp_path / "data", Inputs(tmp_path / "examples", tmp_path / "logs", {}, {})
    )
    outputs = (
        "metrics.json",
        "scores.json",
        "tables",
        "figures",
        "curves/training.csv",
        "report.html",
        "data",
    )
    for output in outputs:
        assert (tmp_path / output).exists(), output


def test_the_numbers_of_a_task_are_known_before_the_download(latin: str) -> None:
    params = parse(Params, params_of(latin), "params.yaml")
    assert params.counts(latin) == (SIDE, 6, {SIDE: 3})
    assert {stage.flops > 0 for name, stage in stages_of(params, ROOT).items() if latin + "-" in name} == {
        True
    }
    assert miniature(params, device="cpu").puzzle_settings(latin).model_dump()["num_train"] == 2
    wrong = params_of(latin)
    wrong["data_sets"][latin]["download"]["source"] = {"kind": "hub"}
    with pytest.raises(ValueError, match=rf"data_sets\.{latin}\.download\.source\."):
        parse(Params, wrong, "params.yaml")


QUESTION = "1..4..2..5..3..1..4..2..5"


def test_a_puzzle_of_the_task_is_read_and_drawn_without_boxes(latin: str, tmp_path: Path) -> None:
    (tmp_path / "squares.txt").write_text(f"{QUESTION}\n{'.' * 16}\n")
    assert [question.task for question in read_file(tmp_path / "squares.txt")] == [latin, "sudoku"]
    rows = [QUESTION[start : start + SIDE] for start in range(0, SIDE**2, SIDE)]
    (question,) = questions_of([[int(cell.replace(".", "0")) for cell in row] for row in rows])
    assert question.task == latin
    scene = read_scene(tmp_path / "squares.txt")
    screen = Console(file=StringIO(), width=60)
    print_panels(screen, scene.rows(), scene.title)
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "1 . . 4 ." in shown and "│" not in shown


def test_an_answer_fills_the_open_cells_that_the_task_names(
    latin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a task without a blank: here the digits 1 to 3, tokens 2 to 4, may change."""
    record = replace(LATIN, blank=None, open_cells=lambda questions: questions < 5)
    monkeypatch.setitem(TASKS, latin, record)
    rows = ["12345", "23451", "34512", "45123", "51234"]
    question = "".join(rows)
    answer = question.translate(str.maketrans("123", "231"))
    (read,) = read_text(f"question,answer\n{question},{answer}\n", "input")
    assert read.task == latin and read.answer is not None
    panel = puzzle_of(read).question_panel()
    assert (panel.is_given == (panel.cells >= 5)).all() and panel.is_given.any()
    with pytest.raises(ValueError, match="'4' in the question but '5' in the answer"):
        read_text(f"question,answer\n{question},{question.replace('4', '5')}\n", "input")


@pytest.mark.slow
def test_the_task_goes_through_dvc_and_the_commands(tmp_path: Path) -> None:
    """In a copy of the project: a module, its import and a line of TASKS, and params.yaml."""
    project = Project(tmp_path / "project")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in (name for name in listed if (ROOT / name).is_file()):
        (project.root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, project.root / name)
    puzzles = project.root / "src" / "serrm" / "puzzles"
    shutil.copy(ROOT / "tests" / "own" / "latin.py", puzzles / "latin.py")
    tasks = (puzzles / "tasks.py").read_text()
    tasks = tasks.replace(
        "from serrm.puzzles.maze", "from serrm.puzzles.latin import LATIN\nfrom serrm.puzzles.maze", 1
    )
    (puzzles / "tasks.py").write_text(
        tasks.replace('    "maze": MAZE,', '    "maze": MAZE,\n    "latin": LATIN,', 1)
    )
    project.write(params_of("latin") | {"profile": "mine"})
    project.run("git", "init", "--quiet")
    shutil.rmtree(project.root / "reports")
    (project.root / "dvc.lock").unlink(missing_ok=True)

    def passes(*command: str, code: int = 0) -> str:
        result = project.run(*command)
        assert result.returncode == code, (command, result.stdout, result.stderr)
        assert "Traceback" not in result.stderr
        return result.stdout

    run = "latin-trm-s0"
    assert "1 training run" in passes("serrm", "forecast", "--tflops", "1")
    assert "0 failed" in passes("serrm", "rehearse", "--tflops", "1")
    assert project.repro() >= {"download@latin", f"train@{run}", f"evaluate@{run}", "tabulate"}
    assert "Latin square" in (project.root / "reports" / "mine" / "report.html").read_text()
    assert list((project.root / "mlruns").rglob("5x5.svg")), "pictures in MLflow"
    predictions = f"data/mine/predictions/{run}"
    assert "unseen" in passes("serrm", "show", predictions)
    # Trained for three steps: an answer, but none that the rule verifies.
    answer = passes(
        "serrm", "solve", "--checkpoint", f"data/mine/runs/{run}", "--budget", "4", QUESTION, code=1
    )
    assert "unverified" in answer


def test_what_separates_signs_can_be_none() -> None:
    with pytest.raises(ValueError, match=r"^characters: ';'"):
        replace(LATIN.text, characters=".;1234")


def test_a_mark_that_an_answer_replaces_is_in_no_answer() -> None:
    """The tokens 2 and 3 mark open cells, and answers have the tokens from 4 on."""
    alphabet = Alphabet(num_symbols=9, special=(0, 1, 2, 3))
    text = replace(LATIN.text, least_in_answer=4)
    marked = replace(
        LATIN, alphabet=lambda side: alphabet, text=text, open_cells=lambda questions: questions < 4
    )
    assert marked.special_in_answers(SIDE) == ()
    assert replace(marked, open_cells=None).special_in_answers(SIDE) == (2, 3), "marks that stay"


def test_a_blank_has_one_token() -> None:
    with pytest.raises(ValueError, match=r"^Latin.*: blank is 2, but that of its text 1$"):
        replace(LATIN, blank=2)
