"""Sources of mazes, published or generated, the sets drawn from them, and their audit.

Generated mazes have any side and a path of at least a given length. Passages form a tree, so the path between two
cells is unique. Rooms are on the even rows and columns, with one cell of wall or passage between neighbours; in a maze
of even side the last row and column are walls. A maze is kept if two of its cells are far enough apart, and one such
pair becomes start and goal. Windows of published mazes are smaller mazes, to train on before 30×30. The published
ratings of Maze-Hard count the cells of the shortest path, with start and goal (110 and more); ratings written here
count its steps. Paper: section "Maze".
"""

import logging
from collections.abc import Iterator
from itertools import chain, count, islice
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from jaxtyping import Bool, UInt8
from pydantic import Field, PositiveInt, model_validator

from serrm.core.files import Origin, only_folder
from serrm.core.progress import with_progress
from serrm.core.settings import Settings
from serrm.puzzles import raw
from serrm.puzzles.generate import distinct
from serrm.puzzles.maze.rules import (
    GOAL,
    PATH,
    SPACE,
    START,
    WALL,
    check_questions,
    has_unique_shortest_path,
    num_steps,
    pack,
    shortest_path,
    unpack,
    waves,
)
from serrm.puzzles.settings import Hub, Mirror, SubsetSettings
from serrm.puzzles.tables import read_table, write_table, write_tables
from serrm.puzzles.text import GridText
from serrm.puzzles.transforms import NUM_TRANSFORMS, cell_order

logger = logging.getLogger(__name__)

TEXT = GridText(
    characters="# SGo",
    first_number=WALL,
    largest=lambda side: PATH,
    blank=SPACE,
    least_in_answer=SPACE,
    check_question=lambda question: check_questions(question[None]),
)
FOLDER_HARD: Final = "maze-30x30-hard-1k"
FOLDER_GENERATED: Final = "maze-generated"
FOLDER_WINDOWS: Final = "maze-windows"
SIDE_HARD, NUM_HARD = 30, 1_000  # of the published training mazes
PUBLISHED = raw.hugging_face(
    "sapientinc/maze-30x30-hard-1k",
    "549754de3d67eebe57b6b22c7d226b9412d55b07",
    FOLDER_HARD,
    {
        "train.csv": "25f9e39b5aee16967da41ba63b2d1d75cf608c2360d8a1419d827f9859dbafa0",
        "test.csv": "5120d52088fb3f8036e62e90103808a79ba58847d8601f9451f40991b0903a62",
    },
)
MAX_ATTEMPTS = 10_000
"""Trees to try for one maze, windows to try in a published one, and repeated mazes in a row, before an error."""


