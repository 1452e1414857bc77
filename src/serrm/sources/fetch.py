"""The way in to the sources: a task's raw files from any of them, in one directory with a manifest.

This is the work of the `download` stage. What it writes has the publishers' file names and formats (see
the layouts) whatever the source, so that nothing after it asks where the puzzles came from.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from serrm.manifest import Origin, new_directory, write_manifest
from serrm.sources.arc import write_arc
from serrm.sources.mazes import write_mazes
from serrm.sources.sudoku import write_sudoku

logger = logging.getLogger(__name__)


def fetch(task: str, source: Any, target: Path, seed: int, scratch: Path | None = None) -> None:
    """Write the raw files of a task's `source` and their `manifest.json` to the directory `target`.

    The directory appears when everything is in it, in place of an older one; after a failure there is none
    that was not there before.

    Args:
        source: the settings of a source of this task.
        seed: of everything generated here.
        scratch: a directory that outlives this call, where an interrupted download is kept and goes on the
            next time; emptied of it when the download is complete. Without one every call starts afresh.

    Raises:
        ValueError: a file is missing, incomplete or has the wrong hash; one line that names it.
    """
    with new_directory(target) as directory:
        origins = WRITE_RAW[task](source, directory, seed, scratch or directory / ".scratch")
        if scratch is None and (directory / ".scratch").is_dir():
            (directory / ".scratch").rmdir()
        write_manifest(directory, source.kind, seed, origins)
    logger.info("%s: %d files from source %s", target, len(origins), source.kind)


# (source, directory, seed, scratch) → the origin of every file written to the directory.
WRITE_RAW: dict[str, Callable[[Any, Path, int, Path], dict[str, Origin]]] = {
    "sudoku": write_sudoku,
    "maze": write_mazes,
    "arc_agi_1": write_arc,
    "arc_agi_2": write_arc,
}
"""By task. A task of one's own is one entry more."""
