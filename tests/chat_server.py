"""A local server that speaks the OpenAI chat API."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ChatServer:
    """What it replies to a prompt, a text or the status of an error, and the requests it got."""

    reply: Callable[[str], str | int]
    address: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)


@contextmanager
def serving(reply: Callable[[str], str | int]) -> Iterator[ChatServer]:
    """A running server."""
    chat = ChatServer(reply)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            chat.bodies.append(body)
            chat.keys.add(self.headers["Authorization"])
            reply = chat.reply(body["messages"][0]["content"])
            if isinstance(reply, int):
                status, content = reply, json.dumps({"error": {"message": "no"}})
            else:
                message = {"role": "assistant", "content": reply}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                status, content = 200, json.dumps({"id": "x", "choices": [choice]})
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    chat.address = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield chat
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
