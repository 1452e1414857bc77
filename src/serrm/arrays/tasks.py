"""Arrays → the stream of training examples, for every task."""

from pathlib import Path

from serrm.arrays.arc_stream import open_arc_stream
from serrm.arrays.puzzles import TRAIN, open_arrays, read_metadata
from serrm.arrays.stream import ExampleStream, Stream
from serrm.puzzles.arc.grid import ARC_VERSIONS


def open_stream(
    arrays: Path, num_augmentations: int, seed: int, *, has_identity_twice: bool = False
) -> Stream:
    """The training examples of a folder of arrays, with that many symmetric images of each puzzle.

    `has_identity_twice` makes the ARC puzzle itself a variant more, a fault of the published code.
    """
    if read_metadata(arrays)["task"] in ARC_VERSIONS:
        return open_arc_stream(arrays, num_augmentations + 1, seed, has_identity_twice=has_identity_twice)
    return ExampleStream(open_arrays(arrays, TRAIN), num_augmentations, seed)
