"""Rehearsal of a profile: the same data sets, runs and changes with small models, few puzzles and few steps.

Every stage runs as under DVC, in a separate folder. AT_MOST limits settings by name, wherever they occur; sources,
canvases, alphabets, positions and other settings stay as in the profile.
"""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from fnmatch import filter as matching
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from serrm.config import NO_FILES, RANDOM, Params, write_yaml
from serrm.core.execution import Execution
from serrm.core.progress import progress_bar
from serrm.core.project import CODE_STAGE, MACHINE_FILE, PARAMS, PROFILES, TABLES_STAGE
from serrm.core.settings import parse
from serrm.models.families import FAMILIES
from serrm.models.positions import POSITIONS
from serrm.planning.pipeline import stages_of_pipeline
from serrm.puzzles.tasks import TASKS

# (data set, test set or run; stage) → (error or "", seconds)
StageResults = dict[tuple[str, str], tuple[str, float]]
PROFILE = "profile"  # stands for the run of a stage that runs once per profile
NUM_PROCESSES = min(4, os.cpu_count() or 1)  # limited by one machine's memory
# A head width that suits every kind of positions.
HEAD_WIDTH = max(kind.divisor for kind in POSITIONS.values())
# The largest values of settings, also of every number in a list. None becomes the largest value.
AT_MOST = {
    **dict.fromkeys(("width", "head_dim", "symbol_head_dim", "swiglu_multiple"), HEAD_WIDTH),
    **dict.fromkeys(("layers", "heads", "symbol_heads", "snapshots", "log_every"), 1),
    **dict.fromkeys(("h_cycles", "l_cycles", "batch_size", "num_train", "attempts", "attempt_steps"), 2),
    **dict.fromkeys(("num_puzzles", "curve_puzzles", "equivariance_pairs", "num_test"), 1),
    **dict.fromkeys(("epochs", "steps", "max_steps", "num_augmentations"), 3),
}


def selected(params: Params, patterns: Sequence[str]) -> Params:
    """Select only the runs of a profile that match a pattern such as sudoku-*, and their data sets."""
    names = [matching(params.runs, pattern) for pattern in patterns]
    if [] in names:
        raise ValueError(
            f"--only {patterns[names.index([])]}: no such run; the runs are {', '.join(params.runs)}"
        )
    runs = {name: params.runs[name] for matches in names for name in matches}
    data_sets = {run.data_set: params.data_sets[run.data_set] for run in runs.values()}
    recipes = {data_set: params.recipes[data_set] for data_set in data_sets}
    tests = {name: test for name, test in params.tests.items() if test.data_set in data_sets}
    return params.model_copy(
        update={"runs": runs, "data_sets": data_sets, "tests": tests, "recipes": recipes}
    )


def miniature(params: Params, mirror: Path | None = None, device: str = "auto") -> Params:
    """Shrink a profile, from random weights, with published puzzles from the folder `mirror` if given.

    On a CPU it runs in float32.
    """
    from serrm.core.devices import choose_device

    precision = {"precision": "float32"} if choose_device(device).type == "cpu" else {}
    small = params.model_dump(mode="json")
    # The headline steps of the profile may be more than a rehearsal scores.
    fixed: dict[str, Any] = {
        "init": RANDOM,
        "continues": False,
        "headline_steps": None,
        "num_puzzles_after": {},
        **precision,
    }
    limits = _at_most()
    task_limits = {name: TASKS[params.task_of(name)].at_most for name in params.data_sets}

    def shrink(values: dict[str, Any], task: Mapping[str, int] | None = None) -> Any:
        """Bound the values by the general limits and those of their task."""
        return _shrunk("", values, fixed, {**limits, **(task or {})})

    small["models"] = {name: shrink(values) for name, values in small["models"].items()}
    small["data_sets"] = {
        name: shrink(values, task_limits[name]) for name, values in small["data_sets"].items()
    }
    small["tests"] = {name: shrink(values) for name, values in small["tests"].items()}
    small["recipes"] = {
        data_set: {name: shrink(values, task_limits[data_set]) for name, values in recipes.items()}
        for data_set, recipes in small["recipes"].items()
    }
    small["runs"] = {name: shrink(run, task_limits[run["data_set"]]) for name, run in small["runs"].items()}
    for name, section in small["data_sets"].items():
        source = section["download"]["source"]
        if mirror is not None and source["kind"] == "hub":
            section["download"]["source"] = TASKS[params.task_of(name)].as_mirror(source, mirror)
            section["files"] = str(mirror)
    return parse(Params, small, "the rehearsal's params")


