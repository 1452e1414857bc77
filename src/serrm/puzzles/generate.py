"""Generation of puzzles, for all tasks: the distinct ones of an endless sequence."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def distinct(puzzles: Iterable[T], key: Callable[[T], Hashable], most_repeats: int, kind: str) -> Iterator[T]:
    """The first puzzle of every key, in their order; `kind` describes them in the error.

    ValueError once `most_repeats` of them in a row have had a key that was there before.
    """
    seen: set[Hashable] = set()
    num_repeats = 0
    for puzzle in puzzles:
        num_repeats = num_repeats + 1 if key(puzzle) in seen else 0
        if num_repeats == most_repeats:
            raise ValueError(f"only {len(seen)} different {kind} in {most_repeats} attempts")
        if num_repeats == 0:
            seen.add(key(puzzle))
            yield puzzle
