"""Where raw files come from, by task: settings of the `download` stage."""

from typing import Any, Generic, TypeVar

from pydantic import NonNegativeInt

from serrm.puzzles.tasks import TASKS
from serrm.settings import Settings

S = TypeVar("S")


class Download(Settings, Generic[S]):
    """Where a task's raw files come from."""

    source: S
    seed: NonNegativeInt


DOWNLOAD: dict[str, type[Download[Any]]] = {name: Download[task.source] for name, task in TASKS.items()}  # type: ignore[name-defined]
