"""Generation of puzzles, for all tasks: the distinct puzzles of an endless sequence."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def distinct(puzzles: Iterable[T], key: Callable[[T], Hashable], most_repeats: int, kind: str) -> Iterator[T]:
    """Yield the first puzzle with each key, in order; `kind` describes the puzzles in the error message.

    ValueError after `most_repeats` puzzles in a row whose keys had occurred before.
    """
    seen: set[Hashable] = set()
    num_repeats = 0
    for puzzle in puzzles:
        num_repeats = num_repeats + 1 if key(puzzle) in seen else 0
        if num_repeats == most_repeats:
            raise ValueError(f"only {len(seen)} different {kind}: the last {most_repeats} were repeats")
        if num_repeats == 0:
            seen.add(key(puzzle))
            yield puzzle
