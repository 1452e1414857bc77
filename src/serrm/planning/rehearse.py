"""Rehearsal of a profile: the same tasks, runs and changes with small models, few puzzles and few steps.

Every stage runs as DVC would run it, in a folder of its own. A setting with an entry in AT_MOST becomes small wherever
it occurs; sources, canvases, alphabets, positions and the other settings stay as in the profile.
"""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import filter as matching
from pathlib import Path
from typing import Any

from serrm.config import NO_FILES, RANDOM, Params, write_yaml
from serrm.core.execution import Execution
from serrm.core.progress import progress_bar
from serrm.core.project import EXECUTION, PARAMS, PROFILES
from serrm.core.settings import parse
from serrm.models.families import FAMILIES
from serrm.models.positions import POSITIONS
from serrm.planning.forecast import CODE_STAGE, TASK_STAGES, TEST_STAGE
from serrm.puzzles.tasks import TASKS

Results = dict[tuple[str, str], tuple[str, float]]  # by task or run and stage: its error or "", and seconds
CODE, TABLES = ("code", CODE_STAGE), ("tables", "tabulate")
NUM_PROCESSES = min(4, os.cpu_count() or 1)  # limited by one machine's memory
# Features of a head that suits every kind of positions.
HEAD = max(kind.divisor for kind in POSITIONS.values())
# Largest value of a number, or of each number in a list; null becomes it.
AT_MOST = {
    **dict.fromkeys(("width", "head_dim", "symbol_head_dim", "swiglu_multiple"), HEAD),
    **dict.fromkeys(("layers", "heads", "symbol_heads", "snapshots", "log_every"), 1),
    **dict.fromkeys(("h_cycles", "l_cycles", "batch_size", "num_train", "guesses", "attempt_steps"), 2),
    **dict.fromkeys(("num_puzzles", "curve_puzzles", "equivariance_pairs", "num_test"), 1),
    **dict.fromkeys(("epochs", "steps", "max_steps", "num_augmentations"), 3),
}


def selected(params: Params, patterns: Sequence[str]) -> Params:
    """The profile with only those of its runs that a pattern such as sudoku-* names, and their tasks."""
    names = [matching(params.runs, pattern) for pattern in patterns]
    if [] in names:
        raise ValueError(
            f"--only {patterns[names.index([])]}: no such run; the runs are {', '.join(params.runs)}"
        )
    runs = {name: params.runs[name] for found in names for name in found}
    tasks = {run.task: params.tasks[run.task] for run in runs.values()}
    recipes = {task: params.recipes[task] for task in tasks}
    tests = {name: each for name, each in params.tests.items() if each.task in tasks}
    return params.model_copy(update={"runs": runs, "tasks": tasks, "tests": tests, "recipes": recipes})


def miniature(params: Params, mirror: Path | None = None, device: str = "auto") -> Params:
    """The profile in miniature, from random weights, with published puzzles from a folder if one is given.

    On a CPU it runs in float32.
    """
    from serrm.core.devices import choose_device

    on_cpu = {"precision": "float32"} if choose_device(device).type == "cpu" else {}
    small, fixed = params.model_dump(mode="json"), {"init": RANDOM, **on_cpu}
    limits = _at_most()
    of_model = {name: FAMILIES[values["family"]].at_most for name, values in params.models.items()}
    of_task = {name: TASKS[params.kind(name)].at_most for name in params.tasks}

    def shrink(values: dict[str, Any], *further: Mapping[str, int]) -> Any:
        """The values with the limits of their own model and task, which leave those of others alone."""
        own = {key: most for named in further for key, most in named.items()}
        return _small("", values, fixed, limits | own)

    small["models"] = {name: shrink(values, of_model[name]) for name, values in small["models"].items()}
    small["tasks"] = {name: shrink(values, of_task[name]) for name, values in small["tasks"].items()}
    small["tests"] = {name: shrink(values) for name, values in small["tests"].items()}
    small["recipes"] = {
        task: {name: shrink(values, of_model[name], of_task[task]) for name, values in recipes.items()}
        for task, recipes in small["recipes"].items()
    }
    small["runs"] = {
        name: shrink(run, of_model[run["model"]], of_task[run["task"]]) for name, run in small["runs"].items()
    }
    for name, task in small["tasks"].items():
        source = task["download"]["source"]
        if mirror is not None and source["kind"] == "hub":
            task["download"]["source"] = TASKS[params.kind(name)].mirror(source, mirror)
            task["files"] = str(mirror)
    return parse(Params, small, "the rehearsal's params")


