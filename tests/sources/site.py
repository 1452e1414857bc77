"""A local server that behaves like the publishers' and fails like networks do, and archives as GitHub makes them."""

import io
import tarfile
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

CONTENT = bytes(range(256)) * 40


@dataclass
class Site:
    """What a local server holds and how it behaves; `requests` lists the paths as they came."""

    files: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    # Bytes of a body that are sent before the connection breaks; None: all of them.
    breaks_after: int | None = None
    # Answers to give before the normal ones.
    statuses: list[int] = field(default_factory=list)
    base: str = ""


class Handler(BaseHTTPRequestHandler):
    """GET of a Site's files."""

    site: Site

    def do_GET(self) -> None:
        self.site.requests.append(self.path)
        if self.site.statuses:
            self.answer(self.site.statuses.pop(0), b"")
        elif self.path not in self.site.files:
            self.answer(404, b"")
        else:
            self.answer(200, self.site.files[self.path])

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.site.breaks_after])

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def make_archive(folder: str, members: dict[str, bytes]) -> bytes:
    """An archive as GitHub makes it: everything below one folder that names repository and commit."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()
