"""Raw files come whole from hub, mirror and package, in the publishers' formats, or one line names what is missing."""

import io
import shutil
import tarfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pooch
import pytest
import requests

from serrm.puzzles.sudoku.data import SudokuSubsetSettings
from serrm.puzzles.tasks import TASKS
from serrm.sources.download import download_settings_class, fetch
from tests.hashing import data_hash
from tests.references import read_manifest

NUM_EACH = 2  # files of an archive that match a pattern
MORE: dict[str, dict[str, Any]] = {"sudoku": {"num_16x16": 0, "clues_16x16": (150, 200)}}
TASK_NAMES = ["sudoku", "maze", "arc_agi_2"]


def source_of(task: str, **values: Any) -> Any:
    return (
        download_settings_class(task)
        .model_validate({"source": {**values, **MORE.get(task, {})}, "seed": 0})
        .source
    )


def contents(raw: Path) -> dict[str, bytes]:
    return {record.name: (raw / record.name).read_bytes() for record in read_manifest(raw).files}


# The hub.


class Site:
    """The publishers, without a network: contents by address, and the addresses asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requests: list[str] = []

    def __call__(self, progressbar: bool) -> Any:
        """The downloader that pooch calls with address, path and itself."""

        def download(url: str, path: str, _: pooch.Pooch) -> None:
            self.requests.append(url)
            if url not in self.files:
                raise requests.HTTPError(f"404 for {url}\nnot found")
            Path(path).write_bytes(self.files[url])

        return download


def make_archive(members: dict[str, bytes]) -> bytes:
    """An archive as GitHub makes it: everything below one folder that names repository and commit."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(f"repository-commit/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    site = Site()
    monkeypatch.setattr(pooch, "HTTPDownloader", site)
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    return site


def publish(site: Site, task: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Put made-up contents of all files that a task publishes on the site; returns the raw files to expect."""
    published, expected = [], {}
    for file in TASKS[task].published:
        site.files[file.url] = file.url.encode()
        if file.num_files is None:
            expected[file.name] = site.files[file.url]
            published.append(file._replace(sha256=sha256(site.files[file.url]).hexdigest()))
            continue
        names = [name_of(pattern, n) for pattern in file.num_files for n in range(NUM_EACH)]
        for name in names:
            expected[f"{file.name}/{Path(name).name if file.is_flat else name}"] = name.encode()
        strangers = [f"{kind}{name}" for name in names for kind in ("deeper/", "deeper/still/")]
        others = dict.fromkeys([*strangers, "README.md", f"{names[0]}.md"], b"no puzzle")
        site.files[file.url] = make_archive({name: name.encode() for name in names} | others)
        published.append(file._replace(num_files=dict.fromkeys(file.num_files, NUM_EACH)))
    monkeypatch.setitem(TASKS, task, replace(TASKS[task], published=published))
    return expected


def name_of(pattern: str, number: int) -> str:
    return pattern.replace("*[0-9]", str(number)).replace("*.", f"{number}.").replace("*", "a")


@pytest.mark.parametrize("task", TASK_NAMES)
def test_the_hub_gives_the_published_files_with_their_origins(
    site: Site, tmp_path: Path, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = publish(site, task, monkeypatch)
    fetch(task, source_of(task, kind="hub"), tmp_path / "raw", seed=0)
    assert contents(tmp_path / "raw") == expected
    manifest = read_manifest(tmp_path / "raw")
    assert manifest.kind == "hub"
    published = {(file.url, file.revision) for file in TASKS[task].published}
    assert {(record.origin, record.revision) for record in manifest.files} == published
    assert list(tmp_path.iterdir()) == [tmp_path / "raw"]


@pytest.mark.parametrize(
    "content", [None, b"<html>", make_archive({"README.md": b""})], ids=["none", "page", "other"]
)
def test_after_a_failure_complete_downloads_are_used_again_and_nothing_else_is_left(
    site: Site, tmp_path: Path, content: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An archive is missing, is no archive, or lacks files, after a file was copied."""
    expected = publish(site, "sudoku", monkeypatch)
    published = [*TASKS["sudoku"].published]
    url = next(file.url for file in published if file.num_files is not None)
    assert published[0].url != url
    archive = site.files.pop(url)
    site.files |= {} if content is None else {url: content}
    source, raw, scratch = source_of("sudoku", kind="hub"), tmp_path / "raw", tmp_path / "scratch"
    with pytest.raises(ValueError, match=url):
        fetch("sudoku", source, raw, seed=0, scratch=scratch)
    assert list(tmp_path.iterdir()) == [scratch]
    site.files[url] = archive
    site.requests.clear()
    fetch("sudoku", source, raw, seed=0, scratch=scratch)
    assert site.requests == [url]
    assert contents(raw) == expected and list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("task", "spoil"),
    [
        ("maze", lambda content: content[:-1]),
        ("arc_agi_1", lambda archive: make_archive({"data/training/0.json": b""})),
        ("arc_agi_1", lambda archive: archive[:-40]),
    ],
)
def test_a_bad_download_is_one_line_with_its_address_and_nothing_is_left(
    site: Site, tmp_path: Path, task: str, spoil: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(site, task, monkeypatch)
    url = next(iter(site.files))
    site.files[url] = spoil(site.files[url])
    with pytest.raises(ValueError, match=f"^{url}: ") as error:
        fetch(task, source_of(task, kind="hub"), tmp_path / "raw", seed=0)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


# The mirror.


def fill_mirror(root: Path, task: str) -> Any:
    """A mirror with a made-up content of every file, and others."""
    for number in range(100):
        (root / "sudoku-25x25").mkdir(parents=True, exist_ok=True)
        (root / f"sudoku-25x25/{number:03d}.json").write_text(str(number))
    (root / "sudoku-4x4").mkdir(exist_ok=True)
    (root / "sudoku-4x4/4x4_sudoku_unique_solution.csv").touch()
    source = source_of(task, kind="mirror", root=str(root))
    for name in [*TASKS[task].mirror_files(source), "sudoku-25x25/README.md", "other/train.csv"]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"content of {name}")
        (root / name).chmod(0o444)
    return source