def _at_most() -> dict[str, int]:
    """AT_MOST with the sizes of every family, whatever their names."""
    families = [each.model_fields.items() for each in FAMILIES.values()]
    return {name: HEAD for fields in families for name, field in fields if field.annotation is int} | AT_MOST


def _small(key: str, value: Any, fixed: Mapping[str, Any], at_most: Mapping[str, int]) -> Any:
    name = key.rpartition(".")[2]  # of a run's changes, such as model.width
    if isinstance(value, dict):
        return {
            key.replace("epochs", "steps"): _small(key, each, fixed, at_most) for key, each in value.items()
        }
    if name in fixed or name not in at_most:
        return fixed.get(name, value)
    if isinstance(value, list):
        return sorted({min(each, at_most[name]) for each in value})
    return at_most[name] if value is None else min(value, at_most[name])


def rehearse(params: Params, root: Path, folder: Path, execution: Execution) -> Results:
    """Run all stages of a profile in an empty folder with the project's code; *.log there has their output.

    A stage that depends on a failed one does not run; the tables depend on all.
    """
    alone = {"threads": 1, "processes": 1, "max_seconds": None}
    write_yaml(folder / EXECUTION, execution.model_copy(update=alone).model_dump())
    values = params.model_dump(mode="json")
    # The folder is not where a relative path starts.
    for name, tests in params.tests.items():
        values["tests"][name]["file"] = str(root / tests.file)
    for name, task in params.tasks.items():
        if task.files != NO_FILES:
            values["tasks"][name]["files"] = str(root / task.files)
    write_yaml(folder / PARAMS, values)
    (folder / PROFILES).symlink_to(root / PROFILES)
    stages = [CODE] + [(of, stage) for of in params.tasks for stage in TASK_STAGES]
    stages += [(name, TEST_STAGE) for name in params.tests]
    stages += [(of, stage) for of in params.runs for stage in ("train", "evaluate")] + [TABLES]
    results, failed = dict.fromkeys(stages, ("not run", 0.0)), set[str]()

    def in_turn(of: str) -> None:
        for stage in [stage for name, stage in stages if name == of]:
            results[of, stage] = error, _ = _run(stage, of, root, folder)
            bar.update()
            if error:
                failed.add(of)
                return

    with ThreadPoolExecutor(NUM_PROCESSES) as pool, progress_bar("rehearsal", len(results)) as bar:
        list(pool.map(in_turn, [CODE[0], *params.tasks, *params.tests]))
        failed |= {tests.task for name, tests in params.tests.items() if name in failed}
        list(pool.map(in_turn, [name for name, run in params.runs.items() if run.task not in failed]))
        if not failed:
            in_turn(TABLES[0])
    return results


def _run(stage: str, of: str, root: Path, folder: Path) -> tuple[str, float]:
    command = [sys.executable, "-m", "stages", stage, *([] if (of, stage) in (CODE, TABLES) else [of])]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root), os.environ.get("PYTHONPATH", "")]),
        "MLFLOW_TRACKING_URI": f"sqlite:///{folder / 'mlflow.db'}",
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "compiled"),
    }
    log, start = folder / f"{stage}-{of}.log", time.perf_counter()
    with log.open("w") as file:
        done = subprocess.run(command, cwd=folder, env=environment, stdout=file, stderr=file, check=False)
    lines = [f"exit code {done.returncode}", *filter(str.strip, log.read_text(errors="replace").splitlines())]
    reason = next((line for line in reversed(lines) if line.startswith("error: ")), lines[-1])
    return reason.removeprefix("error: ") if done.returncode else "", time.perf_counter() - start
