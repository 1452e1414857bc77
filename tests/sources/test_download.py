"""One file from a local server that fails like networks do: resumed, checked, whole or not at all."""

import hashlib
from pathlib import Path

import pytest

from serrm.sources.download import NUM_ATTEMPTS, download
from tests.sources.site import CONTENT, Site


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


def test_a_refusal_is_an_error_at_once_and_an_overloaded_server_is_asked_again(
    site: Site, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="/nothing: 404 Not Found"):
        download(f"{site.base}/nothing", sha256=None, scratch=tmp_path)
    assert len(site.requests) == 1
    site.statuses = [503, 429, 500]
    assert get(site, tmp_path) == CONTENT
