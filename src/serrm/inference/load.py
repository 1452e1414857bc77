"""Checkpoint directories loaded as models for prediction."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from serrm import devices
from serrm.kernels.accelerate import accelerate
from serrm.models.layers import DTYPES
from serrm.models.recurrence import RecurrentModel
from serrm.models.registry import build_model
from serrm.settings import parse
from serrm.training.checkpoint import SNAPSHOTS, check, read_config, read_weights
from serrm.training.settings import RunSettings

TRIAL_PUZZLES = 8  # at once in the trial of `fastest_arithmetic`


@dataclass(frozen=True)
class LoadedModel:
    """A model in evaluation mode, with its settings and the content of its config.json."""

    model: RecurrentModel
    settings: RunSettings
    config: dict[str, Any]
    # EMA weights during training, the last those of the checkpoint itself.
    snapshots: tuple[Path, ...] = ()

    @property
    def info(self) -> dict[str, Any]:
        """The model's entry in a file of scores."""
        counts = {name: self.config[name] for name in ("parameters", "parameters_with_task_types")}
        return {"family": self.settings.model.family, **counts}


def load_model(checkpoint: Path, device: torch.device, *, has_dropout: bool = False) -> LoadedModel:
    """The model of a checkpoint with its EMA weights on `device`, by native kernels where they fit.

    `has_dropout` keeps attention dropout active, a fault of the published code that can be switched on.
    ValueError if the directory is no checkpoint, is damaged, or its weights do not fit its settings.
    """
    check(checkpoint)
    try:
        config = read_config(checkpoint)
        settings = parse(RunSettings, config["run"], f"{checkpoint}: settings")
        weights = read_weights(checkpoint)
        num_task_types = len(weights.get("task_types", [None]))
        model = build_model(
            settings.model,
            config["num_symbols"],
            num_positions=config["side"] ** 2,
            num_task_types=num_task_types,
        )
        model.load_state_dict(weights)
    except (SafetensorError, json.JSONDecodeError, KeyError) as error:
        raise ValueError(f"{checkpoint}: damaged checkpoint: {type(error).__name__}: {error}") from error
    except RuntimeError as error:
        raise ValueError(f"{checkpoint}: {str(error).splitlines()[-1].strip()}") from error
    accelerate(model)
    snapshots = tuple(sorted((checkpoint / SNAPSHOTS).glob("*.safetensors")))
    return LoadedModel(model.to(device).train(has_dropout), settings, config, snapshots)


def fastest_arithmetic(
    model: RecurrentModel, config: dict[str, Any], compiles: bool = False, *, is_native: bool = True
) -> devices.Arithmetic:
    """Precision and compile in which the model predicts fastest on its device, by a trial of about a second.

    `config` is that of its checkpoint. Leaves the model accelerated in any way.
    """
    device, num_positions = model.initial.device, config["side"] ** 2
    tokens = torch.zeros(TRIAL_PUZZLES, num_positions, dtype=torch.long, device=device)
    task_vectors = model.task_vectors(tokens[:, 0])

    def step_in(arithmetic: devices.Arithmetic) -> Callable[[], object]:
        state = model.initial_state(
            TRIAL_PUZZLES, num_positions, config["num_symbols"], DTYPES[arithmetic[0]]
        )

        @torch.no_grad()
        def step() -> None:
            accelerate(model, is_native=is_native, compiles=arithmetic[1])
            model(state, tokens, task_vectors)

        return step

    return devices.fastest_arithmetic(step_in, compiles, device)


def load_snapshot(model: RecurrentModel, path: Path) -> dict[str, str]:
    """Load the weights of a snapshot into the model; returns the snapshot's step, samples and loss as text."""
    with safe_open(path, "pt") as file:
        model.load_state_dict({key: file.get_tensor(key) for key in file.keys()})  # noqa: SIM118
        facts: dict[str, str] = file.metadata()
    return facts
