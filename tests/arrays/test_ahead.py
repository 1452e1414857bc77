"""Reading ahead gives the stream's own examples, whatever is asked for in whatever order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.arrays.ahead import read_ahead
from serrm.arrays.stream import Examples, Stream


def numbered(asked: list[int] | None = None) -> Stream:
    """Example number n is n; `asked` collects where each call begins."""

    def gather(start: int, num: int) -> Examples:
        if asked is not None:
            asked.append(start)
        if start > 10_000:
            raise ValueError("no more")
        numbers = np.arange(start, start + num)
        tokens = (numbers % 256).astype(np.uint8)[:, None]
        return Examples(tokens, tokens + np.uint8(1), numbers)

    return Stream(1, 11, 100, gather, num_task_types=3, puzzle_names=("a",))


@given(
    calls=st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.integers(0, 50)), max_size=12),
    num=st.integers(1, 6),
)
def test_examples_are_the_streams_own(calls: list[tuple[int, bool, int]], num: int) -> None:
    stream, plain, position = read_ahead(numbered(), num), numbered(), 0
    for size, jumps, place in calls:
        position = place if jumps else position
        found, expected = stream.gather(position, size), plain.gather(position, size)
        assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
        assert [part.dtype for part in found] == [part.dtype for part in expected]
        position += size


def test_what_follows_is_gathered_before_it_is_asked_for_and_once() -> None:
    asked: list[int] = []
    stream = read_ahead(numbered(asked), 4)
    assert (stream.puzzle_names, stream.num_task_types, stream.num_examples) == (("a",), 3, 100)
    for start in range(0, 12, 2):
        stream.gather(start, 2)
    stream.gather(12, 1)  # the next block is there only after it was waited for
    assert asked[:4] == [0, 4, 8, 12]


def test_an_error_ahead_is_raised_when_its_examples_are_asked_for() -> None:
    stream = read_ahead(numbered(), 4)
    assert len(stream.gather(9_999, 2).questions) == 2
    with pytest.raises(ValueError, match="no more"):
        stream.gather(10_004, 1)
