"""A profile in miniature: the same cells, stages and studies with small models, few puzzles and few steps.

A pure function of params.yaml. What is on the lists below becomes small wherever it stands; everything else stays as it
is: grids and canvases, alphabets, variants, sources, numbers of augmentations, studies, compiling.
"""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from serrm.config import grid_of
from serrm.inference.settings import EvaluateCell
from serrm.models.settings import HEAD_DIVISOR
from serrm.planning.tasks import TASKS, PlannedTask
from serrm.resolve import resolve, section_of
from serrm.sources.sudoku_layout import FOLDER_EXTREME, FOLDER_EXTREME_1K
from serrm.training.settings import TrainCell

Tree = Mapping[str, Any]
# One width for all, so that variants of the same structure are the same compiled graphs.
HEAD = max(HEAD_DIVISOR.values())  # the smallest that every kind of positions takes
SIZES = {"width": HEAD, "head_dim": HEAD, "symbol_head_dim": HEAD // 2, "swiglu_multiple": HEAD}
AT_MOST = {"layers": 1, "h_cycles": 2, "l_cycles": 2, "heads": 1, "symbol_heads": 1}
TRAIN_AT_MOST = {"batch_size": 2, "snapshots": 1, "log_every": 1}
NUM_STEPS = 3  # of a training
NUM_TRAIN, NUM_TEST, NUM_OTHER = 4, 2, 1  # puzzles to train on, to score, and of another size
SOURCE_AT_MOST = {
    "num_train": NUM_TRAIN,
    "num_test": NUM_TEST,
    "num_16x16": NUM_OTHER,
    "num_25x25": NUM_OTHER,
}
EFFORT = {
    "num_puzzles": 2,
    "max_steps": (1, 2, 4),
    "attempt_steps": 2,
    "restarts": (1, 2),
    "symmetries": (1, 2),
}
STUDIES = {"batch_size": 2, "curve_puzzles": 1, "equivariance_pairs": 2}
PAIRS = 2  # ARC: demonstration pairs asked


def selected(params: Tree, profile: str, patterns: Sequence[str] = ()) -> dict[str, Any]:
    """The parameters with `profile` active and only those of its cells that a pattern names, such as sudoku-*.

    ValueError naming a pattern that no cell has.
    """
    cells = {
        f"{task}-{model}-s{seed}": (task, model, seed)
        for task, model, seed in grid_of(params, profile).cells()
    }
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in cells):
            raise ValueError(
                f"--only {pattern}: profile {profile} has no such cell; it has {', '.join(cells)}"
            )
    wanted = [
        {"tasks": [task], "models": [model], "seeds": [seed]}
        for name, (task, model, seed) in cells.items()
        if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
    ]
    section = {**params["profiles"][profile], "grid": wanted}
    return {**params, "profile": profile, "profiles": {**params["profiles"], profile: section}}


def compiling(params: Tree) -> set[tuple[str, str]]:
    """The (stage, cell) of the active profile that ask for compiled networks."""
    found = set()
    for name, each in resolve(params, params["profile"]).items():
        stage, _, cell = name.partition("/")
        is_training = isinstance(each, TrainCell) and each.train.compile
        if is_training or (isinstance(each, EvaluateCell) and each.evaluate.compile):
            found.add((stage, cell))
    return found


def mirrored(params: Tree, mirror: Path) -> dict[str, Any]:
    """The parameters with a local folder in place of the publishers in the active profile's sources.

    Sudoku-Extreme is taken whole if it is there, else its 1,000 training puzzles.
    """
    folder_9x9 = FOLDER_EXTREME if (mirror / FOLDER_EXTREME).is_dir() else FOLDER_EXTREME_1K

    def change(source: Tree) -> dict[str, Any]:
        if source["kind"] != "hub":
            return dict(source)
        generated = {key: source[key] for key in ("num_16x16", "clues_16x16") if key in source}
        folder = {"folder_9x9": folder_9x9} if generated else {}
        return {"kind": "mirror", "root": str(mirror), **generated, **folder}

    profile = params["profile"]
    section = params["profiles"][profile]
    data = {
        task: {**each, "download": {**each["download"], "source": change(each["download"]["source"])}}
        for task, each in section["data"].items()
    }
    return {**params, "profiles": {**params["profiles"], profile: {**section, "data": data}}}


def miniature(params: Tree, *, in_float32: bool) -> dict[str, Any]:
    """The parameters in miniature, of all profiles, for each is also compared with that of the paper.

    `in_float32` takes precision and native kernels away, as a CPU compiles only without them.
    """
    precision = {"precision": "float32"} if in_float32 else {}
    execution = {**params["execution"], "threads": 1, "processes": 1, "max_seconds": None}
    return {
        **params,
        "execution": {**execution, **({"native": False} if in_float32 else {})},
        "model": {name: _variant(each, precision) for name, each in params["model"].items()},
        "recipe": _recipes(params["recipe"], precision),
        "profiles": {name: _profile(each, precision) for name, each in params["profiles"].items()},
    }


