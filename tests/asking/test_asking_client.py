"""Requests against a local server that answers, fails, dawdles and refuses: what is tried again, and what is not."""

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


@pytest.fixture(autouse=True)
def _no_pauses(no_pauses: None) -> None:
    pass


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving(lambda prompt: says(f"reply to {prompt}")) as held:
        yield held


def ask(server: ChatServer, num: int = 1, key: str | None = None, **changes: Any) -> Ends:
    """The end of each of the prompts 0, 1, …"""
    settings = server.settings(**changes)
    requests = [chat_request(settings, str(number)) for number in range(num)]
    ends: dict[int, dict[str, Any] | Failure] = {}
    ask_all(settings, key, requests, lambda request, end: ends.update({requests.index(request): end}))
    return [ends[number] for number in range(num)]


def texts(ends: Ends) -> list[str]:
    assert not any(isinstance(end, Failure) for end in ends)
    return [reply_of(end).text for end in ends]


def in_turn(*acts: Act) -> Callable[[str], Act]:
    """One act after another, the last one again and again."""
    left = list(acts)
    return lambda prompt: left.pop(0) if len(left) > 1 else left[0]


def only_failure(ends: Ends) -> Failure:
    (end,) = ends
    assert isinstance(end, Failure)
    assert "\n" not in end.message
    return end


def test_every_request_gets_its_own_reply(server: ChatServer) -> None:
    assert texts(ask(server, 20)) == [f"reply to {number}" for number in range(20)]
    assert sorted(server.prompts, key=int) == [str(number) for number in range(20)]


def test_a_request_is_what_the_api_wants(server: ChatServer) -> None:
    ask(server, temperature=0.5, max_tokens=77, extra={"reasoning_effort": "high"})
    messages = [{"role": "user", "content": "0"}]
    parameters = {"temperature": 0.5, "max_tokens": 77, "reasoning_effort": "high"}
    assert server.bodies == [
        {"path": "/v1/chat/completions", "model": "tester", "messages": messages, **parameters}
    ]
    ask(server, temperature=None, address=f"{server.address}/")
    assert server.bodies[1] == {"path": "/v1/chat/completions", "model": "tester", "messages": messages}


def test_as_many_requests_overlap_as_asked_for(server: ChatServer) -> None:
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
    failure = only_failure(ask(server))
    assert (failure.kind, failure.is_lasting) == (Kind.error, False)
    said = "500 Internal Server Error: broken for good"
    assert failure.message == f"{server.address}/chat/completions: {said}"
    assert len(server.prompts) == 1 + NUM_RETRIES


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices": [{"mess',
        b"<html>busy</html>",
        b"[" * 100_000,
        b"[]",
        b"",
        b'{"error": {"message": "upstream", "code": 502}}',  # with status 200
        b'{"choices": []}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": 3}}]}',
    ],
)
def test_what_is_no_chat_completion_is_an_error(server: ChatServer, body: bytes) -> None:
    server.behave = lambda prompt: Act(body)
    failure = only_failure(ask(server))
    assert (failure.kind, failure.is_lasting) == (Kind.error, False)


@pytest.mark.parametrize("status", [400, 422])
def test_what_cannot_pass_is_not_tried_again(server: ChatServer, status: int) -> None:
    server.behave = lambda prompt: fails(status, {"message": "too long"}) if prompt == "0" else says("a")
    first, second = ask(server, 2)
    assert isinstance(first, Failure) and first.is_lasting and first.kind == Kind.error
    assert f"{status} " in first.message and "too long" in first.message
    assert isinstance(second, dict)
    assert server.prompts.count("0") == 1


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_no_request_can_pass_ends_the_run(server: ChatServer, status: int) -> None:
    server.behave = lambda prompt: fails(status, {"message": "who are you?"})
    with pytest.raises(ValueError, match=rf"/chat/completions: {status} .*: who are you\?$"):
        ask(server, 30, concurrency=2)
    assert len(server.prompts) < 30


@pytest.mark.parametrize("code", ["content_filter", "content_policy_violation"])
def test_a_prompt_that_is_withheld_is_a_response(server: ChatServer, code: str) -> None:
    server.behave = lambda prompt: fails(400, {"message": "no", "code": code})
    (end,) = ask(server)
    assert isinstance(end, dict)
    assert reply_of(end) == Reply("", is_filtered=True)


def test_a_slow_reply_is_a_timeout(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "NUM_RETRIES", 1)
    server.behave = lambda prompt: Act(says("a").body, delay=1.0)
    failure = only_failure(ask(server, timeout=0.15))
    assert failure.kind == Kind.timeout
    assert failure.message.endswith("no reply in 0.15 s")
    assert len(server.prompts) == 2


def test_no_server_is_an_error() -> None:
    nowhere = ChatServer(lambda prompt: says(""), address="http://127.0.0.1:9/v1")
    failure = only_failure(ask(nowhere))
    assert failure.kind == Kind.error
    assert "http://127.0.0.1:9/v1/chat/completions: APIConnectionError" in failure.message


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


KEY = "sk-very-secret"


def test_the_key_is_a_header_and_nowhere_else(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TEST_KEY", f" {KEY}\n")
    settings = server.settings(key_variable="TEST_KEY")
    assert read_key(settings) == KEY
    caplog.set_level("DEBUG")
    echo = {"message": f"Incorrect API key: {KEY}"}
    server.behave = in_turn(fails(500, echo), says("a"))
    assert texts(ask(server, key=KEY)) == ["a"]
    assert {headers["authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
    server.behave = lambda prompt: fails(401, echo)
    with pytest.raises(ValueError, match=r"401 .*Incorrect API key: …") as error:
        ask(server, key=KEY)
    shown = (str(error.value), repr(settings), settings.model_dump_json(), str(server.bodies))
    for text in (caplog.text, *shown):
        assert "secret" not in text


@pytest.mark.parametrize("value", ["", "  ", "sk-secret\nX: y", "sk secret", "sk-secreté"])
def test_a_key_that_cannot_be_sent_is_refused_unseen(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("TEST_KEY", value)
    with pytest.raises(ValueError, match=r"^the environment variable TEST_KEY ") as error:
        read_key(server.settings(key_variable="TEST_KEY"))
    assert "secret" not in str(error.value)


def test_without_a_variable_no_key_is_sent(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-you")
    assert read_key(server.settings()) is None
    ask(server)
    assert "sk-not-for-you" not in str(server.headers)
    assert "authorization" not in server.headers[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"address": "localhost:8000"}, "no address such as"),
        ({"address": "ftp://a/v1"}, "no address such as"),
        ({"address": "http://me:pass@a/v1"}, "without user, query"),
        ({"address": "http://a/v1?key=b"}, "without user, query"),
        ({"model": ""}, "at least 1 character"),
        ({"temperature": -1.0}, "greater than or equal to 0"),
        ({"timeout": 0.0}, "greater than 0"),
        ({"concurrency": 0}, "greater than 0"),
        ({"num_puzzles": {"9x9": -1}}, "greater than or equal to 0"),
        ({"extra": {"stream": True}}, "stream cannot be set here"),
        ({"tokens": 3}, "Extra inputs are not permitted"),
    ],
)
def test_settings_are_closed(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LanguageModelSettings.model_validate({"address": "http://a/v1", "model": "m", **changes})
