"""Progress of long loops: a tqdm bar on a terminal, and elsewhere, as under DVC, a log line every 15 seconds."""

import logging
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
log = logging.getLogger(__name__)
PAUSE = 15.0  # seconds between lines
LINE = "{desc}: {n_fmt}/{total_fmt}{unit} [{elapsed}<{remaining}{postfix}]"  # [so far<to go, …]


class LogLines:
    """A file for tqdm whose lines go to the log."""

    def write(self, text: str) -> None:
        """Log what is not blank."""
        if line := text.strip():
            log.info("%s", line)

    def flush(self) -> None:
        """Do nothing, as each line is logged at once."""


def progress_bar(
    name: str,
    total: int | None = None,
    *,
    unit: str = "",
    done: int = 0,
    is_quiet: bool = False,
    **options: Any,
) -> Any:
    """Make a progress bar with `done` of `total` units done; off a terminal nothing is logged in the first 15 s."""
    from tqdm import tqdm  # imported here to keep --help fast

    if not sys.stderr.isatty():
        options |= {"file": LogLines(), "bar_format": LINE, "leave": False}
        options |= {"delay": PAUSE, "mininterval": PAUSE, "miniters": 1}
    return tqdm(
        desc=name, total=total, unit=f" {unit}" if unit else "", initial=done, disable=is_quiet, **options
    )


def with_progress(
    items: Iterable[T], name: str, total: int | None = None, *, unit: str = "", is_quiet: bool = False
) -> Iterator[T]:
    """Yield the items, and show a progress bar."""
    return iter(progress_bar(name, total, unit=unit, is_quiet=is_quiet, iterable=items))


def duration(seconds: float) -> str:
    """Format a duration, such as "50 s", "12 min", "2 h 40 min" or "31 days"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours >= 100:
        return f"{hours / 24:,.0f} days"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
