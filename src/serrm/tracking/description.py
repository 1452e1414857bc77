"""The DVC experiment, changed settings and machine of a run in MLflow, which tell it from others of its name."""

import os
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import yaml

from serrm.config import Params, read_execution
from serrm.core.devices import choose_device
from serrm.core.project import PARAMS, PROFILES, git
from serrm.core.provenance import cpu_name
from serrm.core.settings import parse
from serrm.kernels.precision import has_fast_bfloat16
from serrm.training.settings import RunSettings

EXPERIMENT_VARIABLE = "DVC_EXP_NAME"  # set by `dvc exp run`
NEW = "this run is not in the commit"


def display_name(settings: RunSettings) -> str:
    """The name of a run in MLflow: data set, variant and seed, then the DVC experiment if there is one."""
    experiment = os.environ.get(EXPERIMENT_VARIABLE)
    return f"{settings.name} ({experiment})" if experiment else settings.name


def description(root: Path, name: str, settings: RunSettings) -> str:
    """The DVC experiment, and the settings of a run that differ from those of the commit; empty if there are none."""
    experiment = os.environ.get(EXPERIMENT_VARIABLE)
    lines = [f"DVC experiment {experiment}"] if experiment else []
    lines += changed_settings(root, name, settings)
    return "  \n".join(lines)  # two spaces break a line in Markdown


def changed_settings(root: Path, name: str, settings: RunSettings) -> list[str]:
    """The composed settings of a training that differ from the commit's, such as "train.steps: 40 instead of 326".

    The commit's settings are those of its params.yaml, or of the file of the active profile.
    """
    committed = committed_params(root)
    if committed is None:
        return []
    if name not in committed.runs:
        return [NEW]
    before, now = (flat(run) for run in (committed.run_settings(name), settings))
    keys = [key for key in now | before if before.get(key) != now.get(key)]
    return [f"{key}: {now.get(key)} instead of {before.get(key)}" for key in keys]


def committed_params(root: Path) -> Params | None:
    """The params file of the active profile in the checked-out commit; None if it is missing or invalid."""
    try:
        profile = yaml.safe_load((root / PARAMS).read_text(encoding="utf-8"))["profile"]
        for file in (PARAMS, f"{PROFILES}/{profile}.yaml"):
            values = yaml.safe_load(git(root, "show", f"HEAD:./{file}")) or {}
            if values.get("profile") == profile:
                return parse(Params, values, file)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError):
        pass
    return None


def flat(settings: RunSettings) -> dict[str, Any]:
    """Settings by dotted key, in MLflow's form."""
    (values,) = pd.json_normalize(settings.model_dump(mode="json")).to_dict("records")
    return {str(key): value for key, value in values.items()}


def machine_params(root: Path) -> dict[str, str]:
    """The processor, its instructions, the device, and the threads.

    Threads are machine.yaml's number, for all processes together, or else PyTorch's in this process.
    """
    execution = read_execution(root)
    instructions = [torch.backends.cpu.get_cpu_capability()]
    if has_fast_bfloat16(torch.device("cpu")):
        instructions.append("AMX" if torch.cpu._is_amx_tile_supported() else "AVX512-BF16")
    return {
        "machine.cpu": cpu_name(),
        "machine.instructions": ", ".join(instructions),
        "machine.threads": str(execution.threads or torch.get_num_threads()),
        "machine.device": str(choose_device(execution.device)),
        "machine.native": str(execution.native),
    }
