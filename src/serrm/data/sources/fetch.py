"""The way in to the sources: raw Sudoku files of any of them, in one directory with a manifest.

This is the work of the `download` stage. What it writes has the publishers' file names and formats (see
`layout`) whatever the source, so that nothing after it asks where the puzzles came from.
"""

import logging
from pathlib import Path

from serrm.data.manifest import Origin, new_directory, write_manifest
from serrm.data.sources.generated import write_16x16, write_generated
from serrm.data.sources.hub import download_hub
from serrm.data.sources.mirror import copy_mirror
from serrm.data.sources.settings import GeneratedSource, HubSource, MirrorSource, Source

logger = logging.getLogger(__name__)


def fetch(source: Source, target: Path, seed: int, scratch: Path | None = None) -> None:
    """Write the raw files of `source` and their `manifest.json` to the directory `target`.

    The directory appears when everything is in it, in place of an older one; after a failure there is none
    that was not there before.

    Args:
        seed: of everything generated here.
        scratch: a directory that outlives this call, where an interrupted download is kept and goes on the
            next time; emptied of it when the download is complete. Without one every call starts afresh.

    Raises:
        ValueError: a file is missing, incomplete or has the wrong hash; one line that names it.
    """
    with new_directory(target) as directory:
        origins = _write_published(source, directory, seed, scratch or directory / ".scratch")
        if scratch is None and (directory / ".scratch").is_dir():
            (directory / ".scratch").rmdir()
        origins |= write_16x16(source, directory, seed)
        write_manifest(directory, source.kind, seed, origins)
    logger.info("%s: %d files from source %s", target, len(origins), source.kind)


def _write_published(source: Source, directory: Path, seed: int, scratch: Path) -> dict[str, Origin]:
    match source:
        case GeneratedSource():
            return write_generated(source, directory, seed)
        case MirrorSource():
            return copy_mirror(source, directory)
        case HubSource():
            return download_hub(source, directory, scratch)
