"""What runs and test sets that params.yaml no longer has leave behind, in data/<profile> and in dvc.lock.

Tables have only what is in params.yaml. But stages depend on whole folders, such as data/<profile>/scores, so DVC
records the leftover files too, and dvc.lock then differs from that of a clone that never had them.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from serrm.config import Params, read_yaml
from serrm.core.files import write_whole
from serrm.core.project import Layout, git

LOCK, PIPELINE = "dvc.lock", "dvc.yaml"
STAGE = re.compile(r"^  (?=\S)", re.MULTILINE)  # begins the entry of a stage in dvc.lock


def leftovers(params: Params, layout: Layout) -> list[Path]:
    """What removed runs and test sets left in folders on which other stages depend; checkpoints are in none of them."""
    of_runs = (layout.scores, layout.logs, layout.predictions)
    paths = [path for folder in of_runs for path in folder.glob("*") if path.stem not in params.runs]
    for task in params.tasks:
        names = {name for name, tests in params.tests.items() if tests.task == task}
        paths += [path for path in layout.file_sets(task).glob("*") if path.name not in names]
    return sorted(paths)


def is_in_cache(path: Path, cache: Path) -> bool:
    """True if DVC's cache has the content of a file, or of all files of a folder."""
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    digests = [hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest() for file in files]
    return all((cache / "files" / "md5" / digest[:2] / digest[2:]).is_file() for digest in digests)


def stage_names(params: Params, root: Path) -> list[str]:
    """All stages of dvc.yaml by the names that DVC gives them, in its order."""
    loops: Mapping[str, Mapping[str, object]] = {
        "${tasks}": params.tasks,
        "${tests}": params.tests,
        "${runs}": params.runs,
    }
    names = []
    for name, stage in (read_yaml(root / PIPELINE) or {})["stages"].items():
        names += [f"{name}@{key}" for key in loops[stage["foreach"]]] if "foreach" in stage else [name]
    return names


def tidy_lock(params: Params, root: Path) -> int:
    """Leave in dvc.lock only the stages of dvc.yaml, in its order; returns the number of entries removed.

    DVC appends a stage when it first ends, so the order depends on which of several runs at a time was faster.
    """
    path = root / LOCK
    read_yaml(path)  # refuses what is no YAML, such as a lock file in a merge conflict
    heading, *entries = STAGE.split(text := path.read_text(encoding="utf-8"))
    by_name = {entry.partition(":\n")[0]: entry for entry in entries}
    kept = [by_name[name] for name in stage_names(params, root) if name in by_name]
    if (tidy := "  ".join([heading, *kept])) != text:
        write_whole(path, tidy)
        git(root, "add", LOCK)  # as DVC does whenever it writes the file (core.autostage)
    return len(entries) - len(kept)
