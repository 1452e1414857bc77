"""A local server that speaks the OpenAI chat API, and misbehaves in every way that a test asks for."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from serrm.asking.prompts import format_rows, sudoku_prompt
from serrm.asking.settings import LanguageModelSettings
from serrm.puzzles.sudoku.generate import generate_puzzles
from serrm.puzzles.sudoku.grid import box_for_side
from serrm.puzzles.sudoku.parse import Puzzle

CLUES = {4: (6, 9), 9: (40, 50), 16: (170, 200)}


@dataclass(frozen=True)
class Act:
    """One HTTP response; `delay`: seconds before it."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0


Behaviour = Callable[[str], Act]


@dataclass
class ChatServer:
    """What the server does with a prompt, and what it saw: prompts, bodies and headers as they came."""

    behave: Behaviour
    prompts: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    num_now: int = 0
    most_at_once: int = 0
    address: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def settings(self, **changes: Any) -> LanguageModelSettings:
        """Settings that ask this server, without a pause and with every puzzle."""
        values = {"address": self.address, "model": "tester", "timeout": 20.0, "num_puzzles": {}}
        return LanguageModelSettings.model_validate({**values, **changes})


class Handler(BaseHTTPRequestHandler):
    """POST of chat completions."""

    server_of_test: ChatServer
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # a response in one packet: two would wait for each other

    def do_POST(self) -> None:
        held = self.server_of_test
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][0]["content"]
        with held.lock:
            held.prompts.append(prompt)
            held.bodies.append({"path": self.path, **body})
            held.headers.append({name.lower(): value for name, value in self.headers.items()})
            held.num_now += 1
            held.most_at_once = max(held.most_at_once, held.num_now)
        try:
            self.answer(held.behave(prompt))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client waited no longer
        finally:
            with held.lock:
                held.num_now -= 1

    def answer(self, act: Act) -> None:
        time.sleep(act.delay)
        self.send_response(act.status)
        for name, value in act.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(act.body)))
        self.end_headers()
        self.wfile.write(act.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(behave: Behaviour) -> Iterator[ChatServer]:
    """A running server."""
    held = ChatServer(behave)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("ChatHandler", (Handler,), {"server_of_test": held}))
    server.daemon_threads = True
    held.address = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield held
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def says(text: str | None, finish_reason: str = "stop", **message: Any) -> Act:
    """A chat completion."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, **message},
        "finish_reason": finish_reason,
    }
    return Act(json.dumps({"id": "x", "object": "chat.completion", "choices": [choice]}).encode())


def fails(status: int, error: object = None, **headers: str) -> Act:
    """An error of the API."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Act(json.dumps({"error": error}).encode(), status, names)


def make_puzzles(**num: int) -> list[Puzzle]:
    """Puzzles with answers: `make_puzzles(s4=3, s9=2)`."""
    found = []
    for name, count in num.items():
        side = int(name[1:])
        rng = np.random.default_rng([7, side])
        found += list(generate_puzzles(box_for_side(side), count, rng, CLUES[side]))
    return found


def right(puzzles: list[Puzzle]) -> Behaviour:
    """What a server does that knows all answers."""
    known = {sudoku_prompt(puzzle.question): puzzle for puzzle in puzzles}
    return lambda prompt: says(f"Here it is.\n```\n{format_rows(answer_of(known[prompt]))}\n```")


def answer_of(puzzle: Puzzle) -> np.ndarray:
    """The answer, which is there."""
    assert puzzle.answer is not None
    return puzzle.answer
