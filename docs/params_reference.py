"""Write docs/params.md: every key of params.yaml and machine.yaml, with types and defaults from the settings classes.

python docs/params_reference.py           # the same as `make docs`
"""

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from serrm import config
from serrm.core.settings import EntryOf, KeyOf
from serrm.models.families import FAMILIES
from serrm.puzzles.tasks import TASKS

PAGE = Path(__file__).with_name("params.md")
HEAD = """# Reference of params.yaml

Written by `make docs` from the settings classes; do not edit. params.yaml and the files in `profiles/` have this form.
An unknown key or a wrong value is an error that names the key. Three levels are merged, and the later one wins:
`models.<model>`, `recipes.<task>.<model>`, the `changes` of a run. Keys without a default are required.
Names in parentheses are the only models, sources or tasks that have the key.
"""
TEXTS = {
    "profile": "names the folders `data/<profile>` and `reports/<profile>`",
    "fidelity": "faults of the published code to repeat, below",
    "models": "architectures by name, below",
    "tasks": "data sets by name, with their scoring, below",
    "recipes": "training settings by task and model, below; its `model` and `arrays` override the model's and task's",
    "runs": "training runs by name, below; a name is `<task>-<variant>-s<seed>`",
    "family": "architecture",
    "expansion": "SwiGLU's inner width is expansion · D · 2/3",
    "swiglu_multiple": "SwiGLU's inner width is rounded up to a multiple of this",
    "standard_length": "grid size, in positions, for which attention scores are not rescaled; an extension",
    "states": "one state as in the paper, or z_H and z_L in TRM's schedule; an extension",
    "width": "D, features of the state",
    "layers": "L, layers of a block",
    "h_cycles": "h cycles of a supervision step",
    "l_cycles": "updates of z_L (SE-RRM: of Z) in an h cycle",
    "heads": "attention heads over positions",
    "head_dim": "features of a head over positions",
    "symbol_heads": "attention heads over symbols",
    "symbol_head_dim": "features of a head over symbols",
    "positions": "positional encoding ([values](models.md#settings-of-a-variant))",
    "registers": "extra positions that are cut before the output",
    "symbols": "symbol embeddings: shared (equivariant), or one per symbol",
    "planes": "symbols in the state, either all or `usual` (all except the special tokens)",
    "model.task_types": "size of the task-type embedding, either none, the paper's D×K or the published code's D + K",
    "attention_dropout": "dropout of attention weights in training",
    "prefix": "positions before the grid that hold the task type",
    "mixer": "attention, or an MLP over positions, which limits the model to one grid size",
    "batch_size": "B, puzzles trained at once",
    "epochs": "training length in epochs; give this or `steps`",
    "steps": "training length in optimiser steps; give this or `epochs`",
    "max_supervision_steps": "supervision steps after which a puzzle leaves the batch",
    "halting": "rule by which a puzzle leaves the batch earlier",
    "halting.kind": "random (in the paper SE-RRM) or learned (in the paper HRM and TRM)",
    "halting.probability": "random: probability of halting after a supervision step",
    "halting.probability_solved": "random: further probability for a solved puzzle; an extension",
    "halting.exploration": "q_learning: probability that a puzzle stays for a random number of steps",
    "halting.bootstrap": "q_learning: also learn the value of continuing (HRM)",
    "optimizer": "the paper's Adam-atan2, or Muon for the matrices of the network",
    "learning_rate": "peak learning rate",
    "schedule": "learning rate after warm-up",
    "final_rate": "end of the cosine schedule, as a share of the peak",
    "warmup_steps": "steps of linear warm-up",
    "weight_decay": "decoupled weight decay",
    "task_types": "sign-SGD of the task-type table; required where there is a table",
    "task_types.learning_rate": "learning rate of the task-type table",
    "task_types.weight_decay": "weight decay of the task-type table",
    "betas": "decay rates of the two moments of Adam-atan2",
    "ema": "decay of the EMA that is evaluated; 0 evaluates the raw weights",
    "precision": "arithmetic; weights and optimiser are always float32; `auto` is the faster one on this machine",
    "compile": "use torch.compile",
    "snapshots": "EMA snapshots kept for the learning curve",
    "log_every": "optimiser steps between records of the training log",
    "hints": "show squares of the answer in the first examples; an extension",
    "hints.max_cells": "largest number of squares shown; falls linearly to 0",
    "hints.examples": "number of examples after which none are shown",
    "loss": "stablemax cross-entropy (the paper's), or plain cross-entropy; an extension",
    "init_from": "set by the `init` of a run",
    "num_augmentations": "augmentations of a training puzzle, besides the puzzle itself",
    "evaluate.steps": "supervision steps after which to score",
    "headline_steps": "the one of `steps` whose scores headlines and learning curves show; null: 16, or else the most",
    "evaluate.batch_size": "batch size for 9×9 puzzles; larger grids get smaller batches",
    "curve_puzzles": "puzzles for each point of the learning curve; 0: no curve",
    "evaluate.precision": "arithmetic; `auto` is the faster one on this machine",
    "examples": "predictions of each test set kept for drawing",
    "evaluate.task_types": "ARC-AGI: task-type embeddings to score with",
    "test_time_compute": "scores against supervision steps and guesses",
    "test_time_compute.num_puzzles": "puzzles of the size trained on",
    "test_time_compute.max_steps": "limit on the steps of a single attempt, which stops at a verified answer",
    "test_time_compute.attempt_steps": "steps of the first attempt if there are guesses",
    "test_time_compute.guesses": "numbers of attempts, all but the first with guesses (Sudoku)",
    "equivariance_pairs": "puzzles compared with a copy whose symbols are permuted",
    "num_train": "training puzzles; null: all",
    "num_test": "test puzzles; null: all",
    "source.num_train": "training puzzles to generate",
    "source.num_test": "test puzzles to generate",
    "num_evaluation": "evaluation puzzles to generate; they do not depend on the number of training puzzles",
    "sides": "least side of an ARC-like question, largest side of any grid",
    "colours": "least and most colours of an ARC-like puzzle's questions, besides the background",
    "rules": "[families of rules](data.md#generated-arc-like-puzzles), all equally likely",
    "max_rules": "most rules combined in an ARC-like puzzle; 2: about half of the puzzles combine two",
    "num_test_sizes": "test puzzles by grid size; null: all",
    "scored": "test puzzles, or validation puzzles for choosing settings",
    "canvas": "side of the canvas; puzzles with a larger grid are left out",
    "audit": "training pairs that are augmentations of a scored pair: drop, or list and keep",
    "source.kind": "where the raw puzzles come from ([sources](data.md#sources))",
    "num_16x16": "16×16 puzzles to generate",
    "clues_16x16": "least and most clues of a 16×16 puzzle",
    "num_25x25": "25×25 puzzles to generate",
    "clues_25x25": "least and most clues of a 25×25 puzzle",
    "clues": "least and most clues of a 9×9 puzzle",
    "root": "folder with the publishers' file names",
    "folder_9x9": "which folder of 9×9 puzzles below `root`",
    "side": "side of a maze",
    "windows": "windows of the training mazes in place of the mazes",
    "windows.side": "side of a window",
    "windows.min_steps": "least steps from start to goal",
    "windows.num_per_maze": "windows of each maze",
    "windows.num_held_out": "number of last training mazes, which give one test window each and no training window",
    "min_path": "least number of squares on the path, including start and goal",
    "task": "a key of `tasks`",
    "model": "a key of `models`",
    "seed": "random seed of training",
    "init": "`random`, or a checkpoint below `data/` to start from",
    "changes": "settings of this run, by dotted key: `model.…`, `train.…`, `arrays.…`, `evaluate.…`, `fidelity.…`",
    "dropout_at_evaluation": "attention dropout stays active when predicting",
    "shifted_rope2d": "RoPE2D gives each square the angles of the square P (`prefix`) positions later",
    "bfloat16_embeddings": "embeddings and their EMA are rounded to bfloat16 at every update",
    "identity_twice": "ARC-AGI: the untransformed puzzle counts as two augmentations and votes twice",
    "aggregated_voting": "ARC-AGI: the votes of earlier snapshots count beside those of the last",
    "ties_by_halting": "ARC-AGI: equal votes of HRM and TRM are ordered by the mean of σ(q_halt)",
    "device": "`auto`, `cpu`, `cuda`, `cuda:1`, …",
    "threads": "CPU threads of all processes together; null: all cores",
    "processes": "processes that share a training run or an evaluation ([scale](scale.md))",
    "micro_batch": "limit on the puzzles of one forward pass in each process; null: none",
    "native": "use the C++ kernels where possible ([performance](performance.md))",
    "checkpoint_seconds": "time between checkpoints of a training run",
    "max_seconds": "stop with a checkpoint and exit code 75 after this time; null: never",
}


