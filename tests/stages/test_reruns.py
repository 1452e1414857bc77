"""The table of docs/architecture.md, "What re-runs": the real dvc.yaml, with stages that write a file and no more."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.stages.test_edits import leave_leftovers
from tests.stages.test_pipeline import ROOT, Project, ran, stages

pytestmark = pytest.mark.slow
# In place of the stages: leaves the outputs that dvc.yaml names, filled with what the stage is given to use.
STAND_IN = """
import json, os, sys, yaml, zlib
from pathlib import Path

stage, key = sys.argv[1], "".join(sys.argv[2:])
params = yaml.safe_load(Path("params.yaml").read_text())
data, reports = Path("data", params["profile"]), Path("reports", params["profile"])
data_sets, run = params["data_sets"], params["runs"].get(key, {})
data_set = data_sets.get(run.get("data_set"), {})

def leave(path, *values):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(repr(values))

def had(path):
    return "".join(file.read_text() for file in sorted(path.rglob("*")) if file.is_file())

if stage == "download":
    files = Path(data_sets[key]["files"])
    leave(data / "raw" / key / "x", data_sets[key]["seed"], data_sets[key]["download"], had(files))
elif stage == "choose_puzzles":
    for part in ("train", "test"):
        used = {name: value for name, value in data_sets[key]["puzzles"].items() if name.startswith(f"num_{part}")}
        leave(data / "puzzles" / key / part, used, had(data / "raw" / key))
elif stage == "build_arrays":
    arrays, sets = data / "arrays" / key, data / "puzzles" / key
    leave(arrays / "training" / "x", data_sets[key]["arrays"], (sets / "train").read_text())
    leave(arrays / "test" / "drawn" / "x", (sets / "test").read_text())
elif stage == "hash_code":
    from serrm.config import read_params
    from serrm.planning.code import write_hashes

    write_hashes(read_params(Path("params.yaml")), data / "code")
elif stage == "read_tests":
    tests = params["tests"][key]
    folder = data / "arrays" / tests["data_set"] / "test" / "files" / key
    leave(folder / "x", Path(tests["file"]).read_text())
elif stage == "train":
    recipe, model = params["recipes"][run["data_set"]][run["model"]], params["models"][run["model"]]
    begin = "" if run["init"] == "random" else had(Path("data", run["init"]))
    begin += os.environ.get("MACHINE", "")  # whose results differ, as those of another CPU may
    trained = had(data / "arrays" / run["data_set"] / "training")
    leave(data / "runs" / key / "x", run, recipe, model, params["fidelity"], begin, trained)
    leave(data / "logs" / f"{key}.csv", key)
elif stage == "evaluate":
    used = had(data / "runs" / key), had(data / "arrays" / run["data_set"])
    leave(data / "predictions" / key / "x", data_set["evaluate"], used)
    leave(data / "scores" / f"{key}.json", had(data / "predictions" / key))
else:
    for name in ("tables/x", "figures/x", "metrics.json"):
        leave(reports / name)
    leave(data / "tables" / "x")
    scores = {}
    for name in params["runs"]:
        rate = zlib.crc32((data / "scores" / f"{name}.json").read_bytes()) % 10_000 / 100
        scores[name] = {"4x4": 0.0, "9x9": rate, "16x16": 100 - rate}
    (reports / "scores.json").write_text(json.dumps(scores))
    reports.joinpath("curves").mkdir(parents=True, exist_ok=True)
    for name, x in (("depth", "steps"), ("learning", "samples"), ("training", "step")):
        (reports / "curves" / f"{name}.csv").write_text(f"{x},solved,loss\\n1,2,3\\n")
