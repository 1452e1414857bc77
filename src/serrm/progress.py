"""How far long work is: a bar on a terminal; elsewhere, as under DVC, one plain line of the log every 15 seconds.

The lowest link of the imports: the work of every room reports through it.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
log = logging.getLogger(__name__)
PAUSE = 15.0  # seconds between lines


class Bar:
    """The progress of one piece of work, named `name`, of `total` units if that is known.

    `words` say what else there is to tell of it now; the newest stand behind the bar or in the line.
    """

    def __init__(
        self,
        name: str,
        total: int | None = None,
        *,
        unit: str = "",
        done: int = 0,
        is_quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
        **of_bar: Any,
    ) -> None:
        self.name, self.total, self.unit, self.done, self.before = name, total, unit, done, done
        self.is_quiet, self.clock = is_quiet, clock
        self.words = ""
        self.start = self.last_line = clock()
        self.bar: Any = None
        if not is_quiet and sys.stderr.isatty():
            from tqdm import tqdm

            self.bar = tqdm(total=total, initial=done, desc=name, unit=f" {unit}" if unit else "", **of_bar)

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def update(self, num: int = 1) -> None:
        """Count work that is done."""
        self.done += num
        if self.bar is not None:
            self.bar.set_postfix_str(self.words, refresh=False)
            self.bar.update(num)
        elif not self.is_quiet and (now := self.clock()) - self.last_line >= PAUSE:
            self.last_line = now
            log.info("%s", self.line(now))

    def line(self, now: float) -> str:
        """Such as "9x9 puzzles: 320 of 660, 41 s so far, about 44 s to go"."""
        seconds = now - self.start
        unit = f"{self.unit} " if self.unit else ""
        parts = [unit + (f"{self.done:,}" if self.total is None else f"{self.done:,} of {self.total:,}")]
        parts += [self.words] if self.words else []
        parts.append(f"{duration(seconds)} so far")
        if self.total is not None and self.done > self.before:
            left = seconds / (self.done - self.before) * max(0, self.total - self.done)
            parts.append(f"about {duration(left)} to go")
        return f"{self.name}: {', '.join(parts)}"


def watch(
    items: Iterable[T], name: str, total: int | None = None, *, unit: str = "", is_quiet: bool = False
) -> Iterator[T]:
    """The items, and how far they are."""
    with Bar(name, total, unit=unit, is_quiet=is_quiet) as bar:
        for item in items:
            yield item
            bar.update()


def duration(seconds: float) -> str:
    """ "50 s", "12 min", "2 h 40 min" or "31 days"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours >= 100:
        return f"{hours / 24:,.0f} days"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
