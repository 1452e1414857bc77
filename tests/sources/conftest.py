"""The publishers, played by a local server."""

import gc
import threading
import warnings
from collections.abc import Iterator
from http.server import ThreadingHTTPServer

import pytest

from tests.sources.site import CONTENT, Handler, Site


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A running server; no pauses between attempts."""
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
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
    with warnings.catch_warnings():
        # pooch leaves the connections of failed requests to be collected.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
