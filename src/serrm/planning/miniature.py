"""A profile in miniature: the same cells, stages and studies with small models, few puzzles and few steps.

A pure function of params.yaml. What has a rule below becomes small wherever it stands; everything else stays as it
is: grids and canvases, alphabets, variants, sources, numbers of augmentations, studies, compiling.
"""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
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
Rule = Callable[[Any], Any]  # what becomes of a value


def at_most(most: int) -> Rule:
    """A number or `most`, whichever is less, and so for each of a list; any other value as it is."""

    def rule(value: Any) -> Any:
        if isinstance(value, list):
            return sorted({min(each, most) for each in value})
        return min(value, most) if isinstance(value, int) else value

    return rule


def always(value: Any) -> Rule:
    """The same, whatever stood there."""
    return lambda _: value


def inside(rules: Mapping[str, Rule]) -> Rule:
    """A section changed by the rules of its keys, as far as it has them."""
    return lambda tree: {key: rules[key](value) if key in rules else value for key, value in tree.items()}


def everywhere(rule: Rule) -> Rule:
    """A section whose entries are all changed alike."""
    return lambda tree: {key: rule(value) for key, value in tree.items()}


# One width for all, so that variants of the same structure are the same compiled graphs.
HEAD = max(HEAD_DIVISOR.values())  # the smallest that every kind of positions takes
MODEL = {
    **dict.fromkeys(("width", "head_dim", "swiglu_multiple"), always(HEAD)),
    "symbol_head_dim": always(HEAD // 2),
    **dict.fromkeys(("layers", "heads", "symbol_heads"), at_most(1)),
    **dict.fromkeys(("h_cycles", "l_cycles"), at_most(2)),
}
# A checkpoint to begin with is of another size, and not in the rehearsal's folder either.
TRAIN = {
    "batch_size": at_most(2),
    "snapshots": at_most(1),
    "log_every": at_most(1),
    "init_from": always(None),
}
NUM_STEPS = 3  # of a training
NUM_TRAIN, NUM_TEST, NUM_OTHER = 4, 2, 1  # puzzles to train on, to score, and of another size
SOURCE = {
    "num_train": at_most(NUM_TRAIN),
    "num_test": at_most(NUM_TEST),
    **dict.fromkeys(("num_16x16", "num_25x25"), at_most(NUM_OTHER)),
}
# Demonstration pairs asked on ARC-AGI; steps of an attempt in the studies of effort.
PAIRS, ATTEMPT_STEPS = 2, 2
EFFORT = {
    "max_steps": at_most(4),
    **dict.fromkeys(("num_puzzles", "restarts", "symmetries", "guesses"), at_most(2)),
    "attempt_steps": at_most(ATTEMPT_STEPS),
}
EVALUATE = {
    "curve_puzzles": at_most(1),
    **dict.fromkeys(("batch_size", "equivariance_pairs"), at_most(2)),
    "demonstration_pairs": at_most(PAIRS),
    "effort": lambda effort: effort and inside(EFFORT)({"attempt_steps": ATTEMPT_STEPS, **effort}),
}


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

    section = inside({"data": everywhere(inside({"download": inside({"source": change})}))})
    changed: dict[str, Any] = inside({"profiles": inside({params["profile"]: section})})(params)
    return changed


def miniature(params: Tree, *, in_float32: bool) -> dict[str, Any]:
    """The parameters in miniature, of all profiles, for each is also compared with that of the paper.

    `in_float32` takes precision and native kernels away, as a CPU compiles only without them.
    """
    precision = {"precision": always("float32")} if in_float32 else {}
    train = partial(_train, rules=TRAIN | precision)
    recipes = everywhere(everywhere(inside({"model": inside(MODEL), "train": train})))
    profile = inside(
        {
            "data": lambda data: {task: _data(task, each) for task, each in data.items()},
            "model": everywhere(inside(MODEL)),
            "recipe": recipes,
            "evaluate": lambda tasks: {
                task: _evaluate(task, each, EVALUATE | precision) for task, each in tasks.items()
            },
        }
    )
    execution = {**params["execution"], "threads": 1, "processes": 1, "max_seconds": None}
    small: dict[str, Any] = inside(
        {
            "execution": always(execution | ({"native": False} if in_float32 else {})),
            "model": everywhere(lambda entry: inside({**MODEL, "train": train})(_with_gates(entry))),
            "recipe": recipes,
            "profiles": everywhere(profile),
        }
    )(params)
    return small


def _with_gates(entry: Tree) -> Tree:
    """The gates' default multiple is wider than the model here; a base says it for its variants."""
    return {"swiglu_multiple": HEAD, **entry} if "family" in entry else entry


def _train(values: Tree, rules: Mapping[str, Rule]) -> dict[str, Any]:
    length = {"epochs": None, "steps": NUM_STEPS} if values.keys() & {"epochs", "steps"} else {}
    return {**inside(rules)(values), **length}


def _data(task: str, section: Tree) -> Any:
    source = inside(SOURCE)(section["download"]["source"])

    def no_more_than(key: str, most: int) -> Rule:
        return lambda own: min(each for each in (own, source.get(key), most) if each)

    num_test = NUM_OTHER if _task_of(task).has_votes else NUM_TEST
    augment = {
        "num_train": no_more_than("num_train", NUM_TRAIN),
        "num_test": no_more_than("num_test", num_test),
        "num_test_sizes": lambda sizes: dict.fromkeys(sizes, NUM_OTHER),
    }
    return inside({"download": inside({"source": always(source)}), "augment": inside(augment)})(section)


def _evaluate(task: str, values: Tree, rules: Mapping[str, Rule]) -> Any:
    rules = {**rules, "steps": at_most(_task_of(task).rehearsed)}
    return inside(rules)({"demonstration_pairs": PAIRS, **values})


def _task_of(section: str) -> PlannedTask:
    """The task that a section is about, or one of those that share it."""
    return next(each for task, each in TASKS.items() if section in (task, section_of(task)))
