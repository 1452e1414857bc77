"""Settings of runs as plain data: in the paper's words (tables A2 to A7), and where they differ from the paper's."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from serrm.reporting.names import DASH
from serrm.reporting.paper import load_paper

Settings = Mapping[str, Any]
"""What a training resolves to: `model`, `train`, `arrays` and other sections."""
Key = tuple[str, str]
"""Task and model of a run."""

# Keys whose difference changes no result, and those that the number of optimiser steps stands for.
UNREMARKABLE: Final = ("seed", "log_every", "snapshots", "compile", "epochs", "steps")
PAPER_EXAMPLES: Final = {"sudoku": 1000, "maze": 1000, "arc_agi_1": 3988, "arc_agi_2": 5573}  # of an epoch
POSITIONS: Final = {
    "rope": "RoPE",
    "rope2d": "RoPE2D",
    "rope2d_shifted": "RoPE2D, shifted",
    "rope2d_boxes": "RoPE2D with boxes",
    "rope2d_in_boxes": "RoPE2D of boxes and places in them",
    "rope2d_linear": "RoPE2D with evenly spaced frequencies",
}
SCHEDULES: Final = {"constant": "Warmup + Constant-LR", "cosine": "Warmup + Cosine-Decay"}


@dataclass(frozen=True)
class CellSettings:
    """Settings of a profile's runs and of the paper's runs of the same tasks and families, as far as it has them.

    `deviations` are what is to be said of where a run differs from the paper's; `flops` gives those of a supervision
    step on a puzzle of so many positions and symbols.
    """

    here: Mapping[Key, Settings] = field(default_factory=dict)
    at_paper_scale: Mapping[Key, Settings] = field(default_factory=dict)
    deviations: Mapping[Key, Sequence[str]] = field(default_factory=dict)
    flops: Mapping[Key, Callable[[int, int], int]] = field(default_factory=dict)

    @property
    def init(self) -> dict[Key, str]:
        """The name of the run whose weights a run begins with, where it begins with any."""
        starts = {key: settings["train"]["init_from"] for key, settings in self.here.items()}
        return {key: start.rpartition("/")[2] for key, start in starts.items() if start}


def differences(ours: Settings, paper: Settings) -> list[str]:
    """Where a run's settings differ from the paper's, such as "halting probability 0.2 (paper: 0.05)"."""
    here, there = dict(_flat(ours)), dict(_flat(paper))
    train, theirs = ours["train"], paper["train"]
    if train["steps"]:
        here["", "optimiser steps"] = f"{train['steps']:,}"
        num_examples = theirs["epochs"] * PAPER_EXAMPLES[ours["task"]]
        there["", "optimiser steps"] = f"{num_examples // theirs['batch_size']:,.0f}"
    else:
        here["", "epochs"], there["", "epochs"] = (f"{each['epochs']:,g}" for each in (train, theirs))
    both = [(key[1], here.get(key, "none"), there.get(key, "none")) for key in here | there]
    return [f"{name} {value} (paper: {other})" for name, value, other in both if value != other]


def departures(run: Settings, fidelity: Settings) -> Iterator[str]:
    """Sentences that name what no parameter shows: where a run of profile paper departs from the paper's."""
    model, is_arc = run["model"], run["task"].startswith("arc_agi")
    if run["task"] == "sudoku":
        yield "1,000 training puzzles drawn and 16×16 puzzles made here: the paper's are not published"
        if model["family"] == "se_rrm":
            yield "register positions as in the published code (paper: names none)"
        if model["attention_dropout"]:
            yield "attention dropout as in SE-RRM's published command (paper: names none)"
    if is_arc and model.get("task_types") == "factored":
        yield "task types factored, as in the published code (paper: full)"
    if is_arc:
        yield "a pair's place on the canvas drawn anew every epoch (published code: once, before training)"
    if is_arc and not fidelity["aggregated_voting"]:
        yield "one checkpoint votes (published code: all evaluations of a training, pooled)"
    if is_arc and model["family"] != "se_rrm" and not fidelity["ties_by_halting"]:
        yield "equal votes ordered by the least certain cell (published code: by the halting logit)"
    if run["variant"] == "se_rrm_trm_hyperparameters":
        yield "width 256, since the paper has 2M parameters for all its SE-RRMs (TRM's width would give 7.35M)"


