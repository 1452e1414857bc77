"""Puzzles drawn one after the other until there are as many different ones as are wanted."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def distinct(puzzles: Iterable[T], key: Callable[[T], Hashable], most_repeats: int, kind: str) -> Iterator[T]:
    """The puzzles that have a key of their own, in their order; the first of each key.

    ValueError naming the `kind` of puzzles where so many in a row have been met before.
    """
    seen: set[Hashable] = set()
    num_repeats = 0
    for puzzle in puzzles:
        num_repeats = num_repeats + 1 if key(puzzle) in seen else 0
        if num_repeats == most_repeats:
            raise ValueError(f"found only {len(seen)} different {kind}")
        if num_repeats == 0:
            seen.add(key(puzzle))
            yield puzzle
