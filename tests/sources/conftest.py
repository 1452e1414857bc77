"""The publishers, played by a local server."""

import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer

import pytest

from serrm.sources import download as download_module
from tests.sources.site import CONTENT, Handler, Site


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A running server; no pauses between attempts, and no byte is lost when a connection breaks."""
    monkeypatch.setattr(download_module, "PAUSE", 0.0)
    monkeypatch.setattr(download_module, "CHUNK", 1)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    held = Site(files={"/file": CONTENT})
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("SiteHandler", (Handler,), {"site": held}))
    held.base = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield held
    server.shutdown()
    thread.join()
    server.server_close()
