"""Reading ahead gives the stream's own examples, whatever is asked for in whatever order."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.arrays.ahead import ReadAhead
from serrm.arrays.stream import Examples, Stream


@dataclass
class Numbered:
    """Example number n is n."""

    num_examples: int = 100
    side: int = 1
    num_symbols: int = 11
    num_task_types: int = 3
    puzzle_names: tuple[str, ...] = ("a",)
    asked: list[tuple[int, int]] = field(default_factory=list)

    def gather(self, start: int, num: int) -> Examples:
        self.asked.append((start, num))
        if start > 10_000:
            raise ValueError("no more")
        numbers = np.arange(start, start + num)
        tokens = (numbers % 256).astype(np.uint8)[:, None]
        return Examples(tokens, tokens + np.uint8(1), numbers)


@given(
    calls=st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.integers(0, 50)), max_size=12),
    num=st.integers(1, 6),
)
def test_examples_are_the_streams_own(calls: list[tuple[int, bool, int]], num: int) -> None:
    stream, plain, position = ReadAhead(Numbered(), num), Numbered(), 0
    for size, jumps, place in calls:
        position = place if jumps else position
        found, expected = stream.gather(position, size), plain.gather(position, size)
        assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
        assert [part.dtype for part in found] == [part.dtype for part in expected]
        position += size


def test_what_follows_is_gathered_before_it_is_asked_for() -> None:
    inner = Numbered()
    stream = ReadAhead(inner, 4)
    assert isinstance(stream, Stream) and stream.puzzle_names == ("a",) and stream.num_task_types == 3
    for start in range(0, 12, 2):
        stream.gather(start, 2)
    assert inner.asked[:2] == [(0, 2), (2, 4)]
    assert all(num == 4 for _, num in inner.asked[1:])


def test_an_error_ahead_is_raised_when_its_examples_are_asked_for() -> None:
    stream = ReadAhead(Numbered(), 4)
    assert len(stream.gather(9_999, 2).questions) == 2
    with pytest.raises(ValueError, match="no more"):
        stream.gather(10_001, 1)
