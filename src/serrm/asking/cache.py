"""What a server has replied, on disk: JSON lines, one a reply, so that no question is ever paid for twice.

A line is {"key", "request", "response"}; the key is the sha256 of the request, which holds the model, the parameters
and the prompt. Lines are written the moment a reply is complete, and read again by the next run.
"""

import hashlib
import json
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

logger = logging.getLogger(__name__)

Json = dict[str, Any]


def request_key(request: Mapping[str, Any]) -> str:
    """The sha256 of a request, whatever the order of its entries."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


class ReplyCache:
    """The replies of a file by the key of their request, and the file open for more of them."""

    def __init__(self, file: BinaryIO, replies: dict[str, Json]) -> None:
        self._file, self._replies, self._lock = file, replies, threading.Lock()

    def get(self, request: Mapping[str, Any]) -> Json | None:
        """The response to a request, or None if there is none yet."""
        return self._replies.get(request_key(request))

    def put(self, request: Mapping[str, Any], response: Json) -> None:
        """Keep a response, from any thread; it is in the file when this returns."""
        key = request_key(request)
        line = json.dumps({"key": key, "request": request, "response": response})
        with self._lock:
            self._file.write(line.encode() + b"\n")
            self._file.flush()
            self._replies[key] = response

    def __len__(self) -> int:
        return len(self._replies)


@contextmanager
def open_cache(path: Path) -> Iterator[ReplyCache]:
    """The cache in a file, made if it is not there, for one process at a time.

    What a killed process left of a line at the end of the file is cut off.

    Raises:
        ValueError: another process has it open, or a line is no reply; names file and line.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(f"{path}.lock", timeout=0), path.open("a+b") as file:
            yield ReplyCache(file, _read(file, path))
    except Timeout:
        raise ValueError(f"{path}: another run has it open") from None


def _read(file: BinaryIO, path: Path) -> dict[str, Json]:
    """All replies of the file, which ends with a whole line afterwards."""
    file.seek(0)
    replies: dict[str, Json] = {}
    end = 0
    for number, line in enumerate(file, start=1):
        if not line.endswith(b"\n"):
            logger.warning("%s:%d: cut off an unfinished line", path, number)
            file.truncate(end)
            break
        end += len(line)
        try:
            entry = json.loads(line)
            replies[entry["key"]] = dict(entry["response"])
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path}:{number}: no reply of a language model") from None
    return replies
