"""The provenance of a run: seconds, memory, machine, packages, commit. No result depends on it.

The file is `data/<profile>/machine/<sha256 of the weights>.json`, which neither DVC nor git tracks, so that outputs and
committed results are the same on every machine. A checkpoint that comes back from DVC's cache finds its facts there.
The report page and MLflow show them where the file exists.
"""

import ast
import hashlib
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from serrm.core.files import hash_file, read_json, write_json
from serrm.core.project import current_commit

Phase = Literal["training", "evaluation"]
PACKAGES = ("torch", "numpy", "serrm")
SOURCES = ("**/*.py", "kernels/cpu/*.h", "kernels/cpu/*.cpp")  # on which the numbers depend


def current_provenance(root: Path) -> dict[str, Any]:
    """Collect the machine, the moment, the commit checked out in `root` and the versions of packages."""
    commit, has_changes = current_commit(root)
    return {
        "host": platform.node(),
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit,
        "has_changes": has_changes,
        "code_hash": package_hash(),
        "packages": {"python": platform.python_version()} | {name: _version(name) for name in PACKAGES},
    }


def write_provenance(folder: Path, weights: str, phase: Phase, facts: Mapping[str, Any]) -> None:
    """Write the facts about one phase of a run whose weights have this sha256, beside those about the other phase."""
    write_json(folder / f"{weights}.json", {**read_provenance(folder, weights), phase: dict(facts)})


def read_provenance(folder: Path, weights: str | None) -> dict[str, Any]:
    """Read the facts about the phases of a run; empty if they are not known, such as after a `dvc pull`."""
    return read_json(folder / f"{weights}.json")


def hash_module(file: Path) -> str:
    """Hash a file of code; a module of models or training without its dicts of entries.

    So an entry that is added changes no run that names another. The lists of `hash_code` have a run's own entries.
    """
    if file.suffix != ".py" or file.parent.name not in ("models", "training"):
        return hash_file(file)
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        if isinstance(node, ast.AnnAssign) and node.value and ast.unparse(node.value).startswith("Entries"):
            assert node.end_lineno is not None
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def cpu_name() -> str:
    """Read the name of the CPU by Linux, else by Python."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = (line.partition(": ")[2] for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def package_hash() -> str:
    """Hash all source files of the package, to tell which code made a checkpoint.

    The stage `hash_code` is finer: it hashes the code that each run uses. Hidden files, which editors leave, are none.
    """
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for path in sorted(path for pattern in SOURCES for path in root.glob(pattern)):
        if any(name.startswith(".") for name in path.relative_to(root).parts):
            continue
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"  # run from the folder of its sources
