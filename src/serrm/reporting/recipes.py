"""The settings in which a run differs from profile `paper`'s run of the same family (the tables of recipes.md)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from serrm.core.differences import flat, value_text

ComposedSettings = Mapping[str, Any]
"""The composed settings of a run: `data_set`, `task`, `variant`; sections `model`, `train`, `arrays`, `fidelity`."""
# Choices among classes of settings with different keys, and the kind where a choice names none.
CHOICES: Final = {"halting": "none", "loss": "stablemax", "optimizer": "adam_atan2"}
# Keys that are not listed as differences: the seed, what changes no result, and epochs and steps, which are compared as
# optimiser steps if the run gives `steps`, else as epochs.
NOT_LISTED: Final = ("seed", "log_every", "snapshots", "compile", "epochs", "steps")


class Setting(NamedTuple):
    """A setting that differs between a run and profile `paper`'s run of its family, with both values as text."""

    name: str
    run: str
    paper: str

    def __str__(self) -> str:
        """Write such as "halting probability 0.2 instead of 0.05"."""
        return f"{self.name} {self.run} instead of {self.paper}"


def setting_differences(run: ComposedSettings, paper: ComposedSettings, num_examples: int) -> list[Setting]:
    """List the differences of a run's composed settings from those of profile `paper`.

    `num_examples` are those of an epoch of the paper.
    """
    run_values, paper_values = dict(_in_words(run)), dict(_in_words(paper))
    train, paper_train = run["train"], paper["train"]
    if train["steps"]:
        paper_steps = paper_train["epochs"] * num_examples // paper_train["batch_size"]
        run_values["", "optimiser steps"] = value_text(train["steps"])
        paper_values["", "optimiser steps"] = value_text(paper_steps)
    else:
        run_values["", "epochs"] = value_text(train["epochs"])
        paper_values["", "epochs"] = value_text(paper_train["epochs"])
    # Choices of different kinds have different further keys (random has `probability`, q_learning `exploration`), so
    # each becomes one text, such as "random, probability 0.1".
    for name in CHOICES:
        has_details = any(key.startswith(f"{name} ") for _, key in run_values | paper_values)
        if has_details and _kind(run_values, name) != _kind(paper_values, name):
            run_values, paper_values = _as_one_setting(name, run_values), _as_one_setting(name, paper_values)
    settings = [
        Setting(key[1], run_values.get(key, "none"), paper_values.get(key, "none"))
        for key in run_values | paper_values
    ]
    return [setting for setting in settings if setting.run != setting.paper]


def _kind(values: Mapping[tuple[str, str], str], name: str) -> str:
    """Look up the kind of a choice, which stands alone where it has no further settings."""
    return values.get(("train", f"{name} kind")) or values.get(("train", name)) or CHOICES[name]


def _as_one_setting(name: str, values: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """Join a choice to one setting, such as "random, probability 0.2" for the halting rule."""
    choice_values = {
        key: value for key, value in values.items() if key[1] == name or key[1].startswith(f"{name} ")
    }
    details = [
        f"{key[1].removeprefix(f'{name} ')} {value}"
        for key, value in choice_values.items()
        if key[1] not in (name, f"{name} kind")
    ]
    rest = {key: value for key, value in values.items() if key not in choice_values}
    return rest | {("train", name): ", ".join([_kind(values, name), *details])}


def _in_words(settings: ComposedSettings) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield ((section, name in words), value as text) of every setting."""
    for key, value in flat(settings).items():
        section, _, name = key.partition(".")
        if name and name.partition(".")[0] not in NOT_LISTED:
            yield (section, name.replace(".", " ").replace("_", " ")), value_text(value)
