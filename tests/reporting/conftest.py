"""The made profile (`made/`): a few runs with known numbers, settings and examples, in copies to be changed."""

import json
from functools import partial
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from serrm.models.flops import flops
from serrm.models.settings import ModelSettings
from serrm.reporting.paper import load_paper
from serrm.reporting.results import load_results
from serrm.reporting.settings import CellSettings, differences
from serrm.reporting.tables import Report
from serrm.reporting.tabulate import Places, tabulate
from serrm.scoring.metrics import wilson

HERE = Path(__file__).parent
MADE, GOLDEN = HERE / "made", HERE / "golden"
CELLS = [
    *(("sudoku", model, 0) for model in ("hrm", "trm", "se_rrm")),
    *(
        ("sudoku", model, seed)
        for model, seed in (("se_rrm", 1), ("trm_random_halting", 0), ("se_rrm_wide", 0))
    ),
    *(("maze", model, 0) for model in ("hrm", "trm", "se_rrm")),
    *(("arc_agi_1", model, 0) for model in ("trm", "se_rrm")),
]


def made_settings():
    stored = json.loads((MADE / "settings.json").read_text(encoding="utf-8"))
    here, paper = (
        {tuple(key.split("/")): value for key, value in stored[side].items()} for side in ("here", "paper")
    )
    return CellSettings(
        here, paper, {key: differences(here[key], paper[key]) for key in here}, step_flops(here)
    )


def step_flops(here):
    """Of the models that settings hold."""
    model = TypeAdapter(ModelSettings)
    return {key: partial(flops, model.validate_python(each["model"])) for key, each in here.items()}


def write_metrics(files, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for (task, model, seed), file in files.items():
        (folder / f"{task}-{model}-s{seed}.json").write_text(json.dumps(file), encoding="utf-8")
    return folder


def write_report(folder):
    """The made profile after the stage."""
    write_metrics(read_made(), folder / "metrics")
    tabulate(
        "made",
        CELLS,
        made_settings(),
        Places(folder, MADE / "examples"),
        {"date": "1 January 2026", "commit": "abc"},
    )
    return folder


def read_made():
    paths = {cell: MADE / "metrics" / "{}-{}-s{}.json".format(*cell) for cell in CELLS}
    return {cell: json.loads(path.read_text(encoding="utf-8")) for cell, path in paths.items()}


def set_rate(file, metric, rate, of_set="9x9", steps="16", num=500):
    """Change one score of a metric file, with its interval."""
    low, high = wilson(rate * num, num)
    file["sets"][of_set]["steps"][steps] |= {metric: rate, f"{metric}_lo": low, f"{metric}_hi": high}


def paper_files():
    """Metric files that hold what the paper's tables print; intervals that it does not print are Wilson's."""
    made, found = read_made()["sudoku", "trm", 0], {}
    for table in load_paper().score_tables.values():
        for row in table.rows:
            for key, cell in row.cells.items():
                column = table.columns[key]
                sets = found.setdefault((column.task, row.variant_of(key), 0), {})
                if not cell.numbers:
                    sets.setdefault(column.set, {"status": "cannot_extrapolate", "reason": "too large"})
                    continue
                num = cell.num or column.num
                of_set = sets.setdefault(column.set, {"status": "scored", "num_puzzles": num, "steps": {}})
                scores = of_set["steps"].setdefault(str(column.steps), {})
                value, *ends = (float(number) / 100 for number in cell.numbers)
                low, high = ends or wilson(value * num, num)
                if column.metric not in scores:
                    scores |= {column.metric: value, f"{column.metric}_lo": low, f"{column.metric}_hi": high}
    more = {"learning_curve": [], "adaptive": [], "breadth": [], "equivariance": None}
    return {
        (task, model, seed): made | {"task": task, "model": model, "seed": seed, "sets": sets} | more
        for (task, model, seed), sets in found.items()
    }


@pytest.fixture
def made():
    """The metric files by (task, model, seed), to be changed."""
    return read_made()


@pytest.fixture
def settings():
    """The settings of the made profile, to be changed."""
    return made_settings()


@pytest.fixture
def report(tmp_path, settings):
    """Metric files as a report."""

    def build(files):
        folder = write_metrics(files, tmp_path / "metrics")
        return Report("made", load_results([*files], folder), settings)

    return build


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """reports/<profile> of the made profile after the stage; not to be changed."""
    return write_report(tmp_path_factory.mktemp("made"))
