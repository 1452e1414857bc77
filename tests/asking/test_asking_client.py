"""Requests against a local server that answers, fails, dawdles and refuses: what is tried again, and what is not."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from serrm.asking import client
from serrm.asking.client import NUM_RETRIES, Failure, ask_all, chat_request, read_key, reply_of
from serrm.asking.parse import Kind, Reply
from serrm.asking.settings import LanguageModelSettings
from tests.chat_server import Act, ChatServer, fails, says, serving

Ends = list[dict[str, Any] | Failure]
KEY = "sk-very-secret"


@pytest.fixture
def server(no_pauses: None) -> Iterator[ChatServer]:
    with serving(lambda prompt: says(f"reply to {prompt}")) as held:
        yield held


def ask(server: ChatServer, num: int = 1, key: str | None = None, **changes: Any) -> Ends:
    """The end of each of the prompts 0, 1, …"""
    settings = server.settings(**changes)
    requests = [chat_request(settings, str(number)) for number in range(num)]
    ends: dict[int, dict[str, Any] | Failure] = {}
    asyncio.run(ask_all(settings, key, requests, lambda sent, end: ends.update({requests.index(sent): end})))
    return [ends[number] for number in range(num)]


def texts(ends: Ends) -> list[str]:
    assert not any(isinstance(end, Failure) for end in ends)
    return [reply_of(end).text for end in ends]


def in_turn(*acts: Act) -> Callable[[str], Act]:
    """One act after another, the last one again and again."""
    left = list(acts)
    return lambda prompt: left.pop(0) if len(left) > 1 else left[0]


def only_failure(ends: Ends) -> tuple[Kind, bool, str]:
    (end,) = ends
    assert isinstance(end, Failure) and "\n" not in end.message
    return end.kind, end.is_lasting, end.message


def test_a_request_is_what_the_api_wants(server: ChatServer) -> None:
    parameters = {"temperature": 0.5, "max_tokens": 77}
    ask(server, **parameters, extra={"reasoning_effort": "high"})
    ask(server, temperature=None, address=f"{server.address}/")
    messages = [{"role": "user", "content": "0"}]
    plain = {"path": "/v1/chat/completions", "model": "tester", "messages": messages}
    assert server.bodies == [{**plain, **parameters, "reasoning_effort": "high"}, plain]


def test_as_many_requests_overlap_as_asked_for_and_each_gets_its_reply(server: ChatServer) -> None:
    """Each of four waits for the other three, which they could not do one after another."""
    together = threading.Barrier(4)

    def behave(prompt: str) -> Act:
        together.wait(20)
        return says(prompt)

    server.behave = behave
    assert texts(ask(server, 12, concurrency=4)) == [str(number) for number in range(12)]
    assert server.most_at_once == 4


@pytest.mark.parametrize(
    "act", [fails(429, {"message": "slow"}, Retry_After="0"), fails(503, "busy"), fails(408)]
)
def test_what_may_pass_is_tried_again(server: ChatServer, act: Act) -> None:
    server.behave = in_turn(act, act, says("at last"))
    assert texts(ask(server)) == ["at last"]
    assert len(server.prompts) == 3


def test_what_does_not_pass_is_an_error(server: ChatServer) -> None:
    server.behave = lambda prompt: fails(500, {"message": "broken\nfor good"})
    said = f"{server.address}/chat/completions: 500 Internal Server Error: broken for good"
    assert only_failure(ask(server)) == (Kind.error, False, said)
    assert len(server.prompts) == 1 + NUM_RETRIES


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices": [{"mess',
        b"[" * 100_000,
        b"",
        b'{"error": {"message": "upstream", "code": 502}}',  # with status 200
        b'{"choices": []}',
        b'{"choices": [{"message": {"content": 3}}]}',
    ],
)
def test_what_is_no_chat_completion_is_an_error(server: ChatServer, body: bytes) -> None:
    server.behave = lambda prompt: Act(body)
    assert only_failure(ask(server))[:2] == (Kind.error, False)


def test_what_cannot_pass_is_not_tried_again(server: ChatServer) -> None:
    server.behave = lambda prompt: fails(422, {"message": "too long"}) if prompt == "0" else says("a")
    first, second = ask(server, 2)
    kind, is_lasting, message = only_failure([first])
    assert (kind, is_lasting) == (Kind.error, True) and "422 " in message and "too long" in message
    assert isinstance(second, dict) and server.prompts.count("0") == 1


@pytest.mark.parametrize("code", ["content_filter", "content_policy_violation"])
def test_a_prompt_that_is_withheld_is_a_response(server: ChatServer, code: str) -> None:
    server.behave = lambda prompt: fails(400, {"message": "no", "code": code})
    (end,) = ask(server)
    assert isinstance(end, dict) and reply_of(end) == Reply("", is_filtered=True)


def test_a_slow_reply_is_a_timeout(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "NUM_RETRIES", 1)
    server.behave = lambda prompt: Act(says("a").body, delay=1.0)
    kind, _, message = only_failure(ask(server, timeout=0.15))
    assert kind == Kind.timeout and message.endswith("no reply in 0.15 s")
    assert len(server.prompts) == 2


def test_no_server_is_an_error(no_pauses: None) -> None:
    nowhere = ChatServer(lambda prompt: says(""), address="http://127.0.0.1:9/v1")
    kind, _, message = only_failure(ask(nowhere))
    assert kind == Kind.error and "http://127.0.0.1:9/v1/chat/completions: APIConnectionError" in message


def test_a_server_that_only_fails_is_given_up(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "NUM_FAILURES", 3)
    monkeypatch.setattr(client, "NUM_RETRIES", 0)
    server.behave = lambda prompt: fails(503) if int(prompt) % 2 else says(prompt)
    ends = ask(server, 12, concurrency=1)  # replies between the failures
    assert [isinstance(end, Failure) for end in ends] == [False, True] * 6
    server.behave = lambda prompt: fails(503)
    with pytest.raises(ValueError, match=r"/v1: 3 requests in a row failed: .*503"):
        ask(server, 100, concurrency=2)
    assert len(server.prompts) <= 12 + 8


def test_the_key_is_a_header_and_nowhere_else(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even where the server repeats it; and a key that it does not take ends the run."""
    monkeypatch.setenv("TEST_KEY", f" {KEY}\n")
    settings = server.settings(key_variable="TEST_KEY")
    assert read_key(settings) == KEY
    caplog.set_level("DEBUG")
    echo = {"message": f"Incorrect API key: {KEY}"}
    server.behave = in_turn(fails(500, echo), says("a"))
    assert texts(ask(server, key=KEY)) == ["a"]
    assert {headers["authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
    server.behave = lambda prompt: fails(401, echo)
    with pytest.raises(ValueError, match=r"/chat/completions: 401 .*Incorrect API key: …") as error:
        ask(server, 30, key=KEY, concurrency=2)
    assert len(server.prompts) < 30
    shown = (str(error.value), repr(settings), settings.model_dump_json(), str(server.bodies))
    for text in (caplog.text, *shown):
        assert "secret" not in text


@pytest.mark.parametrize("value", ["  ", "sk-secret\nX: y", "sk secret", "sk-secreté"])
def test_a_key_that_cannot_be_sent_is_refused_unseen(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("TEST_KEY", value)
    with pytest.raises(ValueError, match=r"^the environment variable TEST_KEY ") as error:
        read_key(server.settings(key_variable="TEST_KEY"))
    assert "secret" not in str(error.value)


def test_without_a_variable_no_key_is_sent(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert read_key(server.settings()) is None
    ask(server)
    assert "authorization" not in server.headers[0] and KEY not in str(server.headers)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"address": "localhost:8000"}, "no address such as"),
        ({"address": "ftp://a/v1"}, "no address such as"),
        ({"address": "http://me:pass@a/v1"}, "without user, query"),
        ({"address": "http://a/v1?key=b"}, "without user, query"),
        ({"extra": {"stream": True}}, "stream cannot be set here"),
    ],
)
def test_addresses_and_parameters_are_checked(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LanguageModelSettings.model_validate({"address": "http://a/v1", "model": "m", **changes})
