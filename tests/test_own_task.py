"""A task of one's own, Latin squares, from its raw file to a row of a table: one record, no file of the package."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from serrm.arrays import open_stream
from serrm.arrays.build import build
from serrm.config import Params, read_params
from serrm.datasets.sets import write_sets
from serrm.inference.evaluate import evaluate
from serrm.models.registry import flops, num_parameters
from serrm.puzzles.tasks import TASKS
from serrm.reporting.report import write_report
from serrm.reporting.results import read_report
from serrm.settings import parse
from serrm.sources.download import fetch
from serrm.training.run import train
from serrm.training.settings import Execution
from tests.own.latin import LATIN, SIDE, are_latin

CI = Path(__file__).parents[1] / "profiles" / "ci.yaml"


@pytest.fixture
def latin(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(TASKS, "latin", LATIN)
    return "latin"


def params_of(task: str) -> dict[str, Any]:
    """Profile ci with the task in place of its own, trained for three steps."""
    params: dict[str, Any] = yaml.safe_load(CI.read_text())
    recipe = {**params["recipes"]["maze"]["trm"], "steps": 3, "warmup_steps": 1}
    section = {
        "seed": 0,
        "download": {"source": {"kind": "generated", "num": 9}},
        "augment": {"num_train": 6},
        "arrays": {"num_augmentations": 3},
        "evaluate": {
            **params["tasks"]["maze"]["evaluate"],
            "steps": [1, 2],
            "curve_puzzles": 2,
            "examples": 1,
        },
    }
    run = {"task": task, "model": "trm", "seed": 0, "init": "random"}
    return params | {
        "profile": "mine",
        "tasks": {task: section},
        "recipes": {task: {"trm": recipe}},
        "runs": {f"{task}-trm-s0": run},
    }


def test_a_task_of_ones_own_is_trained_scored_and_tabulated(latin: str, tmp_path: Path) -> None:
    params = parse(Params, params_of(latin), "params.yaml")
    raw, sets, arrays, run = (tmp_path / name for name in ("raw", "sets", "arrays", "run"))
    fetch(latin, params.download_settings(latin).source, raw, seed=0)
    write_sets(raw, sets, latin, params.augment_settings(latin))
    build(sets, arrays, latin, params.array_settings(latin))
    stream = open_stream(arrays, 3, seed=4)
    assert (stream.num_examples, stream.side, stream.num_symbols) == (6, SIDE, SIDE + 2)
    questions, answers, _ = stream.gather(0, 100)
    assert (
        are_latin(questions - np.uint8(1), answers - np.uint8(1)).all()
        and ((questions == 1) | (questions == answers)).all()
    )
    assert len(np.unique(answers, axis=0)) > stream.num_examples, "with their images"
    name = f"{latin}-trm-s0"
    cell, asked = params.train_settings(name), params.evaluate_settings(name)
    train(cell, arrays, run, tmp_path / "scratch", Execution(device="cpu"))
    scores, gallery = evaluate(run, arrays, asked, Execution(device="cpu"))
    gallery.write(tmp_path / "examples" / cell.name)
    metrics = {"profile": "mine", "task": latin, "model": "trm", "seed": 0, **scores}
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / f"{cell.name}.json").write_text(json.dumps(metrics))
    papers = read_params(CI.with_name("paper.yaml"))
    report = read_report(params, papers, tmp_path / "metrics", flops, num_parameters)
    write_report(report, tmp_path, tmp_path / "examples", {})
    solved = scores["sets"]["unseen"]["steps"]["2"]["fsr"]
    row = next(
        line for line in (tmp_path / "tables" / "variants.md").read_text().splitlines() if "| 2 " in line
    )
    assert "TRM" in row and f"{100 * solved:.2f} (" in row
    page = (tmp_path / "report.html").read_text()
    assert "9 Latin squares; 6 training puzzles" in page and "after 2 steps" in page