def _profile(section: Tree, precision: Tree) -> dict[str, Any]:
    return {
        **section,
        "data": {task: _data(task, each) for task, each in section["data"].items()},
        "model": {name: _model(each) for name, each in section.get("model", {}).items()},
        "recipe": _recipes(section.get("recipe", {}), precision),
        "evaluate": {task: _evaluate(task, each, precision) for task, each in section["evaluate"].items()},
    }


def _recipes(tree: Tree, precision: Tree) -> dict[str, Any]:
    return {
        task: {name: _recipe(each, precision) for name, each in recipes.items()}
        for task, recipes in tree.items()
    }


def _recipe(recipe: Tree, precision: Tree) -> dict[str, Any]:
    parts: dict[str, Callable[[Tree], dict[str, Any]]]
    parts = {"model": _model, "train": lambda values: _train(values, precision)}
    return {name: parts[name](values) if name in parts else values for name, values in recipe.items()}


def _variant(entry: Tree, precision: Tree) -> dict[str, Any]:
    """An entry of `model`: the model's keys stand bare, the training's under `train`."""
    return _recipe(_model(entry), precision)


def _model(values: Tree) -> dict[str, Any]:
    # The gates' default multiple is wider than the model here; a base says it for its variants.
    own = {"swiglu_multiple": 0, **values} if "family" in values else values
    return {key: SIZES.get(key, _least(value, AT_MOST.get(key))) for key, value in own.items()}


def _train(values: Tree, precision: Tree) -> dict[str, Any]:
    small = {key: _least(value, TRAIN_AT_MOST.get(key)) for key, value in values.items()}
    length = {"epochs": None, "steps": NUM_STEPS} if values.keys() & {"epochs", "steps"} else {}
    # A checkpoint of another size, which is not in the rehearsal's folder either.
    initial = {"init_from": None} if "init_from" in values else {}
    return {**small, **_present(precision, values), **length, **initial}


def _data(task: str, section: Tree) -> dict[str, Any]:
    source = {
        key: _least(value, SOURCE_AT_MOST.get(key)) for key, value in section["download"]["source"].items()
    }
    augment = section["augment"]
    most = {"num_train": NUM_TRAIN, "num_test": NUM_OTHER if _task_of(task).has_votes else NUM_TEST}
    few = {
        key: min(each for each in (augment[key], source.get(key), num) if each) for key, num in most.items()
    }
    sizes = {"num_test_sizes": dict.fromkeys(augment.get("num_test_sizes", {}), NUM_OTHER)}
    return {
        **section,
        "download": {**section["download"], "source": source},
        "augment": {**augment, **few, **_present(sizes, augment)},
    }


def _evaluate(task: str, values: Tree, precision: Tree) -> dict[str, Any]:
    depth = _task_of(task).rehearsed
    small = {key: _least(value, STUDIES.get(key)) for key, value in values.items()}
    small["steps"] = sorted({min(step, depth) for step in values["steps"]})
    small["demonstration_pairs"] = min(values.get("demonstration_pairs", PAIRS), PAIRS)
    if (effort := values.get("effort")) is not None:
        small["effort"] = {**effort, **_effort(effort)}
    return {**small, **_present(precision, values)}


def _task_of(section: str) -> PlannedTask:
    """The task that a section is about, or one of those that share it."""
    return next(each for task, each in TASKS.items() if section in (task, section_of(task)))


def _effort(effort: Tree) -> dict[str, Any]:
    """Fewer puzzles, depths and attempts; a kind of attempts that is not asked for stays so."""
    lists = {
        key: sorted({min(each, max(few)) for each in effort[key]})
        for key, few in EFFORT.items()
        if isinstance(few, tuple) and key in effort
    }
    attempts = min(effort.get("attempt_steps", EFFORT["attempt_steps"]), EFFORT["attempt_steps"])
    return {
        **lists,
        "num_puzzles": min(effort["num_puzzles"], EFFORT["num_puzzles"]),
        "attempt_steps": attempts,
    }


def _least(value: Any, most: int | None) -> Any:
    """A number or `most`, whichever is less; another value, or one without a bound, as it is."""
    return value if most is None or value is None or not isinstance(value, int) else min(value, most)


def _present(values: Tree, where: Tree) -> dict[str, Any]:
    """Those of the values whose keys are there."""
    return {key: value for key, value in values.items() if key in where}
