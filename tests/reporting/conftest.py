"""The made profile (`made/`): a few runs with known numbers, settings and examples, in copies to be changed."""

import json
from functools import partial
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from serrm.config import read_params
from serrm.metrics import wilson
from serrm.models.families import ModelSettings
from serrm.models.registry import flops, num_parameters
from serrm.reporting.paper import differences, load_paper
from serrm.reporting.report import write_report
from serrm.reporting.results import Report, load_results, paper_costs

MADE = Path(__file__).parent / "made"
COST = paper_costs(read_params(Path(__file__).parents[2] / "profiles/paper.yaml"), flops, num_parameters)
RUNS = [
    *(("sudoku", model, 0) for model in ("hrm", "trm", "se_rrm")),
    ("sudoku", "se_rrm", 1),
    *(("sudoku", model, 0) for model in ("trm_random_halting", "se_rrm_wide")),
    *(("maze", model, 0) for model in ("hrm", "trm", "se_rrm")),
    *(("arc_agi_1", model, 0) for model in ("trm", "se_rrm")),
]


def named(runs):
    """Runs by the names of their files."""
    return {"{}-{}-s{}".format(*run): run for run in runs}


def read_made():
    paths = {run: MADE / "metrics" / "{}-{}-s{}.json".format(*run) for run in RUNS}
    return {run: json.loads(path.read_text(encoding="utf-8")) for run, path in paths.items()}


def report_of(files, folder):
    """Metric files as a report with the made settings; the files are written into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for run, file in files.items():
        (folder / "{}-{}-s{}.json".format(*run)).write_text(json.dumps(file), encoding="utf-8")
    stored = json.loads((MADE / "settings.json").read_text(encoding="utf-8"))
    here, paper = ({tuple(key.split("/")): value for key, value in stored[side].items()} for side in stored)
    model = TypeAdapter(ModelSettings)
    steps = {key: partial(flops, model.validate_python(each["model"])) for key, each in here.items()}
    nums = {"sudoku": 1000, "maze": 1000, "arc_agi_1": 3988, "arc_agi_2": 5573}
    found = {key: differences(here[key], paper[key], nums[key[0]]) for key in here}
    return Report("made", load_results(named(files), folder), here, found, steps, cost=COST)


def write_made(folder):
    """The made profile after the stage."""
    report = report_of(read_made(), folder / "metrics")
    write_report(report, folder, MADE / "examples", {"date": "1 January 2026", "commit": "abc"})
    return folder


def set_rate(file, metric, rate, of_set="9x9", steps="16", num=500):
    """Change one score of a metric file, with its interval."""
    low, high = wilson(rate * num, num)
    file["sets"][of_set]["steps"][steps] |= {metric: rate, f"{metric}_lo": low, f"{metric}_hi": high}


def paper_files():
    """Metric files that hold what the paper's tables print; intervals that it does not print are Wilson's."""
    made, found = read_made()["sudoku", "trm", 0], {}
    for table in load_paper().score_tables.values():
        for row in table.rows:
            for key, entry in row.entries.items():
                column = table.columns[key]
                sets = found.setdefault((column.task, row.variant_of(key), 0), {})
                if not entry.numbers:
                    sets.setdefault(column.set, {"status": "cannot_extrapolate", "reason": "too large"})
                    continue
                num = entry.num or column.num
                of_set = sets.setdefault(column.set, {"status": "scored", "num_puzzles": num, "steps": {}})
                scores = of_set["steps"].setdefault(str(column.steps), {})
                value, *ends = (float(number) / 100 for number in entry.numbers)
                low, high = ends or wilson(value * num, num)
                if column.metric not in scores:
                    scores |= {column.metric: value, f"{column.metric}_lo": low, f"{column.metric}_hi": high}
    more = {"learning_curve": [], "early_stopping": [], "attempts": [], "equivariance": None}
    return {
        (task, model, seed): made | {"task": task, "model": model, "seed": seed, "sets": sets} | more
        for (task, model, seed), sets in found.items()
    }


@pytest.fixture
def made():
    """The metric files by (task, model, seed), to be changed."""
    return read_made()


@pytest.fixture
def report(tmp_path):
    """Metric files as a report."""
    return lambda files: report_of(files, tmp_path / "metrics")


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """reports/<profile> of the made profile after the stage; not to be changed."""
    return write_made(tmp_path_factory.mktemp("made"))