def _at_most() -> dict[str, int]:
    """Add a limit for all other whole numbers in the settings of families to AT_MOST."""
    limits: dict[str, int] = {}
    for family in FAMILIES.values():
        fields = family.model_fields.items()
        limits |= {name: HEAD_WIDTH for name, field in fields if field.annotation is int}
    return limits | AT_MOST


def _shrunk(key: str, value: Any, fixed: Mapping[str, Any], at_most: Mapping[str, int]) -> Any:
    name = key.rpartition(".")[2]  # of a run's changes, such as model.width
    if name in fixed:
        return fixed[name]
    if isinstance(value, dict):
        small = {inner_key: _shrunk(inner_key, item, fixed, at_most) for inner_key, item in value.items()}
        # A length in epochs becomes one in optimiser steps, of which `at_most` has a number.
        return {inner_key.replace("epochs", "steps"): item for inner_key, item in small.items()}
    if name not in at_most:
        return value
    if isinstance(value, list):
        return sorted({min(item, at_most[name]) for item in value})
    return at_most[name] if value is None else min(value, at_most[name])


def rehearse(params: Params, root: Path, folder: Path, execution: Execution) -> StageResults:
    """Run all stages of a profile in an empty folder with the project's code; their output is in *.log there.

    After a failed stage, those that read its outputs do not run; a failure of hash_code stops no run. Tables are made
    only if nothing failed.
    """
    one_process = {"threads": 1, "processes": 1, "max_seconds": None}
    write_yaml(folder / MACHINE_FILE, execution.model_copy(update=one_process).model_dump())
    values = params.model_dump(mode="json")
    # Relative paths start at the project's root, not at this folder.
    for name, tests in params.tests.items():
        values["tests"][name]["file"] = str(root / tests.file)
    for name, section in params.data_sets.items():
        if section.files != NO_FILES:
            values["data_sets"][name]["files"] = str(root / section.files)
    write_yaml(folder / PARAMS, values)
    (folder / PROFILES).symlink_to(root / PROFILES)
    stages = stages_of_pipeline(root, params)
    labels = {name: (stage.key or PROFILE, stage.stage) for name, stage in stages.items()}
    results = dict.fromkeys(labels.values(), ("not run", 0.0))
    before = {
        name: stages.keys() - {name} if stage.stage == TABLES_STAGE else stage.after - {CODE_STAGE}
        for name, stage in stages.items()
    }

    def run_stage(name: str) -> None:
        """Run a stage if all before it have run."""
        if not any(results[labels[other]][0] for other in before[name]):
            results[labels[name]] = _run(stages[name].stage, stages[name].key, root, folder)
        bar.update()

    with ThreadPoolExecutor(NUM_PROCESSES) as pool, progress_bar("rehearsal", len(results)) as bar:
        order, running = TopologicalSorter(before), dict[Future[None], str]()
        order.prepare()
        while order.is_active():
            running |= {pool.submit(run_stage, name): name for name in order.get_ready()}
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                future.result()
                order.done(running.pop(future))
    return results


def _run(stage: str, name: str, root: Path, folder: Path) -> tuple[str, float]:
    command = [sys.executable, "-m", "stages", stage, *filter(None, [name])]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "compiled"),
    }
    log, start = folder / f"{stage}-{name or PROFILE}.log", time.perf_counter()
    with log.open("w") as file:
        done = subprocess.run(command, cwd=folder, env=environment, stdout=file, stderr=file, check=False)
    lines = [f"exit code {done.returncode}", *filter(str.strip, log.read_text(errors="replace").splitlines())]
    reason = next((line for line in reversed(lines) if line.startswith("error: ")), lines[-1])
    return reason.removeprefix("error: ") if done.returncode else "", time.perf_counter() - start
