"""Leftovers of runs and test sets that params.yaml no longer has, in data/<profile> and in dvc.lock.

Tables have only what is in params.yaml. But stages depend on whole folders, such as data/<profile>/scores, so DVC
records the leftover files too, and dvc.lock then differs from that of a clone that never had them.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from serrm.config import Params, read_yaml
from serrm.core.files import write_whole
from serrm.core.project import LOCK, PIPELINE, Layout, git

ENTRY_START = re.compile(r"^  (?=\S)", re.MULTILINE)  # of a stage in dvc.lock


def leftovers(params: Params, layout: Layout) -> list[Path]:
    """Files of removed runs and test sets in folders on which other stages depend; checkpoints are in none of them."""
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


def kept_entries(entries: Iterable[str], params: Params, root: Path) -> list[str]:
    """Those of the names in dvc.lock that dvc.yaml still has, in its order.

    Of a stage with a loop of the user's own, such as `matrix`, all entries are kept.
    """
    keys_of_loop: Mapping[str, Mapping[str, object]] = {
        "${data_sets}": params.data_sets,
        "${tests}": params.tests,
        "${runs}": params.runs,
    }
    by_stage: dict[str, list[str]] = {}
    for entry in entries:
        by_stage.setdefault(entry.partition("@")[0], []).append(entry)
    kept = []
    for stage, settings in (read_yaml(root / PIPELINE) or {})["stages"].items():
        names, loop = by_stage.get(stage, []), settings.get("foreach")
        if isinstance(loop, str) and loop in keys_of_loop:
            kept += [name for key in keys_of_loop[loop] if (name := f"{stage}@{key}") in names]
        else:
            kept += names
    return kept


def tidy_lock(params: Params, root: Path) -> int:
    """Leave in dvc.lock only the stages of dvc.yaml, in its order; returns the number of entries removed.

    DVC appends a stage when it first ends, so the order depends on which of several runs at a time was faster.
    """
    path = root / LOCK
    read_yaml(path)  # raises ValueError for what is not YAML, such as a lock file in a merge conflict
    heading, *entries = ENTRY_START.split(text := path.read_text(encoding="utf-8"))
    by_name = {entry.partition(":\n")[0]: entry for entry in entries}
    kept = [by_name[name] for name in kept_entries(by_name, params, root)]
    if (tidy := "  ".join([heading, *kept])) != text:
        write_whole(path, tidy)
        git(root, "add", LOCK)  # as DVC does whenever it writes the file (core.autostage)
    return len(entries) - len(kept)
