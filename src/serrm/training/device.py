"""Where the arithmetic is done, and what the machine at hand can do of what the settings ask for."""

import logging
import shutil

import torch

from serrm.config import Execution
from serrm.training.settings import TrainSettings

log = logging.getLogger(__name__)


def choose_device(name: str) -> torch.device:
    """ "auto" is the GPU if there is one. ValueError if the named device is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"device {name!r}: {str(error).splitlines()[0]}") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"device {name!r}: this machine has no CUDA device that torch {torch.__version__} can use"
        )
    if device.type not in ("cpu", "cuda") or (device.index or 0) >= max(1, torch.cuda.device_count()):
        raise ValueError(f"device {name!r}: not on this machine; use auto, cpu or cuda")
    return device


def prepare_device(execution: Execution) -> torch.device:
    """The device of the execution section, with its number of CPU threads set."""
    if execution.threads:
        torch.set_num_threads(execution.threads)
    return choose_device(execution.device)


def has_fast_bfloat16(device: torch.device) -> bool:
    """Whether bfloat16 matrix products are done by the hardware."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def can_compile(device: torch.device) -> bool:
    """Whether torch.compile has the C++ compiler it needs on a CPU."""
    return device.type != "cpu" or any(shutil.which(name) for name in ("g++", "clang++", "c++"))


def supported(precision: str, compiles: bool, device: torch.device) -> tuple[str, bool]:
    """(precision, compile) as asked for, or what this machine can do, with a warning that says so."""
    if precision == "bfloat16" and not has_fast_bfloat16(device):
        log.warning("%s has no bfloat16 arithmetic: using float32, without compiling", device)
        return "float32", False
    if compiles and not can_compile(device):
        log.warning("no C++ compiler (g++ or clang++) found: using float32, without compiling")
        return "float32", False
    return precision, compiles


def supported_settings(settings: TrainSettings, device: torch.device) -> TrainSettings:
    """The settings with precision and compiling as this machine supports them."""
    precision, compiles = supported(settings.precision, settings.compile, device)
    return settings.model_copy(update={"precision": precision, "compile": compiles})
