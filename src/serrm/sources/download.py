"""One file over HTTP(S), whole or not at all: resumed after an interruption, checked against its sha256.

Used by the `hub` source for everything it fetches. A file lies in the scratch directory until it is used;
the next attempt, be it of this process or a later one, asks for the rest it lacks (HTTP Range).
"""

import hashlib
import logging
import time
from pathlib import Path

import requests

from serrm.manifest import hash_file
from serrm.progress import progress_bar

logger = logging.getLogger(__name__)

# Attempts in a row that bring nothing new before giving up, and the pause between them in seconds.
NUM_ATTEMPTS = 4
PAUSE = 2.0
# Seconds to connect, and to wait for the next bytes.
TIMEOUT = (10.0, 60.0)
# Bytes received at a time; a connection that breaks loses at most these.
CHUNK = 1 << 16


class Interrupted(Exception):
    """An attempt failed in a way that another one may mend."""


def download(url: str, *, sha256: str | None, scratch: Path) -> Path:
    """Fetch `url` into the scratch directory and return the complete file; the caller moves it away.

    What an earlier call left there, finished or not, is used.

    Args:
        sha256: what the content must hash to; None accepts any content.

    Raises:
        ValueError: the server refuses, the download stays incomplete or its hash is wrong; names the address.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    whole = scratch / hashlib.sha256(url.encode()).hexdigest()[:16]
    part = whole.with_suffix(".part")
    if not whole.is_file():
        _receive_all(url, part)
        part.replace(whole)
    if sha256 is not None and (found := hash_file(whole)) != sha256:
        whole.unlink()
        raise ValueError(f"{url}: sha256 is {found}, expected {sha256}")
    return whole


def _receive_all(url: str, part: Path) -> None:
    """Receive until the file is complete, or NUM_ATTEMPTS times in a row brought nothing new."""
    num_failures = 0
    while True:
        size_before = _size(part)
        try:
            _receive(url, part)
            return
        except Interrupted as error:
            num_failures = 0 if _size(part) > size_before else num_failures + 1
            if num_failures >= NUM_ATTEMPTS:
                raise ValueError(f"{url}: download stopped after {_size(part)} bytes: {error}") from error
            logger.warning("%s: %s; trying again after %d bytes", url, error, _size(part))
            time.sleep(PAUSE)


def _receive(url: str, part: Path) -> None:
    """One request for what is missing; appends to `part`, or starts anew if the server sends everything."""
    size = _size(part)
    # Lengths and ranges count the file's own bytes, hence no compression on the way.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={size}-"} if size else {})
    try:
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            if response.status_code == requests.codes.requested_range_not_satisfiable:
                _settle_past_end(response, part)
                return
            _check_status(response)
            is_rest = response.status_code == requests.codes.partial_content
            if is_rest and not response.headers.get("Content-Range", "").startswith(f"bytes {size}-"):
                part.unlink(missing_ok=True)
                raise Interrupted(f"asked for bytes from {size}, got {response.headers.get('Content-Range')}")
            _write(response, part, size if is_rest else 0)
    except requests.RequestException as error:
        raise Interrupted(f"{type(error).__name__}: {error}") from error


def _check_status(response: requests.Response) -> None:
    """An overloaded or failing server is worth another attempt, a refusal is not."""
    if response.ok:
        return
    status = f"{response.status_code} {response.reason}"
    if response.status_code == requests.codes.too_many_requests or response.status_code >= 500:
        raise Interrupted(status)
    raise ValueError(f"{response.url}: {status}")


def _settle_past_end(response: requests.Response, part: Path) -> None:
    """The server has nothing after the bytes at hand: they are the whole file, or rubbish."""
    if response.headers.get("Content-Range") != f"bytes */{_size(part)}":
        part.unlink()
        raise Interrupted("the unfinished file is longer than the published one")


def _write(response: requests.Response, part: Path, offset: int) -> None:
    """Write the body at `offset`; a body shorter than announced is an interruption."""
    announced = response.headers.get("Content-Length")
    total = offset + int(announced) if announced else None
    with (
        part.open("ab" if offset else "wb") as file,
        progress_bar(response.url[-40:], total, unit="B", done=offset, unit_scale=True) as bar,
    ):
        for chunk in response.iter_content(CHUNK):
            file.write(chunk)
            bar.update(len(chunk))
    if total is not None and _size(part) != total:
        raise Interrupted(f"{_size(part)} of {total} bytes")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
