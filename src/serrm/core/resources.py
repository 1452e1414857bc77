"""The CPUs, memory and GPUs that this process may use: those of the machine, its affinity, and its control group.

Needs no torch. Source of the files: cgroups(7), https://docs.kernel.org/admin-guide/cgroup-v2.html.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

CGROUPS, OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
QUERY_GPUS = ("nvidia-smi", "--query-gpu=index", "--format=csv,noheader")


class Gpus(NamedTuple):
    """The GPUs by number or name, and what has to be said of them; empty if all is as expected."""

    names: tuple[str, ...]
    remark: str = ""


def usable_cpus() -> int:
    """Count the CPUs to which this process may be moved, within the time that its group gets."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for folder in group_folders("cpu"):
        quota, period = text_of(folder / "cpu.max").split() or ["max", "0"]
        if quota == "max":  # or version 1
            quota, period = text_of(folder / "cpu.cfs_quota_us"), text_of(folder / "cpu.cfs_period_us")
        if quota.isdigit() and period.isdigit():
            cpus = min(cpus, max(1, int(quota) // int(period)))
    return cpus


def usable_memory() -> int:
    """Count the bytes of the machine, within the limit of this process's group."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for folder in group_folders("memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):  # of version 2 and 1
            limit = text_of(folder / name)
            memory = min(memory, int(limit)) if limit.isdigit() else memory
    return memory


def group_folders(controller: str) -> Iterator[Path]:
    """Find the folders of this process's control group and of those above it, for one controller."""
    for line in text_of(OWN_CGROUPS).splitlines() or ["0::/"]:
        _, controllers, path = line.split(":", 2)
        if not controllers or controller in controllers.split(","):
            top = CGROUPS / controllers
            folder = top / path.lstrip("/")
            parents = (folder, *folder.parents)
            yield from (path for path in parents if path == top or top in path.parents)


def text_of(path: Path) -> str:
    """Read the content of a file, stripped; empty without the file."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def usable_gpus(device: str, environment: Mapping[str, str]) -> Gpus:
    """Find the GPUs for a device of machine.yaml: those of CUDA_VISIBLE_DEVICES, else all that nvidia-smi lists."""
    if device == "cpu":
        return Gpus((), "device: cpu in machine.yaml")
    if device.startswith("cuda:"):
        return Gpus((device.removeprefix("cuda:"),), f"device: {device} in machine.yaml")
    if (visible := environment.get("CUDA_VISIBLE_DEVICES")) is not None:
        return Gpus(tuple(filter(None, visible.split(","))), f"CUDA_VISIBLE_DEVICES={visible}")
    try:
        result = subprocess.run(QUERY_GPUS, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return Gpus(())
    if result.returncode:
        reason = (result.stdout + result.stderr).strip().splitlines() or [f"exit code {result.returncode}"]
        return Gpus((), f"nvidia-smi fails: {reason[0]}")
    return Gpus(tuple(result.stdout.split()))
