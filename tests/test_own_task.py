"""A task and parts of one's own, from a raw file to the tables: an entry each, no file of the package."""

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
import yaml
from pydantic import PositiveInt
from rich.console import Console

from serrm.arrays import open_stream
from serrm.arrays.build import build
from serrm.config import Params, read_params
from serrm.core.execution import Execution
from serrm.core.settings import parse
from serrm.datasets.sets import write_sets
from serrm.drawing.examples import example_scene, read_examples
from serrm.drawing.scenes import read_scene
from serrm.drawing.svg import picture_svg
from serrm.drawing.terminal import print_panels
from serrm.inference.evaluate import evaluate
from serrm.models.families import FAMILIES
from serrm.models.hrm_trm_settings import CycledSettings
from serrm.models.settings import ModelSizes
from serrm.planning.forecast import stages_of
from serrm.planning.rehearse import miniature
from serrm.published.exchange import published_layout
from serrm.puzzles.tasks import TASKS
from serrm.reading.reader import questions_of, read_file
from serrm.reporting.claim_rules import UNTESTED
from serrm.reporting.claims import judge
from serrm.reporting.headline import headline
from serrm.reporting.report import Inputs, write_report
from serrm.reporting.results import make_report
from serrm.scoring.metrics import METRICS
from serrm.scoring.predictions import PREDICTIONS
from serrm.sources.download import fetch
from serrm.training.log import LOG, read_training_log, write_training_log
from serrm.training.optimizers import OPTIMIZERS, OptimizerSettings
from serrm.training.run import train
from serrm.training.schedules import SCHEDULES
from serrm.training.settings import TrainSettings
from tests.howto import example
from tests.own.latin import LATIN, SIDE, are_latin

ROOT = Path(__file__).parents[1]
CI = ROOT / "profiles" / "ci.yaml"


class LoopedSettings(CycledSettings):
    """A looped transformer: one state, one block, applied `num_loops` times."""

    family: Literal["looped"]
    num_loops: PositiveInt

    def build(self, sizes: ModelSizes, generator: Any) -> Any:
        from serrm.models import hrm_trm, recurrence

        model = recurrence.RecurrentModel(
            embedding=hrm_trm.TokenSequence(self, sizes, generator),
            networks={"block": hrm_trm.sequence_network(self, generator)},
            schedule=recurrence.one_state_schedule(self.h_cycles, self.num_loops),
            readout=hrm_trm.SequenceReadout(self, sizes.num_symbols, generator),
            width=self.width,
            generator=generator,
        )
        model.task_types = torch.zeros(sizes.num_task_types, self.width)
        return model


class Sgd(OptimizerSettings):
    kind: Literal["sgd"] = "sgd"

    def build(self, model: Any, train: TrainSettings) -> Any:
        return torch.optim.SGD(model.parameters(), momentum=train.betas[0], weight_decay=train.weight_decay)


@pytest.fixture
def latin(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(TASKS, "latin", "tests.own.latin:LATIN")
    monkeypatch.setitem(FAMILIES, "looped", LoopedSettings)
    monkeypatch.setitem(OPTIMIZERS, "sgd", Sgd)
    monkeypatch.setitem(SCHEDULES, "linear", example("training/linear", monkeypatch).linear)
    broken = replace(example("scoring/broken", monkeypatch).BROKEN, tasks=("latin",))
    monkeypatch.setitem(METRICS, "broken", broken)
    return "latin"


def params_of(task: str) -> dict[str, Any]:
    """Profile ci with the task, family, optimiser and schedule in place of its own, trained for three steps."""
    params: dict[str, Any] = yaml.safe_load(CI.read_text())
    model = {key: value for key, value in params["models"]["trm"].items() if key != "mixer"}
    steps = {"steps": 3, "warmup_steps": 1, "log_every": 1}
    recipe = params["recipes"]["maze"]["trm"] | steps | {"schedule": "linear", "optimizer": "sgd"}
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
    run = {"data_set": task, "model": "looped", "seed": 0, "init": "random"}
    return params | {
        "profile": "mine",
        "models": {"looped": model | {"family": "looped", "num_loops": 8}},
        "data_sets": {task: section},
        "recipes": {task: {"looped": recipe}},
        "runs": {f"{task}-looped-s0": run},
    }


def test_a_task_and_parts_of_ones_own_are_trained_scored_and_tabulated(latin: str, tmp_path: Path) -> None:
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
    name = f"{latin}-looped-s0"
    settings, asked = params.run_settings(name), params.scoring_settings(name)
    model = settings.model.build(ModelSizes(SIDE + 2), None)
    assert len(model.schedule.updates) == 8, "not TRM's schedule"
    with pytest.raises(ValueError, match="family: looped "):
        published_layout(settings.model, model.state_dict())
    trained = train(settings, arrays, run, tmp_path / "scratch", Execution(device="cpu"))
    records = read_training_log(trained.folder / LOG)
    rates = [record["learning_rate"] / settings.train.learning_rate for record in records]
    assert rates == pytest.approx([1, 1, 0.55])
    write_training_log(tmp_path / "logs" / f"{name}.csv", records)
    scores, predictions = evaluate(run, arrays, asked, Execution(device="cpu"))
    predictions.write(tmp_path / "examples" / settings.name)
    papers = read_params(CI.with_name("paper.yaml"))
    report = make_report(params, papers, [scores])
    write_report(
        report, tmp_path, tmp_path / "data", Inputs(tmp_path / "examples", tmp_path / "logs", {}, {})
    )
    found = scores.scored["unseen"].steps[2]
    assert found["broken_lo"] <= found["broken"] <= found["broken_hi"] and found["broken"] > 1
    assert "looped" in headline(report)[0].columns
    assert f"{found['broken']:.2f} (" in (tmp_path / "tables" / "metrics.md").read_text(), "no percentage"
    (row,) = (line for line in (tmp_path / "tables/variants.md").read_text().splitlines() if "| 2 " in line)
    assert "looped" in row and f"{100 * found['fsr']:.2f} (" in row
    page = (tmp_path / "report.html").read_text()
    assert "9 Latin squares; 6 training puzzles" in page and "after 2 steps" in page
    assert not {part.verdict for parts in judge(report).values() for part in parts} - {UNTESTED}
    tables = {path.stem: path.read_text() for path in (tmp_path / "tables").glob("*.md")}
    # The test set is not called after its size: its curve, its compute and its rule are there all the same.
    assert scores.learning_curve and "looped, Latin square" in tables["compute"]
    assert "Full rows" in tables["criteria"] and "every digit in every row" in tables["criteria"]
    assert "the paper has no such model" in tables["recipes"]
    assert not {"compute", "criteria"} & {path.stem for path in (tmp_path / "tables").glob("table*")}
    for _, body in re.findall(r"<h2>(.*?)</h2>(.*?)(?=<h2>|</main>)", page, flags=re.DOTALL):
        assert re.sub(r"<(?!img)[^>]*>|\s", "", body), "a heading without content"
    path = tmp_path / "examples" / settings.name / PREDICTIONS
    for scene in (example_scene(path, puzzle) for puzzle in read_examples(path)):
        assert "<svg" in picture_svg(scene.rows(has_answer=True), scene.title)


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
    shown = screen.file.getvalue()
    assert "1 . . 4 ." in shown and "│" not in shown


def test_a_record_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^characters: ';'"):
        replace(LATIN.text, characters=".;1234")
    with pytest.raises(ValueError, match=r"^Latin.*: blank is 2, but that of its text 1$"):
        replace(LATIN, blank=2)