class GeneratedMaze(Settings):
    """Generated mazes, seeded, of any side, each with a single path."""

    kind: Literal["generated"]
    num_train: PositiveInt
    """Training puzzles to generate."""
    num_test: PositiveInt
    """Test puzzles to generate."""
    side: int = Field(ge=3, le=255)
    """Side of a maze."""
    min_path: int = Field(ge=2)
    """Least number of squares on the path, including start and goal; Maze-Hard has 110."""

    @model_validator(mode="after")
    def _check_path(self) -> "GeneratedMaze":
        # Rooms stand on every other row and column, a cell of passage between two of them.
        if self.min_path > 2 * ((self.side + 1) // 2) ** 2 - 1:
            raise ValueError(f"min_path: a {self.side}x{self.side} maze has no path of {self.min_path} cells")
        return self


class Windows(Settings):
    """Windows of the published training mazes, with a new start and goal, in place of the mazes themselves."""

    side: int = Field(ge=3, le=SIDE_HARD)
    """Side of a window."""
    min_steps: PositiveInt
    """Least steps from start to goal."""
    num_per_maze: PositiveInt
    """Windows of each maze."""
    num_held_out: int = Field(ge=1, lt=NUM_HARD)
    """Number of last training mazes, which give one window of the test set each and no training window."""

    @property
    def num_train(self) -> int:
        """Windows to train on."""
        return self.num_per_maze * (NUM_HARD - self.num_held_out)

    @property
    def num_test(self) -> int:
        """Windows to test on."""
        return self.num_held_out


class _PublishedMaze(Settings):
    windows: Windows | None = None
    """Windows of the training mazes in place of the mazes."""


class MirrorMaze(_PublishedMaze, Mirror):
    """A local directory with the publishers' file names."""


class HubMaze(_PublishedMaze, Hub):
    """Hugging Face."""


MazeSource = Annotated[GeneratedMaze | MirrorMaze | HubMaze, Field(discriminator="kind")]


def mirror_files(source: MirrorMaze) -> list[str]:
    """List the published files below a mirror's root."""
    return [file.name for file in PUBLISHED]


def make(source: Any, directory: Path, seed: int) -> dict[str, Origin]:
    """Write generated mazes, all different and none a transform of another, or the windows of published ones."""
    if not isinstance(source, GeneratedMaze):
        return {} if source.windows is None else _make_windows(source.windows, directory, seed)
    nums = {"train.csv": source.num_train, "test.csv": source.num_test}
    mazes = iterate_mazes(source.side, np.random.default_rng([seed, source.side]), source.min_path)
    names = write_tables(TEXT, directory / FOLDER_GENERATED, nums, mazes)
    return {f"{FOLDER_GENERATED}/{name}": Origin("generated") for name in names}


def raw_sets(directory: Path, settings: SubsetSettings) -> dict[str, raw.RawSet]:
    """Return the training set and the test set of a raw directory: its windows, or else its whole mazes."""
    has_windows = (directory / FOLDER_WINDOWS).is_dir()
    folder = only_folder(directory, (FOLDER_WINDOWS,) if has_windows else (FOLDER_HARD, FOLDER_GENERATED))
    train, test = (folder / name for name in ("train.csv", "test.csv"))
    side = next((maze.side for maze in read_table(TEXT, train)), 1)  # a set without mazes is refused later
    return {
        "train": raw.RawSet(side, settings.num_train, 0, enumerate(read_table(TEXT, train))),
        f"{side}x{side}": raw.RawSet(side, settings.num_test, 1, enumerate(read_table(TEXT, test))),
    }


def audit(train: raw.Grids, test: UInt8[np.ndarray, "M I"], side: int) -> dict[str, Any]:
    """Count the mazes, those with one shortest path, and test mazes that are transforms of training mazes.

    Warns of training mazes with several shortest paths: Maze-Hard's labels choose among them by directions, so a
    transformed label asks for another path than a label of the transformed maze.
    """
    train_bytes = {maze.tobytes() for maze in train}
    orders = [cell_order(side, transform) for transform in range(1, NUM_TRANSFORMS)]
    sets = {"train": train, "test": test}
    num_unique = {name: sum(map(has_unique_shortest_path, mazes)) for name, mazes in sets.items()}
    if num_several := len(train) - num_unique["train"]:
        logger.warning(
            "%d of %d training mazes have several shortest paths; augmentations would make their labels contradictory, "
            "so train with num_augmentations: 0 (docs/data.md)",
            num_several,
            len(train),
        )
    return {
        "num_mazes": {name: len(mazes) for name, mazes in sets.items()},
        "num_with_one_shortest_path": num_unique,
        "num_dihedral_images": sum(
            any(maze[order].tobytes() in train_bytes for order in orders) for maze in test
        ),
    }


def count_puzzles(source: GeneratedMaze | MirrorMaze | HubMaze, subset: SubsetSettings) -> raw.Counts:
    """Count the puzzles before they exist."""
    generated = source if isinstance(source, GeneratedMaze) else source.windows
    side, num_train, num_test = SIDE_HARD, NUM_HARD, NUM_HARD
    if generated is not None:
        side, num_train, num_test = generated.side, generated.num_train, generated.num_test
    return raw.Counts(side, subset.num_train or num_train, {side: subset.num_test or num_test})


def in_words(source: GeneratedMaze | MirrorMaze | HubMaze, subset: SubsetSettings) -> str:
    """Describe the source of a run's puzzles for the notes beneath tables."""
    if isinstance(source, GeneratedMaze):
        size = f"{source.side}×{source.side}"
        return f"generated {size} mazes with a single path from start to goal, of at least {source.min_path} cells"
    windows = source.windows
    prefix = f"windows of {windows.side}×{windows.side} of training mazes of " if windows else ""
    return f"{prefix}Maze-Hard{' from a local mirror' if source.kind == 'mirror' else ''}"


# Windows.


def _make_windows(windows: Windows, directory: Path, seed: int) -> dict[str, Origin]:
    """Write windows of the published training mazes in the directory; those of the last mazes are test mazes."""
    # NumPy ignores trailing zeros of a seed, so with seed 0 this is the stream of `side` alone, with which the
    # committed windows were drawn.
    rng = np.random.default_rng([windows.side, seed])
    mazes = list(read_table(TEXT, directory / FOLDER_HARD / "train.csv"))
    if (sides := [maze.side for maze in mazes]) != NUM_HARD * [SIDE_HARD]:
        found = f"{len(mazes)} with sides of {min(sides, default=0)} to {max(sides, default=0)}"
        raise ValueError(
            f"windows are drawn from {NUM_HARD} mazes of {SIDE_HARD}x{SIDE_HARD}, not from {found}"
        )
    progress = with_progress(mazes, f"drawing {windows.side}x{windows.side} windows", NUM_HARD)
    windows_of_mazes = (draw_windows(maze, windows, rng) for maze in progress)
    train = chain.from_iterable(islice(windows_of_mazes, NUM_HARD - windows.num_held_out))
    names = [f"{FOLDER_WINDOWS}/train.csv", f"{FOLDER_WINDOWS}/test.csv"]
    write_table(TEXT, directory / names[0], train)
    write_table(TEXT, directory / names[1], (windows_of_maze[0] for windows_of_maze in windows_of_mazes))
    return dict.fromkeys(names, Origin(f"windows of {FOLDER_HARD}/train.csv"))


def draw_windows(maze: raw.Puzzle, windows: Windows, rng: np.random.Generator) -> list[raw.Puzzle]:
    """Draw windows of a maze. ValueError if too few attempts give a goal at least `min_steps` from the start."""
    cells = maze.question.reshape(maze.side, maze.side)
    attempts = (_draw_window(cells, windows, rng) for _ in range(MAX_ATTEMPTS))
    # Draw one window more than needed: the committed scores were made so, and without it the random stream would shift.
    kept = list(islice(filter(None, attempts), windows.num_per_maze + 1))
    if len(kept) <= windows.num_per_maze:
        kind = f"windows of {windows.side}x{windows.side}, path {windows.min_steps} steps"
        found = f"only {len(kept)} of {windows.num_per_maze + 1} {kind}"
        raise ValueError(f"{found} in {MAX_ATTEMPTS} attempts: {TEXT.format(maze.question)}")
    return kept[:-1]


def _draw_window(
    cells: UInt8[np.ndarray, "S S"], windows: Windows, rng: np.random.Generator
) -> raw.Puzzle | None:
    """Draw a window with start and goal, labelled as in Maze-Hard.

    The result is None if no goal is far enough from the start drawn.
    """
    side = windows.side
    row, column = rng.integers(0, len(cells) - side + 1, 2)
    is_free = (cells[row : row + side, column : column + side] != WALL).reshape(-1)
    if not is_free.any():
        return None
    start = rng.choice(np.flatnonzero(is_free))
    free, at_start = pack(is_free, side), pack(np.arange(side**2) == start, side)
    goals = sum(islice(waves(at_start, free, side), windows.min_steps, None))
    if not goals:
        return None
    goal = rng.choice(np.flatnonzero(unpack(goals, side)))
    return maze_between(is_free, (int(start), int(goal)), "crop")


# Generation.


def iterate_mazes(side: int, rng: np.random.Generator, min_path: int) -> Iterator[raw.Puzzle]:
    """Generate mazes of side × side cells without end, none equal to another or to a dihedral transform of it.

    The label is the path, the rating its number of steps.

    Args:
        min_path: least number of cells on the path, start and goal included.

    Raises:
        ValueError: too many attempts without a path of that length, or without a new maze.
    """
    puzzles = (_generate(side, rng, min_path) for _ in count())
    kind = f"mazes of {side}x{side}, path {min_path}"
    return distinct(puzzles, lambda maze: canonical(maze.question, side), MAX_ATTEMPTS, kind)


def canonical(maze: raw.Tokens, side: int) -> bytes:
    """Compute the least of the eight transforms of a maze, which all of them share."""
    return min(bytes(maze[cell_order(side, transform)]) for transform in range(NUM_TRANSFORMS))


def tree_cells(side: int, rng: np.random.Generator) -> Bool[np.ndarray, " I"]:
    """Draw the free cells: rooms and the passages of a random spanning tree (Kruskal's algorithm)."""
    num = (side + 1) // 2
    rooms = np.arange(num**2).reshape(num, num)
    beside, below = (rooms[:, :-1], rooms[:, 1:]), (rooms[:-1], rooms[1:])
    passages = np.concatenate([np.stack(pair, axis=-1).reshape(-1, 2) for pair in (beside, below)])
    is_free = np.zeros((side, side), dtype=bool)
    is_free[::2, ::2] = True
    tree_of = np.arange(num**2)  # the tree that each room belongs to so far
    for first, second in rng.permutation(passages).tolist():
        if tree_of[first] != tree_of[second]:
            tree_of[tree_of == tree_of[first]] = tree_of[second]
            # The cell between two rooms: twice the mean of their coordinates.
            is_free[first // num + second // num, first % num + second % num] = True
    return np.asarray(is_free.reshape(-1))


def maze_between(is_free: Bool[np.ndarray, " I"], ends: tuple[int, int], origin: str) -> raw.Puzzle:
    """Return the maze of these free cells with a start and a goal, which a path joins.

    Its answer is a shortest path.
    """
    question = np.where(is_free, SPACE, WALL).astype(np.uint8)
    question[list(ends)] = START, GOAL
    answer = shortest_path(question)
    assert answer is not None
    return raw.Puzzle(question, answer, origin, num_steps(answer))


def _generate(side: int, rng: np.random.Generator, min_path: int) -> raw.Puzzle:
    for _ in range(MAX_ATTEMPTS):
        is_free = tree_cells(side, rng)
        ends = _draw_ends(is_free, side, rng, min_path - 1)
        if ends is not None:
            return maze_between(is_free, ends, "generated")
    raise ValueError(f"no {side}x{side} maze with {min_path} cells on its path in {MAX_ATTEMPTS} attempts")


def _draw_ends(
    is_free: Bool[np.ndarray, " I"], side: int, rng: np.random.Generator, min_steps: int
) -> tuple[int, int] | None:
    """Start and goal at least `min_steps` apart, uniform among such pairs of free cells; None if there are none."""
    starts, free, cells = np.flatnonzero(is_free), pack(is_free, side), np.arange(side**2)
    goals_of = [
        sum(islice(waves(pack(cells == cell, side), free, side), min_steps, None)) for cell in starts.tolist()
    ]
    num_goals = np.array([goals.bit_count() for goals in goals_of])
    if not num_goals.any():
        return None
    chosen = rng.choice(len(starts), p=num_goals / num_goals.sum())
    return int(starts[chosen]), int(rng.choice(np.flatnonzero(unpack(goals_of[chosen], side))))
