"""A stream read ahead: the next examples are gathered by a thread of their own while the model computes.

Examples are pure functions of their number, so reading ahead changes none, and nothing of it is part of a checkpoint.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from serrm.arrays.stream import Examples, Stream


def read_ahead(stream: Stream, num: int) -> Stream:
    """The same stream, gathered in blocks of `num` examples: that after the last one asked for is on its way."""
    pool = ThreadPoolExecutor(1, "read-ahead")
    blocks: dict[int, Future[Examples]] = {}

    def gather(start: int, num_asked: int) -> Examples:
        first, last = start // num, (start + max(num_asked, 1) - 1) // num
        for number in blocks.keys() - range(first, last + 2):
            del blocks[number]
        for number in range(first, last + 2):
            if number not in blocks:
                blocks[number] = pool.submit(stream.gather, number * num, num)
        whole = zip(*(blocks[number].result() for number in range(first, last + 1)), strict=True)
        place = slice(start - first * num, start - first * num + num_asked)
        return Examples(*(np.concatenate(parts)[place] for parts in whole))

    return replace(stream, gather=gather)