def page() -> str:
    """The text of docs/params.md."""
    run, scoring = config.RunSettings.model_fields, config.ScoringSettings.model_fields
    sources = {
        f"{name} {label}": kind
        for name, task in TASKS.items()
        for label, kind in by_tag(task.source, "kind").items()
    }
    lines = [HEAD.rstrip(), *section("Top level", {"": config.Params}, depth=0)]
    lines += section("Model: `models.<model>`", FAMILIES, "model")
    (recipe,) = classes(run["train"].annotation)
    lines += section("Recipe: `models.<model>.train`, `recipes.<task>.<model>`", {"": recipe})
    lines += section("Source: `tasks.<task>.download.source`", sources, "source")
    lines += section("Puzzles: `tasks.<task>.augment`", {name: task.subset for name, task in TASKS.items()})
    lines += section("Augmentations: `tasks.<task>.arrays`", {"": config.ArraySettings})
    (evaluate,) = classes(scoring["evaluate"].annotation)
    lines += section("Scoring: `tasks.<task>.evaluate`", {"": evaluate}, "evaluate")
    lines += section("Run: `runs.<run>`", {"": config.RunSection})
    lines += section("Faults of the published code: `fidelity`", {"": config.ScoringFidelity})
    lines += section("Execution: `machine.yaml`", {"": config.Execution})
    return "\n".join(lines) + "\n"


