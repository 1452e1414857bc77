"""A stream read ahead: the next examples are gathered by a thread of their own while the model computes.

Examples are pure functions of their number, so reading ahead changes none, and nothing of it is part of a checkpoint.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from serrm.arrays.stream import Examples, Stream


@dataclass
class ReadAhead:
    """`stream`, with up to `num` examples after the last one asked for gathered before they are asked for."""

    stream: Stream
    num: int
    _start: int = 0  # number of the first example at hand
    _ready: Examples | None = None
    _coming: Future[Examples] | None = None
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "read-ahead"))

    @property
    def num_examples(self) -> int:
        """Examples an epoch."""
        return self.stream.num_examples

    @property
    def side(self) -> int:
        """Rows and columns of the grid."""
        return self.stream.side

    @property
    def num_symbols(self) -> int:
        """K of the alphabet, padding included."""
        return self.stream.num_symbols

    @property
    def num_task_types(self) -> int:
        """Rows of the task-type table."""
        return self.stream.num_task_types

    @property
    def puzzle_names(self) -> tuple[str, ...]:
        """The puzzles that task types stand for."""
        return self.stream.puzzle_names

    def gather(self, start: int, num: int) -> Examples:
        """The examples start … start+num-1; quick where they follow those of the last call."""
        if start != self._start:
            self._ready = self._coming = None
        ready = self._arrived(start, num)
        self._start, self._ready = start + num, Examples(*(part[num:] for part in ready))
        if self._coming is None and len(self._ready.questions) < self.num:
            self._coming = self._pool.submit(self.stream.gather, start + len(ready.questions), self.num)
        return Examples(*(part[:num] for part in ready))

    def _arrived(self, start: int, num: int) -> Examples:
        """At least `num` examples from `start` on: what is at hand, what is on its way, what is still missing."""
        parts = [] if self._ready is None else [self._ready]
        if self._coming is not None and (self._coming.done() or sum(map(_len, parts)) < num):
            parts.append(self._coming.result())
            self._coming = None
        there = sum(map(_len, parts))
        if there < num or not parts:
            parts.append(self.stream.gather(start + there, num - there))
        return parts[0] if len(parts) == 1 else Examples(*map(np.concatenate, zip(*parts, strict=True)))


def _len(examples: Examples) -> int:
    return len(examples.questions)
