"""One file from a local server that fails like networks do: checked, whole or not at all."""

import hashlib
from pathlib import Path

import pytest

from serrm.sources.download import RETRIES, Published, download_all
from tests.sources.site import COMMIT, CONTENT, Site

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


def get(site: Site, folder: Path, content: bytes = CONTENT, path: str = "/file") -> bytes:
    sha256 = hashlib.sha256(content).hexdigest()
    wanted = Published(f"{site.base}{path}", COMMIT, sha256, "a/file")
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