"""
RUNS = ("sudoku-se_rrm-s0", "sudoku-trm-s0", "maze-se_rrm-s0")
COPIED = ("src", "profiles", "data/random", "data/none", "reports/studies")
COPIED += (".dvc", "dvc.yaml", ".dvcignore", ".gitignore")


def small(profile: str) -> dict[str, Any]:
    """A profile with three runs on two data sets."""
    params: dict[str, Any] = yaml.safe_load((ROOT / "profiles" / f"{profile}.yaml").read_text())
    params["data_sets"] = {name: params["data_sets"][name] for name in ("sudoku", "maze")}
    params["recipes"] = {name: params["recipes"][name] for name in params["data_sets"]}
    params["runs"] = {name: params["runs"][name] for name in RUNS}
    return params


class StandIns(Project):
    """A repository with the real dvc.yaml, code and profiles, and the stand-in for the stages."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        for name in COPIED:
            source, target = ROOT / name, root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "cache", "tmp", "*.egg-info", "*.safetensors")
                shutil.copytree(source, target, ignore=ignored)
            else:
                shutil.copyfile(source, target)
        (root / "stages").mkdir()
        for path in (ROOT / "stages").glob("*.py"):
            shutil.copyfile(path, root / "stages" / path.name)
        (root / "stages" / "__main__.py").write_text(STAND_IN)
        for name in ("ci", "laptop"):
            (root / "profiles" / f"{name}.yaml").write_text(yaml.safe_dump(small(name), sort_keys=False))
        self.use("ci")
        for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "begin")):
            self.done("git", *command)

    def use(self, profile: str) -> None:
        shutil.copyfile(self.root / "profiles" / f"{profile}.yaml", self.root / "params.yaml")

    def edit(self, keys: str, value: Any) -> None:
        """Write a value into params.yaml at keys joined by slashes."""
        path, *names = self.root / "params.yaml", *keys.split("/")
        params = place = yaml.safe_load(path.read_text())
        for name in names[:-1]:
            place = place[name]
        place[names[-1]] = value
        path.write_text(yaml.safe_dump(params, sort_keys=False))


