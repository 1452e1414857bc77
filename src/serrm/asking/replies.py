"""What a server has replied, on disk: JSON lines, one a reply, so that no question is paid for twice.

A line is {"key", "request", "response"}; the key is the sha256 of the request, which holds the model, the parameters
and the prompt. Lines are written the moment a reply is complete, and read again by the next run.
"""

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

Json = dict[str, Any]


def request_key(request: Mapping[str, Any]) -> str:
    """The sha256 of a request, whatever the order of its entries."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


class Replies:
    """The replies of a file by the key of their request; the file is made if it is not there.

    What a killed process left of a line at the end of the file is cut off. ValueError naming a line that is no reply.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        self.path, self.known = path, _read(path)

    def get(self, request: Mapping[str, Any]) -> Json | None:
        """The response to a request, or None if there is none yet."""
        return self.known.get(request_key(request))

    def put(self, request: Mapping[str, Any], response: Json) -> None:
        """Keep a response; it is in the file when this returns."""
        key = request_key(request)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, "request": request, "response": response}) + "\n")
        self.known[key] = response


def _read(path: Path) -> dict[str, Json]:
    """All replies of the file, which ends with a whole line afterwards."""
    replies: dict[str, Json] = {}
    *lines, rest = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
            replies[entry["key"]] = dict(entry["response"])
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path}:{number}: no reply of a language model") from None
    if rest:
        logger.warning("%s:%d: cut off an unfinished line", path, len(lines) + 1)
        os.truncate(path, path.stat().st_size - len(rest))
    return replies
