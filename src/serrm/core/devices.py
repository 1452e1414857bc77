"""The device of a run: its choice, threads, repeatable sums, timing, memory."""

import ctypes
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import torch

from serrm.core.processes import ALONE, Processes

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # the names of glibc's malloc.h
THREADS_FILE = "THREADS_FILE"  # an environment variable


def choose_device(name: str) -> torch.device:
    """Choose a device by name; "auto" is the GPU if there is one. ValueError if the device does not exist."""
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


def prepare_device(name: str, threads: int | None = None, processes: Processes = ALONE) -> torch.device:
    """Return the device of that name for this process, ready for a run.

    Sets this process's share of the CPU threads, keeps freed memory, and makes sums on a GPU repeatable.
    """
    keep_memory()
    if threads is not None:
        torch.set_num_threads(max(1, threads // processes.num_local))
    device = choose_device(name)
    make_repeatable(device)
    return device if processes.num_local == 1 else device_of_process(device, processes)


def follow_threads() -> None:
    """Use as many CPU threads as the file says that the environment variable THREADS_FILE names, once there is one.

    `serrm.running` writes it when fewer runs are left than go at a time, so that the last runs take over the cores of
    those that have ended.
    """
    file = Path(os.environ.get(THREADS_FILE, ""))
    if file.is_file():
        torch.set_num_threads(int(file.read_text()))


def keep_memory() -> None:
    """Keep freed memory with the process (glibc's malloc; others are left as they are).

    Otherwise malloc returns pages after each step and the kernel zeroes them again.
    """
    c_library = ctypes.CDLL(None)
    if hasattr(c_library, "gnu_get_libc_version"):
        c_library.mallopt(M_MMAP_MAX, 0)  # no separate mapping for a large tensor
        c_library.mallopt(M_TRIM_THRESHOLD, -1)  # never


def make_repeatable(device: torch.device) -> None:
    """On a GPU use only algorithms that add in a fixed order and in float32, so results repeat bit for bit.

    Call it before the GPU's first product. A CPU needs none of it.
    """
    if device.type != "cuda":
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it PyTorch promises nothing
    torch.use_deterministic_algorithms(True)  # the backward pass of fused attention, rows written by index
    # Otherwise deterministic algorithms fill new tensors first, in a pass over their memory.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.enable_cudnn_sdp(False)  # fused attention whose sums have no fixed order


def device_of_process(device: torch.device, processes: Processes) -> torch.device:
    """Find the device of this process: the CPU, or a GPU of its own.

    ValueError if the machine has too few GPUs, or if `device` already names one.
    """
    if device.type == "cpu":
        return device
    if device.index is not None or processes.num_local > torch.cuda.device_count():
        raise ValueError(
            f"device {str(device)!r}: {processes.num_local} processes need a GPU each, "
            f"this machine has {torch.cuda.device_count()}; set device in machine.yaml to cuda or cpu"
        )
    torch.cuda.set_device(processes.local_rank)
    return torch.device("cuda", processes.local_rank)


def seed_global(number: int, device: torch.device) -> None:
    """Seed PyTorch's global generator of the CPU, or those of all devices.

    On a CPU without torch.manual_seed, whose first call imports PyTorch's compiler, which takes a second, and whose
    further calls take a fifth of a millisecond for the other kinds of devices.
    """
    (torch.default_generator.manual_seed if device.type == "cpu" else torch.manual_seed)(number)


def seconds_of(function: Callable[[], object], device: torch.device) -> float:
    """Time one call, from an idle device until the device has finished the work that the call started."""
    _wait_for(device)
    start = perf_counter()
    function()
    _wait_for(device)
    return perf_counter() - start


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def peak_memory(device: torch.device) -> int:
    """Measure the largest memory use so far in bytes: of the GPU, or the resident memory of this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
