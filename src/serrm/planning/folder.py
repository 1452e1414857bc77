"""The folder of a rehearsal: a project of its own, so that nothing of the user's is touched."""

import shutil
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from serrm.config import write_params
from serrm.grid_file import GRID, refresh

PLACE = Path("data/rehearsal")  # below the project's root, where git and DVC do not look


@contextmanager
def project(
    stages: Path, params: Mapping[str, Any], place: Path, name: str, *, is_kept: bool
) -> Iterator[Path]:
    """A new folder below `place` with the parameters in a file called `name`, their grid and a copy of the stages.

    It is gone afterwards, also after SIGTERM, unless it is to be kept.
    """
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    place.mkdir(parents=True, exist_ok=True)
    folder = Path(mkdtemp(prefix=f"{params['profile']}-", dir=place))
    try:
        write_params(folder / name, params)
        refresh(params, folder / GRID)
        (folder / stages.name).mkdir()
        for path in stages.glob("*.py"):
            shutil.copyfile(path, folder / stages.name / path.name)
        (folder / "logs").mkdir()
        yield folder
    finally:
        if not is_kept:
            shutil.rmtree(folder, ignore_errors=True)
        signal.signal(signal.SIGTERM, before)