@pytest.mark.parametrize("task", TASK_NAMES)
def test_the_mirror_is_copied_from_any_path_and_a_missing_file_is_named(tmp_path: Path, task: str) -> None:
    for folder in ("one", "other"):
        source = fill_mirror(tmp_path / folder / "mirror", task)
        fetch(task, source, tmp_path / folder / "raw", seed=0)
    raw = tmp_path / "one/raw"
    assert data_hash(raw) == data_hash(tmp_path / "other/raw")
    manifest = read_manifest(raw)
    num_files = {"sudoku": 103, "maze": 2, "arc_agi_2": 10}[task]
    assert (manifest.kind, len(manifest.files)) == ("mirror", num_files)
    for record in manifest.files:
        assert record.origin == f"mirror:{record.name}"
        assert (raw / record.name).read_text() == f"content of {record.name}"
        assert (raw / record.name).stat().st_mode & 0o200, "the copy can be written where the mirror cannot"
    *_, name = TASKS[task].mirror_files(source)
    (source.root / name).unlink()
    with pytest.raises(ValueError, match=name.partition("/")[0]):
        fetch(task, source, tmp_path / "third", seed=0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other"]


def test_a_mirror_without_its_folder_is_named_and_may_lack_sizes(tmp_path: Path) -> None:
    missing = source_of("sudoku", kind="mirror", root=str(tmp_path / "none"))
    with pytest.raises(ValueError, match=f"^{tmp_path / 'none'}: "):
        fetch("sudoku", missing, tmp_path / "raw", seed=0)
    source = fill_mirror(tmp_path / "mirror", "sudoku")
    for folder in ("sudoku-25x25", "sudoku-4x4"):
        shutil.rmtree(tmp_path / "mirror" / folder)
    fetch("sudoku", source, tmp_path / "raw", seed=0)
    names = {record.name.partition("/")[0] for record in read_manifest(tmp_path / "raw").files}
    assert names & {"sudoku-25x25", "sudoku-4x4"} == set()
    settings = SudokuSubsetSettings(num_train=1, num_test=1, num_test_sizes={"25x25": 1}, seed=0)
    with pytest.raises(ValueError, match="25x25"):
        list(TASKS["sudoku"].raw_sets(tmp_path / "raw", settings)["25x25"].puzzles)  # type: ignore[attr-defined]
