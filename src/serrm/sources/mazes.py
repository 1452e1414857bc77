"""The three sources of mazes: each writes a training and a test file in the publisher's format.

Part of the `download` stage. Maze-Hard comes from Hugging Face at a pinned commit or from a local mirror; mazes of
any other side or length are made here. Paper: section "Maze", data.
"""

from itertools import islice
from pathlib import Path

import numpy as np

from serrm.manifest import Origin
from serrm.progress import watch
from serrm.puzzles.maze.generate import iterate_mazes
from serrm.puzzles.maze.parse import write_csv
from serrm.sources.download import copy_files, download_all, of_hugging_face
from serrm.sources.maze_layout import FOLDER_GENERATED, FOLDER_HARD, TEST_MAZES, TRAIN_MAZES
from serrm.sources.maze_settings import MazeGenerated, MazeHub, MazeSource
from serrm.sources.publishers import Mirror


def write_mazes(source: MazeSource, directory: Path, seed: int, scratch: Path) -> dict[str, Origin]:
    """Write the raw files of a source into `directory` and say where each comes from.

    Args:
        seed: of generated mazes; the others are what they are.
        scratch: downloads lie here, finished or not, until all are complete.

    Raises:
        ValueError: a file is missing, a download fails or has the wrong hash, or no maze is as asked for.
    """
    match source:
        case MazeGenerated():
            return _write_generated(source, directory, seed)
        case Mirror():
            names = [f"{FOLDER_HARD}/{name}" for name in (TRAIN_MAZES, TEST_MAZES)]
            return copy_files(source.root, names, directory)
        case MazeHub():
            files = of_hugging_face(source.mazes, FOLDER_HARD, source.hugging_face)
            return download_all(files, directory, scratch)


def _write_generated(source: MazeGenerated, directory: Path, seed: int) -> dict[str, Origin]:
    """Make the mazes of both files in one run, so that no test maze is an image of a training maze."""
    num = source.num_train + source.num_test
    rng = np.random.default_rng([seed, source.side])
    mazes = islice(iterate_mazes(source.side, rng, source.min_path), num)
    made = watch(mazes, f"making {source.side}x{source.side} mazes", num)
    (directory / FOLDER_GENERATED).mkdir()
    write_csv(directory / FOLDER_GENERATED / TRAIN_MAZES, islice(made, source.num_train))
    write_csv(directory / FOLDER_GENERATED / TEST_MAZES, made)
    return {f"{FOLDER_GENERATED}/{name}": Origin("generated") for name in (TRAIN_MAZES, TEST_MAZES)}
