"""Arrays → the stream of training examples, for every task."""

from pathlib import Path

from serrm.arrays.arc_stream import open_arc_examples
from serrm.arrays.puzzles import TRAIN, open_arrays, read_metadata
from serrm.arrays.settings import HintSettings
from serrm.arrays.stream import GridExamples, Stream
from serrm.puzzles.tasks import TASKS, GridTask


def open_stream(
    arrays: Path,
    num_augmentations: int,
    seed: int,
    *,
    has_identity_twice: bool = False,
    hints: HintSettings | None = None,
) -> Stream:
    """The training examples of a folder of arrays, with that many symmetric images of each puzzle.

    `has_identity_twice` makes the ARC puzzle itself a variant more, a fault of the published code. ValueError if hints
    are asked for on ARC-AGI, whose questions show no part of the answer's grid.
    """
    task = read_metadata(arrays)["task"]
    if isinstance(TASKS[task], GridTask):
        return GridExamples(open_arrays(arrays, TRAIN), num_augmentations, seed, hints).stream()
    if hints is not None:
        raise ValueError(f"train.hints: questions of {task} have no cells of the answer to show")
    num_variants = num_augmentations + 1
    return open_arc_examples(arrays, num_variants, seed, has_identity_twice=has_identity_twice).stream()
