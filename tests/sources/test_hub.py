"""The hub source against a local server that behaves like the publishers' and fails like networks do."""

import hashlib
import json
from pathlib import Path

import pytest

from serrm.manifest import check_manifest
from serrm.sources.download import NUM_ATTEMPTS, download
from serrm.sources.fetch import fetch
from serrm.sources.publishers import GitHubFile, GitHubFiles, HuggingFaceFiles
from serrm.sources.sudoku_settings import HubSource
from tests.sources.site import COMMIT, CONTENT, Site, make_archive


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def get(site: Site, scratch: Path, content: bytes = CONTENT) -> bytes:
    return download(f"{site.base}/file", sha256=sha256(content), scratch=scratch).read_bytes()


def leave_part(site: Site, scratch: Path, content: bytes) -> None:
    """An unfinished download, as an interrupted process leaves it."""
    kept, site.breaks_after, site.knows_ranges = (site.breaks_after, site.knows_ranges), len(content), False
    files, site.files = site.files, {"/file": content + b"?"}
    with pytest.raises(ValueError, match="download stopped"):
        get(site, scratch)
    (part,) = scratch.iterdir()
    assert part.read_bytes() == content
    (site.breaks_after, site.knows_ranges), site.files = kept, files
    site.requests.clear()


def test_a_download_is_one_request(site: Site, tmp_path: Path) -> None:
    assert get(site, tmp_path) == CONTENT
    assert site.requests == [("/file", None)]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("at_hand", [1, 4_000, len(CONTENT) - 1])
def test_an_interrupted_download_asks_for_the_rest(site: Site, tmp_path: Path, at_hand: int) -> None:
    leave_part(site, tmp_path, CONTENT[:at_hand])
    assert get(site, tmp_path) == CONTENT
    assert site.requests == [("/file", f"bytes={at_hand}-")]


