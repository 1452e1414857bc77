"""Where a run differs from the paper's model of its family, and where profile paper itself departs from the paper."""

from collections.abc import Iterator, Mapping
from typing import Any

Settings = Mapping[str, Any]  # what a run is composed of, as plain data: model, train, arrays, fidelity

# Keys whose difference changes no result, and those that the number of optimiser steps stands for.
UNREMARKABLE = ("seed", "log_every", "snapshots", "compile", "epochs", "steps")
PAPER_EXAMPLES = {"sudoku": 1000, "maze": 1000, "arc_agi_1": 3988, "arc_agi_2": 5573}  # of an epoch


def deviations(ours: Settings, paper: Settings) -> Iterator[str]:
    """Sentences that name every setting in which a run differs from the paper's run of its task and family."""
    for section in ("model", "train", "arrays", "fidelity"):
        here, there = ours[section], paper[section]
        for key, value in here.items():
            if key not in UNREMARKABLE and value != there.get(key):
                yield f"{key.replace('_', ' ')} {_text(value)} (paper: {_text(there.get(key))})"
    train, theirs = ours["train"], paper["train"]
    if train["steps"] is not None:
        steps = int(theirs["epochs"] * PAPER_EXAMPLES[ours["task"]] / theirs["batch_size"])
        yield f"optimiser steps {train['steps']:,} (paper: {steps:,})"
    elif train["epochs"] != theirs["epochs"]:
        yield f"epochs {train['epochs']:,g} (paper: {theirs['epochs']:,g})"


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


def _text(value: object) -> Any:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return "none" if value is None else str(value)