def by_tag(annotation: Any, tag: str) -> dict[str, type[BaseModel]]:
    """The settings classes in an annotation, by the value of their tag field."""
    return {str(get_args(kind.model_fields[tag].annotation)[0]): kind for kind in classes(annotation)}


def section(
    title: str, kinds: Mapping[str, type[BaseModel]], prefix: str = "", depth: int = 2
) -> Iterator[str]:
    """A heading and a table of the keys of classes. Keys that only some of them have name these."""
    rows: dict[
        tuple[str, str, str], list[tuple[str, str]]
    ] = {}  # by key, default and text: values and who has them
    for label, kind in kinds.items():
        for key, words, default, text in table(kind, prefix, "", depth):
            rows.setdefault((key, default, text), []).append((words, label))
    yield from ("", f"## {title}", "", "| key | values | default | meaning |", "|---|---|---|---|")
    for (key, default, text), having in rows.items():
        words = ", ".join(dict.fromkeys(word for words, _ in having for word in words.split(", ")))
        labels = list(dict.fromkeys(label for _, label in having))
        only = f" ({', '.join(f'`{label}`' for label in labels)})" if len(labels) < len(kinds) else ""
        yield f"| `{key}` | {words} | {default} | {text}{only} |"


def table(kind: type[BaseModel], prefix: str, parent: str, depth: int) -> Iterator[tuple[str, str, str, str]]:
    """Key, values, default and text of every field of a class, and of the classes inside."""
    for name, field in kind.model_fields.items():
        key = f"{parent}{name}"
        if name == "seed" and "task" not in kind.model_fields:
            continue  # tasks.<task>.seed, added to every section
        text = field.description or TEXTS.get(f"{prefix}.{key}", TEXTS.get(key))
        if text is None:
            raise ValueError(f"{key} of {kind.__name__} has no description, and no entry in TEXTS")
        default = field.get_default(call_default_factory=True)
        shown = "" if default is PydanticUndefined else f"`{plain(default)}`"
        names = ", ".join(f"`{each}`" for each in known(field.metadata))
        yield key, names if is_name(field) else values(field.annotation, field.metadata), shown, text
        if depth and not is_name(field):
            for each in dict.fromkeys(known(field.metadata).values() or classes(field.annotation)):
                yield from table(each, prefix, f"{key}.", depth - 1)


def known(metadata: Any) -> dict[str, type[BaseModel]]:
    """The settings classes of a field that takes those of one of them, by name."""
    return {name: kind for each in metadata if isinstance(each, EntryOf) for name, kind in each.known.items()}


def is_name(field: FieldInfo) -> bool:
    """True for a field whose value is one of several names, none of which has further settings."""
    kinds = known(field.metadata).values()
    return bool(kinds) and all(kind.model_fields.keys() == {"kind"} for kind in kinds)


def classes(annotation: Any) -> Iterator[type[BaseModel]]:
    """The settings classes in an annotation."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from classes(part)


def values(annotation: Any, metadata: Any = ()) -> str:
    """The values that a field takes, in words."""
    parts = get_args(annotation)
    if get_origin(annotation) is Literal:
        text = ", ".join(f"`{part}`" for part in parts)
    elif get_origin(annotation) is tuple:
        text = f"list of {values(parts[0])}"
    elif get_origin(annotation) is dict or list(classes(annotation)):
        return "mapping"
    elif hasattr(annotation, "__metadata__"):
        text = values(parts[0], annotation.__metadata__)
    elif parts:
        text = ", ".join(values(part, metadata) for part in parts if part is not NoneType)
        return text + ", null" * (NoneType in parts)
    else:
        text = {int: "integer", float: "number", bool: "true, false"}.get(annotation, "text")
        text = next(
            (", ".join(f"`{key}`" for key in each.known) for each in metadata if isinstance(each, KeyOf)),
            text,
        )
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    pairs = [(sign, getattr(each, name, None)) for name, sign in signs.items() for each in metadata]
    return " ".join([text, *(f"{sign} {bound:g}" for sign, bound in pairs if isinstance(bound, int | float))])


def plain(value: Any) -> str:
    """A default as YAML shows it."""
    if isinstance(value, BaseModel):
        return plain(value.model_dump())
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"[{', '.join(map(plain, value))}]" if isinstance(value, tuple) else str(value)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