def _flat(settings: Settings) -> Iterator[tuple[tuple[str, str], str]]:
    """Every setting by its section and its name in words."""
    for section, values in settings.items():
        for key, value in values.items() if isinstance(values, Mapping) else ():
            for part, each in value.items() if isinstance(value, Mapping) else [("", value)]:
                if key not in UNREMARKABLE:
                    yield (section, f"{key} {part}".strip().replace("_", " ")), _words(each)


def _words(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "on" if value else "off"
        case int() | float():
            return f"{value:,g}" if isinstance(value, float) else f"{value:,}"
        case list():
            return " and ".join(map(_words, value))
    return str(value)


def halting(settings: Settings) -> str:
    """How a slot halts in training: q-learning or random."""
    return str(settings["train"]["halting"]["kind"]).replace("_", "-")


def positions(settings: Settings) -> str:
    """The positional encoding, such as RoPE2D."""
    return POSITIONS.get(settings["model"]["positions"], str(settings["model"]["positions"]))


def _halting(settings: Settings) -> str:
    probability = settings["train"]["halting"].get("probability")
    return halting(settings) + (f" ({100 * probability:g}% chance per step)" if probability else "")


def _epochs(settings: Settings) -> str:
    train = settings["train"]
    return f"{train['steps']:,} optimiser steps" if train["steps"] else f"{train['epochs']:.10g}"


def _layers(settings: Settings) -> str:
    num, family = settings["model"]["layers"], settings["model"]["family"]
    doubled = str(2 * num)
    return {"se_rrm": f"{doubled} ({num} for each dimension)", "hrm": doubled}.get(family, str(num))


def _of_training(*keys: str) -> Callable[[Settings], str]:
    def read(settings: Settings) -> str:
        value = settings["train"]
        for key in keys:
            value = value and value[key]
        return DASH if value is None else format(value, "g")

    return read


# What the paper prints of a model, by its keys in paper.yaml; the number of parameters stands in the metric file.
READERS: Final[dict[str, Callable[[Settings], str]]] = {
    "supervision_steps": _of_training("max_supervision_steps"),
    "halting": _halting,
    "cycles": lambda settings: "H={h_cycles}, L={l_cycles}".format_map(settings["model"]),
    "batch_size": _of_training("batch_size"),
    "num_epochs": _epochs,
    "lr": _of_training("learning_rate"),
    "weight_decay": _of_training("weight_decay"),
    "schedule": lambda settings: SCHEDULES.get(settings["train"]["schedule"], settings["train"]["schedule"]),
    "task_type_lr": _of_training("task_types", "learning_rate"),
    "task_type_weight_decay": _of_training("task_types", "weight_decay"),
    "hidden_size": lambda settings: str(settings["model"]["width"]),
    "layers": _layers,
    "positions": positions,
}


def hyperparameters(task: str, settings: Settings) -> str:
    """TRM or SE-RRM, whose batch size, learning rate and weight decay in the paper a run has, or else "other"."""
    for table in load_paper().hyperparameter_tables.values():
        for place, name in enumerate(table.columns.values()):
            keys = ("batch_size", "lr", "weight_decay")
            if (
                name != "HRM"
                and task in table.tasks
                and all(READERS[key](settings) == table.rows[key].cells[place] for key in keys)
            ):
                return name
    return "other"


# What a run's line in an ablation table is labelled with, by the paper's heading.
LABELS: Final[dict[str, Callable[[str, Settings], str]]] = {
    "Halting": lambda task, settings: halting(settings),
    "PosEnc": lambda task, settings: positions(settings),
    "Hyperparameters": hyperparameters,
    "Symbol equivariance": lambda task, settings: str(settings["model"].get("symbols") == "tied"),
}
