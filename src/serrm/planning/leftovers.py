"""Leftovers of runs and test sets that params.yaml no longer has, in data/<profile> and in dvc.lock.

Tables have only what is in params.yaml. But stages depend on whole folders, such as data/<profile>/scores, so DVC
records the leftover files too, and dvc.lock then differs from that of a clone that never had them.
"""

import hashlib
import re
from collections.abc import Collection
from pathlib import Path

from serrm.config import Params, read_yaml
from serrm.core.files import write_whole
from serrm.core.project import LOCK, PIPELINE, Layout, git
from serrm.planning.pipeline import is_of_project, stages_of_pipeline

ENTRY_START = re.compile(r"^  (?=\S)", re.MULTILINE)  # of a stage in dvc.lock


def leftovers(params: Params, layout: Layout) -> list[Path]:
    """List files of removed runs and test sets in folders on which other stages depend, which no checkpoint is in."""
    run_folders = (layout.scores, layout.logs, layout.predictions)
    paths = [path for folder in run_folders for path in folder.glob("*") if path.stem not in params.runs]
    for data_set in params.data_sets:
        names = {name for name, tests in params.tests.items() if tests.data_set == data_set}
        paths += [path for path in layout.file_sets(data_set).glob("*") if path.name not in names]
    # Another process writes a file or folder under a name with a dot, and renames it at the end.
    return sorted(path for path in paths if not path.name.startswith("."))


def is_in_cache(path: Path, cache: Path) -> bool:
    """True if DVC's cache has the content of a file, or of all files of a folder."""
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    digests = [hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest() for file in files]
    return bool(files) and all(
        (cache / "files" / "md5" / digest[:2] / digest[2:]).is_file() for digest in digests
    )


def kept_entries(entries: Collection[str], params: Params, root: Path) -> list[str]:
    """List those names in dvc.lock that dvc.yaml still has, in its order; those of a user's own stages come last."""
    stages = read_yaml(root / PIPELINE)["stages"]
    kept = [name for name in stages_of_pipeline(root, params) if name in entries]
    for entry in entries:
        stage = entry.partition("@")[0]
        if stage in stages and not is_of_project(stage, stages[stage]):
            kept.append(entry)
    return kept


def tidy_lock(params: Params, root: Path) -> int:
    """Leave in dvc.lock only the stages of dvc.yaml, in its order; returns the number of entries removed.

    DVC appends a stage when it first ends, so the order depends on which of several runs at a time was faster.
    """
    path = root / LOCK
    read_yaml(path)  # raises ValueError for what is not YAML, such as a lock file in a merge conflict
    heading, *entries = ENTRY_START.split(text := path.read_text(encoding="utf-8"))
    stages = {entry.partition(":\n")[0]: entry for entry in entries}
    kept = [stages[name] for name in kept_entries(stages, params, root)]
    if (tidy := "  ".join([heading, *kept])) != text:
        write_whole(path, tidy)
        git(root, "add", LOCK)  # as DVC does whenever it writes the file (core.autostage)
    return len(entries) - len(kept)
