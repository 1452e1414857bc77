"""`serrm demo`: a puzzle is drawn as it is typed, its answer plays step by step, and long requests are refused."""

import sys
from contextlib import closing
from http.client import HTTPConnection

import pytest

from serrm import demo
from tests.servers import free_port, serving

HARD = demo.sample("Hard Sudoku")


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "PAUSE", 0)


def test_an_answer_plays_step_by_step_until_it_is_verified() -> None:
    grids, captions, frames, sliders = zip(*demo.play(HARD, 64), strict=True)
    assert captions[0] == "Attempt 1: 1 supervision step." and captions[-1].startswith("Verified")
    assert len(set(grids)) == len(grids) > 4
    assert demo.rewind(HARD, frames[-1], 2) == (grids[1], captions[1])
    assert sliders[-1].maximum == sliders[-1].value == len(grids)


def test_guesses_are_made_within_the_budget() -> None:
    """A Sudoku without a solution that the rules show at once: every attempt fails, and the budget ends it."""
    *_, last = demo.settle(demo.question_of("1234" + "." * 12), 64)
    assert last.caption.startswith(("Verified", "Not solved within 64"))


@pytest.mark.parametrize("text", ["", "12", "S#\n#", "1" * 49, "[1", '{"test": [{"input": [[1]]}]}'])
def test_an_invalid_puzzle_keeps_the_grid_and_shows_the_reason(text: str) -> None:
    grid, sentence, _ = demo.show(text)
    assert not isinstance(grid, str) and sentence.endswith(".")
    [(grid, again, *_)] = demo.play(text, 64)
    assert not isinstance(grid, str) and again == sentence


@pytest.mark.parametrize("text", ["11..............", "." * 81, "S# \n###\n##G"])
def test_a_puzzle_without_a_solution_is_drawn_and_refused(text: str) -> None:
    grid, _, _ = demo.show(text)
    [(_, sentence, *_)] = demo.play(text, 64)
    assert "<svg" in grid and sentence.endswith(".")


def test_keys_are_the_symbols_of_the_puzzle() -> None:
    assert [*demo.keys_of(demo.question_of("1" + "." * 15)).labels] == ["1", "2", "3", "4", "."]
    assert [*demo.keys_of(demo.question_of(demo.sample("New maze"))).labels] == ["#", " ", "S", "G"]


@pytest.mark.slow
def test_a_long_request_is_refused_before_it_is_read() -> None:
    port = free_port()
    command = [sys.executable, "-m", "serrm.cli", "demo", "--port", str(port)]
    with serving(command, f"http://127.0.0.1:{port}"):
        for header in (("Content-Length", "60000000"), ("Transfer-Encoding", "chunked")):
            with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
                connection.putrequest("POST", "/gradio_api/queue/join")
                connection.putheader(*header)
                connection.endheaders()
                assert connection.getresponse().status == 413
