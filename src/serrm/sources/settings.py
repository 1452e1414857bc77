"""Source of a task's raw files: settings of the `download` stage."""

from typing import Any, Generic, TypeVar

from pydantic import NonNegativeInt

from serrm.puzzles.tasks import TASKS
from serrm.settings import Settings

S = TypeVar("S")


class Download(Settings, Generic[S]):
    """Where a task's raw files come from."""

    source: S
    seed: NonNegativeInt


def download_kind(task: str) -> Any:
    """The settings of a task's `download` stage."""
    generic: Any = Download
    return generic[TASKS[task].source]
