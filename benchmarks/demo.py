"""Seconds that `serrm demo` keeps a client waiting while another sends a long text.

    python -m benchmarks.demo

One client sends a text of the longest length that is read, or a far longer one, while another shows and solves an easy
Sudoku. A row has the text, its answer, and the other client's longest waits, for the grid and for the first step.
"""

import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from serrm.demo import MAX_CHARACTERS, sample
from tests.servers import free_port, serving

EASY = sample("Easy Sudoku")
TEXTS = {
    "dots": "." * MAX_CHARACTERS,
    "puzzles": (EASY + "\n") * (MAX_CHARACTERS // 82),
    "short lines": "1\n" * (MAX_CHARACTERS // 2),
    "words": "1 " * (MAX_CHARACTERS // 2),
    "nested lists": "[" * MAX_CHARACTERS,
    "1 MB": "." * 10**6,
    "60 MB": "." * 60 * 10**6,
}
NUM_WAITS = 5  # of the other client, at least
session = map(str, count()).__next__


def ask(address: str, number: int, data: list[Any]) -> tuple[float, str]:
    """Seconds until the page answers with a first grid or reason, and how."""
    start, name = time.perf_counter(), session()
    body = json.dumps({"data": data, "fn_index": number, "session_hash": name}).encode()
    path = f"{address}/gradio_api/queue"
    try:
        with urlopen(Request(f"{path}/join", body, {"Content-Type": "application/json"}), timeout=300):
            lines = urlopen(f"{path}/data?session_hash={name}", timeout=300)
    except HTTPError as error:
        return time.perf_counter() - start, f"refused ({error.code})"
    except URLError:  # the server closes the connection while the client still sends
        return time.perf_counter() - start, "refused"
    with lines:
        for line in lines:
            if b"process_generating" in line or b"process_completed" in line:
                return time.perf_counter() - start, "read"
    return time.perf_counter() - start, "no answer"


def rows(address: str, numbers: dict[str, int]) -> Iterator[str]:
    """Yield the rows of the table."""
    for _ in range(3):  # loads the model and tunes the kernels
        ask(address, numbers["play"], [EASY, 1024])
    for name, text in TEXTS.items():
        for function, data in (("show", [text]), ("play", [text, 1024])):
            with ThreadPoolExecutor(1) as sender:
                answer, waits = (
                    sender.submit(ask, address, numbers[function], data),
                    list[tuple[float, float]](),
                )
                while len(waits) < NUM_WAITS or not answer.done():
                    shown = ask(address, numbers["show"], [EASY])[0]
                    waits.append((shown, ask(address, numbers["play"], [EASY, 1024])[0]))
            longest = " | ".join(f"{max(seconds):.2f} s" for seconds in zip(*waits, strict=True))
            yield f"| {name} | {function} | {answer.result()[1]} | {longest} |"


def main() -> None:
    """Print the table."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "serrm.cli", "demo", "--port", str(port)]
    with serving(command, f"{address}/config") as config:
        numbers = {one["api_name"]: one["id"] for one in json.loads(config)["dependencies"]}
        print("| sent | to | answer | other's grid | other's first step |\n|---|---|---|---|---|")
        for row in rows(address, numbers):
            print(row, flush=True)


if __name__ == "__main__":
    main()