def test_a_server_that_breaks_every_answer_is_asked_until_all_is_there(site: Site, tmp_path: Path) -> None:
    site.breaks_after = 1_000
    assert get(site, tmp_path) == CONTENT
    assert len(site.requests) == -(-len(CONTENT) // 1_000)


def test_a_part_longer_than_the_file_is_thrown_away(site: Site, tmp_path: Path) -> None:
    leave_part(site, tmp_path, CONTENT + b"rubbish")
    assert get(site, tmp_path) == CONTENT
    assert [asked for _, asked in site.requests] == [f"bytes={len(CONTENT) + 7}-", None]


def test_a_download_that_stays_truncated_is_an_error(site: Site, tmp_path: Path) -> None:
    site.breaks_after, site.knows_ranges = 1_000, False
    with pytest.raises(ValueError, match=r"/file: download stopped after 1000 bytes") as error:
        get(site, tmp_path)
    assert "\n" not in str(error.value)
    # The first attempt brought something.
    assert len(site.requests) == NUM_ATTEMPTS + 1


def test_a_wrong_hash_is_an_error_and_the_file_is_gone(site: Site, tmp_path: Path) -> None:
    expected = sha256(b"other")
    with pytest.raises(ValueError, match=f"/file: sha256 is {sha256(CONTENT)}, expected {expected}"):
        get(site, tmp_path, b"other")
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_is_an_error_at_once(site: Site, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="/nothing: 404 Not Found"):
        download(f"{site.base}/nothing", sha256=None, scratch=tmp_path)
    assert len(site.requests) == 1


def test_an_overloaded_server_is_asked_again(site: Site, tmp_path: Path) -> None:
    site.statuses = [503, 429, 500]
    assert get(site, tmp_path) == CONTENT


TRAIN = b"source,question,answer,rating\ntrain"
TEST = b"source,question,answer,rating\ntest"
TSV = b"Puzzle\tSolution\n"
PUZZLES = {f"sudoku_25x25_Extremely Easy_{number}_puzzle.json": b'{"size":25}' for number in range(3)}


def archive(puzzles: dict[str, bytes]) -> bytes:
    """The repository of the 25×25 puzzles, with files that are none of them."""
    members = {f"resources/benchmarks/puzzles/{name}": content for name, content in puzzles.items()}
    others = ("README.md", "resources/benchmarks/puzzles/README.md", "resources/benchmarks/solutions/a.json")
    deeper = "resources/benchmarks/puzzles/deeper/a_puzzle.json"
    return make_archive(f"puzzles25-{COMMIT}", members | dict.fromkeys((*others, deeper), b"none"))


def make_hub(site: Site) -> HubSource:
    """A hub whose three publishers are the local server; Hugging Face redirects to a store."""
    for name, content in {"train.csv": TRAIN, "test.csv": TEST}.items():
        site.redirects[f"/datasets/owner/extreme/resolve/{COMMIT}/{name}"] = f"/store/{name}"
        site.files[f"/store/{name}"] = content
    site.files[f"/raw/owner/puzzles4/{COMMIT}/data/4x4.csv"] = TSV
    site.files[f"/archive/owner/puzzles25/tar.gz/{COMMIT}"] = archive(PUZZLES)
    return HubSource(
        kind="hub",
        num_16x16=0,
        clues_16x16=(150, 200),
        sudoku_9x9=HuggingFaceFiles(
            repository="owner/extreme",
            revision=COMMIT,
            sha256={"train.csv": sha256(TRAIN), "test.csv": None},
        ),
        sudoku_4x4=GitHubFile(
            repository="owner/puzzles4", revision=COMMIT, path="data/4x4.csv", sha256=sha256(TSV)
        ),
        sudoku_25x25=GitHubFiles(
            repository="owner/puzzles25",
            revision=COMMIT,
            num_files={"resources/benchmarks/puzzles/*.json": 3},
        ),
        hugging_face=site.base,
        github_files=f"{site.base}/raw",
        github_archives=f"{site.base}/archive",
    )


def test_the_hub_gives_the_published_files_with_their_origins(site: Site, tmp_path: Path) -> None:
    fetch("sudoku", make_hub(site), tmp_path / "raw", seed=0)
    manifest = check_manifest(tmp_path / "raw")
    assert manifest.kind == "hub"
    contents = {record.name: (tmp_path / "raw" / record.name).read_bytes() for record in manifest.files}
    assert contents == {
        "sudoku-extreme/train.csv": TRAIN,
        "sudoku-extreme/test.csv": TEST,
        "sudoku-4x4/4x4_sudoku_unique_solution.csv": TSV,
        **{f"sudoku-25x25/{name}": content for name, content in PUZZLES.items()},
    }
    assert {record.revision for record in manifest.files} == {COMMIT}
    assert all(record.origin.startswith(site.base) for record in manifest.files)
    assert list(tmp_path.iterdir()) == [tmp_path / "raw"]


def test_after_a_failure_finished_downloads_are_used_and_nothing_else_is_left(
    site: Site, tmp_path: Path
) -> None:
    source = make_hub(site)
    content = site.files.pop(f"/archive/owner/puzzles25/tar.gz/{COMMIT}")
    with pytest.raises(ValueError, match=r"/archive/owner/puzzles25/.*: 404 Not Found"):
        fetch("sudoku", source, tmp_path / "raw", seed=0, scratch=tmp_path / "scratch")
    assert list(tmp_path.iterdir()) == [tmp_path / "scratch"]
    site.files[f"/archive/owner/puzzles25/tar.gz/{COMMIT}"] = content
    site.requests.clear()
    fetch("sudoku", source, tmp_path / "raw", seed=0, scratch=tmp_path / "scratch")
    assert [path for path, _ in site.requests] == [f"/archive/owner/puzzles25/tar.gz/{COMMIT}"]
    assert (tmp_path / "raw/sudoku-extreme/train.csv").read_bytes() == TRAIN
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (archive(dict(list(PUZZLES.items())[:2])), r"2 files match resources/.*, expected 3"),
        (archive(PUZZLES)[:-40], r"not a readable tar\.gz archive"),
        (b"<html>", r"not a readable tar\.gz archive"),
    ],
)
def test_a_bad_archive_is_an_error_and_nothing_is_left(
    site: Site, tmp_path: Path, content: bytes, message: str
) -> None:
    source = make_hub(site)
    site.files[f"/archive/owner/puzzles25/tar.gz/{COMMIT}"] = content
    with pytest.raises(ValueError, match=message) as error:
        fetch("sudoku", source, tmp_path / "raw", seed=0)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_the_published_sets_are_the_default() -> None:
    source = HubSource(kind="hub", num_16x16=216, clues_16x16=(90, 160))
    assert source.sudoku_9x9.repository == "sapientinc/sudoku-extreme"
    assert set(source.sudoku_9x9.sha256) == {"train.csv", "test.csv"}
    assert sum(source.sudoku_25x25.num_files.values()) == 100
    assert HubSource.model_validate(json.loads(source.model_dump_json())) == source