BOTH, SE_RRM, TRM, MAZE = RUNS[:2], RUNS[0], RUNS[1], RUNS[2]
TABULATE = {"tabulate"}
SUDOKU = stages("choose_puzzles build_arrays", "sudoku") | stages("train evaluate", *BOTH)
ALL = stages("train evaluate", *RUNS)
# Beside `tabulate`.
EDITS: dict[str, tuple[str, Any, set[str]]] = {
    "the width of a model": ("models/se_rrm/width", 48, stages("train evaluate", SE_RRM, MAZE)),
    "a recipe": ("recipes/sudoku/trm/steps", 7, stages("train evaluate", TRM)),
    "a run's changes": (f"runs/{MAZE}/changes", {"model.width": 48}, stages("train evaluate", MAZE)),
    "the seed of a run": (f"runs/{MAZE}/seed", 5, stages("train evaluate", MAZE)),
    "the clues": ("data_sets/sudoku/download/source/clues", [41, 50], stages("download", "sudoku") | SUDOKU),
    "the number of training puzzles": ("data_sets/sudoku/puzzles/num_train", 5, SUDOKU),
    "the number of test puzzles": (
        "data_sets/sudoku/puzzles/num_test",
        3,
        stages("choose_puzzles build_arrays", "sudoku") | stages("evaluate", *BOTH),
    ),
    "augmentations": (
        "data_sets/sudoku/arrays/num_augmentations",
        9,
        SUDOKU - stages("choose_puzzles", "sudoku"),
    ),
    "evaluation steps": ("data_sets/sudoku/evaluate/steps", [1, 2], stages("evaluate", *BOTH)),
    "the seed of a data set": ("data_sets/sudoku/seed", 4, stages("download", "sudoku") | SUDOKU),
    "a fault switched on": ("fidelity/shifted_rope2d", True, ALL),
}
DATA = stages("download choose_puzzles build_arrays", "sudoku", "maze")
CODE: dict[str, set[str]] = {
    "sources/download.py": stages("download", "sudoku", "maze"),
    "arrays/build.py": stages("build_arrays", "sudoku", "maze"),
    "arrays/stream.py": stages("build_arrays", "sudoku", "maze") | ALL,
    "training/loop.py": stages("train", *RUNS),
    "training/muon.py": stages("train", *RUNS),  # of any optimiser
    "training/adam_atan2.py": stages("train", *RUNS),
    "training/optimizers.py": ALL,
    "training/schedules.py": ALL,
    "training/losses.py": ALL,
    "models/layers.py": ALL,
    "models/se_rrm.py": stages("train evaluate", SE_RRM, MAZE),
    "models/hrm_trm.py": stages("train evaluate", TRM),
    "models/halting.py": ALL,
    "models/q_head.py": ALL,
    "models/positions.py": ALL,
    "kernels/cpu/tile.h": ALL,
    "inference/predict.py": stages("evaluate", *RUNS),
    "puzzles/maze/rules.py": DATA | stages("evaluate", MAZE),
    "puzzles/maze/record.py": DATA | stages("train evaluate", MAZE),
    "puzzles/sudoku/symmetries.py": DATA | stages("train evaluate", *BOTH),
    "puzzles/sudoku/data.py": DATA,
    "puzzles/raw.py": DATA,
    "puzzles/look.py": DATA,
    "puzzles/tasks.py": DATA,
    "puzzles/futoshiki.py": DATA,  # a new file
    "scoring/tally.py": stages("evaluate", *RUNS),
    "scoring/metrics.py": stages("evaluate", *RUNS),
    "reporting/tables.py": TABULATE,
    "drawing/svg.py": TABULATE,
    "reading/lines.py": set(),
    "tracking/mirror.py": set(),
    "comparing/comparison.py": set(),
    "commands/compare.py": set(),
    "solving/solve.py": set(),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> StandIns:
    """After its first `dvc repro`, the first call after a switch of profile."""
    made = StandIns(tmp_path_factory.mktemp("project"))
    assert made.repro() == DATA | ALL | TABULATE
    return made


def test_an_edit_runs_what_uses_the_value_and_no_more(project: StandIns) -> None:
    for name, (keys, value, expected) in EDITS.items():
        project.edit(keys, value)
        assert project.repro() == expected | TABULATE, name
    assert project.repro() == set()


def test_a_new_run_trains_alone_and_one_that_begins_with_another_follows_it(project: StandIns) -> None:
    project.edit("runs/maze-trm-s0", {"data_set": "maze", "model": "trm", "seed": 0, "init": "random"})
    assert project.repro() == stages("train evaluate", "maze-trm-s0") | TABULATE
    tuned = {"data_set": "maze", "model": "trm", "seed": 0, "init": "ci/runs/maze-trm-s0"}
    project.edit("runs/maze-tuned-s0", tuned)
    assert project.repro() == stages("train evaluate", "maze-tuned-s0") | TABULATE
    project.edit("runs/maze-trm-s0/changes", {"train.steps": 9})
    assert project.repro() == stages("train evaluate", "maze-trm-s0", "maze-tuned-s0") | TABULATE


@pytest.fixture(params=["in the repository", "outside"])
def place(request: pytest.FixtureRequest, project: StandIns, tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A path for a user's files, and its name in params.yaml, which is as before after the test."""
    before = (project.root / "params.yaml").read_text()
    path = (tmp_path if request.param == "outside" else project.root) / "mine"
    yield path, str(path) if request.param == "outside" else path.name
    (project.root / "params.yaml").write_text(before)
    # A removed test set leaves its folder, on which evaluations depend until it is deleted.
    for folder in (project.root / "data").glob("*/arrays/*/test/files"):
        shutil.rmtree(folder)
    project.repro()


def test_a_test_set_of_a_file_and_its_edits_train_nothing(project: StandIns, place: tuple[Path, str]) -> None:
    file, name = place
    file.write_text(f"puzzles, {name}")  # results of equal files come from DVC's cache
    project.edit("tests", {"mine": {"data_set": "sudoku", "file": name}})
    scored = stages("evaluate", *BOTH)
    assert project.repro() - scored == stages("read_tests", "mine") | TABULATE
    assert project.repro() == set()
    file.write_text(f"others, {name}")
    assert "read_tests@mine" in project.done("dvc", "status")
    assert project.repro() == stages("read_tests", "mine") | scored | TABULATE
    project.edit("tests", {})
    assert project.repro() - TABULATE == scored, "the scores are without the set"


def test_an_edited_file_of_a_mirror_repeats_what_it_changes(
    project: StandIns, place: tuple[Path, str]
) -> None:
    folder, name = place
    folder.unlink(missing_ok=True)
    folder.mkdir()
    (folder / "train.csv").write_text("puzzles")
    project.edit("data_sets/maze/download/source", {"kind": "mirror"})
    project.edit("data_sets/maze/files", name)
    project.repro()
    assert project.repro() == set()
    (folder / "train.csv").write_text(f"others, {name}")
    status = project.done("dvc", "status")
    assert "train.csv" in status or name in status
    expected = stages("download choose_puzzles build_arrays", "maze") | stages("train evaluate", MAZE)
    assert project.repro() - stages("train evaluate", "maze-trm-s0", "maze-tuned-s0") == expected | TABULATE


def test_a_line_of_code_runs_the_stages_that_reach_it(project: StandIns) -> None:
    for module, expected in CODE.items():
        path = project.root / "src" / "serrm" / module
        path.write_text((path.read_text() if path.exists() else "") + "# a line\n")
        assert project.repro() - TABULATE == expected - TABULATE, module
        assert expected or project.repro() == set(), module


def test_what_editors_and_desktops_leave_runs_nothing(project: StandIns) -> None:
    lists = [path.read_text() for path in sorted(project.root.glob("data/ci/code/*"))]
    for folder in ("core", "sources", "models", "training", "kernels/cpu", "reporting"):
        leave_leftovers(project.root / "src" / "serrm" / folder)
    leave_leftovers(project.root / "stages")
    assert "up to date" in project.done("dvc", "status")
    project.done("dvc", "repro", "-f", "-s", "hash_code")
    assert [path.read_text() for path in sorted(project.root.glob("data/ci/code/*"))] == lists


# Of every dict of parts: the module, what a part of one's own imports, and the part.
KIND = 'class Mine(Base):\n    kind: Literal["mine"] = "mine"\n'
ADDED = {
    "FAMILIES": (
        "models/families.py",
        "models.hrm_trm_settings import CycledSettings",
        KIND.replace("kind", "family"),
    ),
    "HALTING": ("models/halting.py", "models.halting import HaltingRule", KIND),
    "LOSSES": ("training/losses.py", "training.losses import LossSettings", KIND),
    "OPTIMIZERS": ("training/optimizers.py", "training.optimizers import MuonSettings", KIND),
    "SCHEDULES": ("training/schedules.py", "", "def Mine(progress, final):\n    return 1 - progress\n"),
    "POSITIONS": (
        "models/positions.py",
        "models.positions import PositionalEncoding",
        "Mine = Base(lambda side: None, 2)\n",
    ),
}


def test_what_is_added_runs_nothing_again(project: StandIns) -> None:
    for name, (path, base, part) in ADDED.items():
        module = project.root / "src" / "serrm" / path
        mine = module.with_name(f"mine_{module.name}")
        imports = f"from serrm.{base} as Base\n" if base else ""
        mine.write_text(f"from typing import Literal\n{imports}\n{part}")
        place = f"serrm.{path.partition('/')[0]}.{mine.stem}:Mine"
        before, begin, entries = module.read_text().partition(f"{name}: Final")
        first, brace, rest = entries.partition("{\n")
        assert brace, f"{path} has no {name} in the expected form"
        module.write_text(f'{before}{begin}{first}{brace}    "mine": "{place}",\n{rest}')
    assert project.repro() <= TABULATE
    project.edit("recipes/sudoku/trm/optimizer", "mine")
    project.edit("recipes/sudoku/trm/schedule", "mine")
    assert project.repro() - TABULATE == stages("train evaluate", TRM)
    for module, expected in {
        "training/mine_optimizers.py": stages("train", TRM),
        "training/muon.py": stages("train", *RUNS),
        "training/mine_schedules.py": stages("train", TRM),
        "training/mine_losses.py": set(),
        "models/mine_positions.py": set(),
    }.items():
        path = project.root / "src" / "serrm" / module
        path.write_text(path.read_text() + "# a line\n")
        assert project.repro() - TABULATE == expected, module


def test_experiments_and_comparisons_as_the_docs_have_them(project: StandIns) -> None:
    project.done("git", "add", ".")
    project.done("git", "commit", "-qm", "results")
    output = project.done("dvc", "exp", "run", "-n", "longer", "-S", "recipes.sudoku.trm.steps=77")
    assert ran(output) == stages("train evaluate", TRM) | TABULATE
    assert "recipes.sudoku.trm.steps" in project.done("dvc", "params", "diff")
    for command in ("metrics diff", "exp show --only-changed --drop data/"):
        output = project.done("dvc", *command.split())
        assert TRM in output and "hrm" not in output, command
    assert "html" in project.done("dvc", "plots", "diff")
    project.done("git", "checkout", "-q", ".")
    project.done("dvc", "exp", "run", "--queue", "-n", "wider", "-S", "models.trm.width=96")
    project.done("dvc", "exp", "run", "--run-all")
    assert {"longer", "wider"} <= set(project.done("dvc", "exp", "list", "--name-only").split())
