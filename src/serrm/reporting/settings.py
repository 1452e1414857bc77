"""Tables A2 to A4: each cell's resolved settings beside what the paper prints, differences marked.

The settings are those of params.yaml as a cell resolves to, as plain data: of the profile at hand ("here") and at the
paper's scale. What the paper does not print follows in rows of its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from serrm.reporting.cells import DASH, NOT_RUN
from serrm.reporting.names import model_name, task_name
from serrm.reporting.notes import Note
from serrm.reporting.paper import HyperparameterTable
from serrm.reporting.results import Results
from serrm.reporting.tables import Table

Settings = Mapping[str, Any]
"""What a training resolves to, as plain data: sections `model`, `train`, `arrays`, `fidelity`."""
Cell = tuple[str, str]
"""A task and a variant."""

PAPER: Final = "paper"  # the profile with the paper's values
DIFFERS: Final = "\N{NO-BREAK SPACE}≠"
NOTES: Final = (
    f"{DIFFERS.strip()}: not the printed value; where none is printed, not that of the profile named paper.",
    "A dash: not printed, or this kind of model has none. Rows after the positional encoding are not in the paper.",
)
POSITIONS: Final = {
    "rope": "RoPE",
    "rope2d": "RoPE2D",
    "rope2d_shifted": "RoPE2D, shifted",
    "rope2d_boxes": "RoPE2D with boxes",
    "rope2d_in_boxes": "RoPE2D of boxes and places in them",
    "rope2d_linear": "RoPE2D with evenly spaced frequencies",
}
SCHEDULES: Final = {"constant": "Warmup + Constant-LR", "cosine": "Warmup + Cosine-Decay"}


def _at(*path: str, form: str = "") -> Callable[[Settings], str]:
    """A setting by its sections and key; a dash where this kind of model has none."""

    def read(cell: Settings) -> str:
        value: Any = cell
        for key in path:
            value = None if value is None else value.get(key)
        return DASH if value is None else format(value, form)

    return read


def _halting(cell: Settings) -> str:
    halting = cell["train"]["halting"]
    is_random = halting["kind"] == "random"
    return f"random ({100 * halting['probability']:g}% chance per step)" if is_random else "q-learning"


def _length(cell: Settings) -> str:
    train = cell["train"]
    return f"{train['steps']:,} optimiser steps" if train.get("steps") else f"{train['epochs']:.10g}"


def _layers(cell: Settings) -> str:
    num, family = cell["model"]["layers"], cell["model"]["family"]
    return (
        f"{2 * num} ({num} for each dimension)"
        if family == "se_rrm"
        else str(2 * num if family == "hrm" else num)
    )


def _heads(cell: Settings) -> str:
    model = cell["model"]
    if model["family"] != "se_rrm":
        return f"{model['heads']} × {model['width'] // model['heads']}"
    over_symbols = f"{model['symbol_heads']} × {model['symbol_head_dim']}"
    return f"{model['heads']} × {model['head_dim']}, over symbols {over_symbols}"


def _hints(cell: Settings) -> str:
    hints = cell["train"]["hints"]
    return (
        DASH if hints is None else f"up to {hints['most']} cells, none from example {hints['examples']:,} on"
    )


# What the paper prints, by its keys in paper.yaml, and what it does not, with names of our own.
VALUES: Final[dict[str, tuple[str, Callable[[Settings], str]]]] = {
    "supervision_steps": ("", _at("train", "max_supervision_steps")),
    "halting": ("", _halting),
    "cycles": ("", lambda cell: f"H={cell['model']['h_cycles']}, L={cell['model']['l_cycles']}"),
    "batch_size": ("", _at("train", "batch_size")),
    "num_epochs": ("", _length),
    "lr": ("", _at("train", "learning_rate", form="g")),
    "weight_decay": ("", _at("train", "weight_decay", form="g")),
    "schedule": ("", lambda cell: SCHEDULES.get(cell["train"]["schedule"], cell["train"]["schedule"])),
    "task_type_lr": (
        "Learning rate for puzzle embeddings",
        _at("train", "task_types", "learning_rate", form="g"),
    ),
    "task_type_weight_decay": (
        "Weight decay for puzzle embeddings",
        _at("train", "task_types", "weight_decay", form="g"),
    ),
    "hidden_size": ("", _at("model", "width")),
    "layers": ("", _layers),
    "positions": ("", lambda cell: POSITIONS.get(cell["model"]["positions"], cell["model"]["positions"])),
    "standard_length": ("Positions without scaled scores", _at("model", "standard_length")),
    "heads": ("Attention heads", _heads),
    "symbols": ("Symbol embeddings", _at("model", "symbols")),
    "planes": ("Symbol planes", _at("model", "planes")),
    "task_types": ("Task-type embeddings", _at("model", "task_types")),
    "registers": ("Register positions", _at("model", "registers")),
    "prefix": ("Prefix positions", _at("model", "prefix")),
    "mixer": ("Mixing of positions", _at("model", "mixer")),
    "dropout": ("Attention dropout", _at("model", "attention_dropout", form="g")),
    "augmentations": ("Augmentations of a training puzzle", _at("arrays", "num_augmentations", form=",")),
    "warmup": ("Warm-up steps", _at("train", "warmup_steps", form=",")),
    "optimizer": ("Optimiser", _at("train", "optimizer")),
    "betas": ("Betas", lambda cell: ", ".join(f"{beta:g}" for beta in cell["train"]["betas"])),
    "ema": ("Weight average (EMA)", _at("train", "ema", form="g")),
    "hints": ("Hints in the first questions", _hints),
    "precision": ("Arithmetic", _at("train", "precision")),
}


@dataclass(frozen=True)
class CellSettings:
    """Resolved settings of the cells of a profile, and of the same cells at the paper's scale, where known.

    `deviations` are sentences that say where the two differ.
    """

    here: Mapping[Cell, Settings] = field(default_factory=dict)
    at_paper_scale: Mapping[Cell, Settings] = field(default_factory=dict)
    deviations: Mapping[Cell, Sequence[str]] = field(default_factory=dict)


def setting(key: str, settings: Settings | None) -> str:
    """A hyperparameter by its key in VALUES; a dash without settings, or where the family has none of the kind."""
    return DASH if settings is None else VALUES[key][1](settings)


def hyperparameter_table(
    number: str, profile: str, paper: HyperparameterTable, settings: CellSettings, results: Results
) -> Table:
    """One line a hyperparameter; for every model the paper's value, params.yaml's at its scale, and the one here.

    The paper's models come first, "not run" where no cell of the profile has them, then the profile's other variants.
    """
    ours = [variant for task, variant in settings.here if task in paper.tasks]
    variants = list(dict.fromkeys([*paper.columns, *ours]))
    scales = [f"profile {profile}"] if profile == PAPER else ["profile paper", f"profile {profile}"]
    header = [f"{model_name(name)}: {scale}" for name in variants for scale in ("printed", *scales)]
    rows = []
    for key in dict.fromkeys([*paper.rows, *VALUES]):
        printed = dict(zip(paper.columns, paper.rows[key].cells, strict=True)) if key in paper.rows else {}
        values = {name: _ours(key, paper.tasks, name, settings, results) for name in variants}
        cells = [text for name in variants for text in _cells(printed.get(name), *values[name], len(scales))]
        if any(text not in (DASH, NOT_RUN) for text in cells):
            rows.append((_name(key, paper), *cells))
    notes = tuple(map(Note, (*NOTES, *_other_tasks(paper, settings))))
    tasks = " and ".join(map(task_name, paper.tasks))
    caption = f"Training on {tasks} as params.yaml resolves, beside what the paper prints."
    return Table(number, paper.title, caption, ("Hyperparameter", *header), tuple(rows), notes, bool(ours))


def _name(key: str, paper: HyperparameterTable) -> str:
    return paper.rows[key].name if key in paper.rows else VALUES[key][0]


def _ours(
    key: str, tasks: Sequence[str], name: str, settings: CellSettings, results: Results
) -> tuple[str, str]:
    """The value at the paper's scale and the one here, on the first of the tasks that has the model.

    The parameters are counted on the model that was trained.
    """
    cell = next(((task, name) for task in tasks if (task, name) in settings.here), None)
    if cell is None:
        return DASH, NOT_RUN
    if key == "parameters":
        return DASH, f"{results[cell][0].model_info.parameters:,}" if cell in results else DASH
    return setting(key, settings.at_paper_scale.get(cell)), setting(key, settings.here[cell])


def _cells(printed: str | None, at_scale: str, here: str, num_scales: int) -> list[str]:
    """The printed value, the one at the paper's scale (where it has a column) and the one here; differences marked."""
    reference = printed or (at_scale if at_scale != DASH else here)
    shown = [at_scale, here][-num_scales:]
    same = (reference, DASH, NOT_RUN)
    return [
        printed or DASH,
        *(text if text in same or _rounded(text) == reference else text + DIFFERS for text in shown),
    ]


def _rounded(count: str) -> str:
    """A number of parameters as the paper prints it: 27,275,266 as 27M."""
    digits = count.replace(",", "")
    return f"{round(int(digits) / 1e6)}M" if "," in count and digits.isdigit() else count


def _other_tasks(paper: HyperparameterTable, settings: CellSettings) -> Iterable[str]:
    """Where a second task of the table is trained with something else than the one shown."""
    for name in dict.fromkeys(variant for task, variant in settings.here if task in paper.tasks):
        shown, *others = [task for task in paper.tasks if (task, name) in settings.here]
        for task in others:
            for key in VALUES:
                here, first = (setting(key, settings.here[each, name]) for each in (task, shown))
                if here != first:
                    label = _name(key, paper).lower()
                    yield f"On {task_name(task)} {model_name(name)} has another {label}: {here}."
