"""The made profile (`made/`): a few runs with known numbers, settings and examples, in copies to be changed."""

import json
import subprocess
from functools import partial
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from serrm.models.families import ModelSettings
from serrm.models.flops import flops
from serrm.models.settings import ModelSizes
from serrm.puzzles.tasks import alphabet
from serrm.reporting.paper import Cost, load_paper, paper_cost
from serrm.reporting.recipes import setting_differences
from serrm.reporting.report import Inputs, write_report
from serrm.reporting.results import Report, grouped
from serrm.scoring.metrics import wilson
from serrm.scoring.schema import Evaluation
from serrm.training.log import write_training_log
from tests.references import write_examples

MADE = Path(__file__).parent / "made"
RUNS = [
    *(("sudoku", model, 0) for model in ("hrm", "trm", "se_rrm")),
    ("sudoku", "se_rrm", 1),
    *(("sudoku", model, 0) for model in ("trm_random_halting", "se_rrm_wide")),
    *(("maze", model, 0) for model in ("hrm", "trm", "se_rrm")),
    *(("arc_agi_1", model, 0) for model in ("trm", "se_rrm")),
]


def known_cost(task: str, variant: str) -> Cost:
    """The cost of a run of the paper that profile `paper` has."""
    cost = paper_cost(task, variant)
    assert cost is not None
    return cost


def read_made():
    runs = json.loads((MADE / "metrics.json").read_text(encoding="utf-8"))["runs"]
    return {run: runs["{}-{}-s{}".format(*run)] for run in RUNS}


def flops_of_step(task, model, side):
    return flops(model, ModelSizes(alphabet(task, side).num_symbols, side**2))


def report_of(files):
    """Evaluations as plain data, as a report with the made settings."""
    stored = json.loads((MADE / "settings.json").read_text(encoding="utf-8"))
    settings, paper = (
        {tuple(key.split("/")): value for key, value in stored[side].items()} for side in stored
    )
    model = TypeAdapter(ModelSettings)
    models = {key: model.validate_python(values["model"]) for key, values in settings.items()}
    steps = {key: partial(flops_of_step, key[0], models[key]) for key in models}
    nums = {"sudoku": 1000, "maze": 1000, "arc_agi_1": 3988, "arc_agi_2": 5573}
    changes = {key: setting_differences(settings[key], paper[key], nums[key[0]]) for key in settings}
    return Report("made", grouped(map(Evaluation.model_validate, files.values())), settings, changes, steps)


def write_made(folder):
    """The made profile after the stage."""
    report = report_of(read_made())
    for data_set, model, seed in RUNS:
        records = [{"step": num, "samples": 4 * num, "loss": 1 / num} for num in (1, 3)]
        write_training_log(folder / "logs" / f"{data_set}-{model}-s{seed}.csv", records)
    taken = {"seconds": 61.0, "puzzle_steps_per_second": 161.0, "peak_memory_bytes": 7e8}
    machine = {"sudoku-trm-s0": {"training": {**taken, "device": "cpu", "threads": 1, "cpu": "a CPU"}}}
    provenance = {"date": "1 January 2026", "commit": "abc"}
    for path in (MADE / "examples").glob("*/examples.json"):
        write_examples(folder / "predictions" / path.parent.name, **json.loads(path.read_text()))
    inputs = Inputs(folder / "predictions", folder / "logs", machine, provenance)
    write_report(report, folder / "reports", folder / "data", inputs)
    return folder


def set_rate(file, metric, rate, test_set="9x9", steps="16", num=500):
    """Change one score of a run, with its interval."""
    low, high = wilson(rate * num, num)
    file["sets"][test_set]["steps"][steps] |= {metric: rate, f"{metric}_lo": low, f"{metric}_hi": high}


def paper_files():
    """Evaluations that hold what the paper's tables print; intervals that it does not print are Wilson's."""
    made, files = read_made()["sudoku", "trm", 0], {}
    for table in load_paper().score_tables.values():
        for row in table.rows:
            for key, entry in row.entries.items():
                column = table.columns[key]
                sets = files.setdefault((column.task, row.variant_of(key), 0), {})
                if not entry.numbers:
                    sets.setdefault(
                        column.set, {"status": "cannot_extrapolate", "side": 16, "reason": "too large"}
                    )
                    continue
                num = entry.num or column.num
                facts = {"side": column.side or 9, "num_puzzles": num, "headline_steps": 16}
                scored = sets.setdefault(column.set, {"status": "scored", **facts, "steps": {}})
                scores = scored["steps"].setdefault(str(column.steps), {})
                value, *ends = (float(number) / 100 for number in entry.numbers)
                low, high = ends or wilson(value * num, num)
                if column.metric not in scores:
                    scores |= {column.metric: value, f"{column.metric}_lo": low, f"{column.metric}_hi": high}
    more = {"learning_curve": [], "first_verified": [], "attempts": [], "equivariance": None}
    return {
        (task, model, seed): made
        | {
            "name": f"{task}-{model}-s{seed}",
            "data_set": task,
            "task": task,
            "variant": model,
            "seed": seed,
        }
        | {"sets": sets}
        | more
        for (task, model, seed), sets in files.items()
    }


def skip_if_run_since(scores):
    """Skip a test of a page that is written by hand after a run: the pipeline may have been run elsewhere since."""
    changed = ["git", "-C", str(MADE), "status", "--porcelain", f":/{scores}"]
    if subprocess.run(changed, capture_output=True, check=False).stdout:
        pytest.skip(f"{scores} is not as committed")


@pytest.fixture
def made():
    """The runs as plain data by (data set, model, seed), to be changed."""
    return read_made()


@pytest.fixture
def report():
    """Runs as a report."""
    return report_of


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """Folders `reports`, `data` and `logs` of the made profile after the stage; not to be changed."""
    return write_made(tmp_path_factory.mktemp("made"))
