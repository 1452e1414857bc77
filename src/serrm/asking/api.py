"""One request to a server that speaks the OpenAI chat API, and what its response says.

The API key goes into a header and nowhere else: not into messages, files or logs, even where a server repeats it.
"""

import json
import os
import time
from collections.abc import Callable
from typing import Any

import requests
from urllib3.exceptions import HTTPError

from serrm.asking.cache import Json
from serrm.asking.parse import Kind, Reply
from serrm.asking.settings import LanguageModelSettings

CONNECT = 10.0  # seconds to connect
CHUNK = 1 << 16
AGAIN = (408, 409, 425, 429)  # statuses that may pass, as may those from 500 on
NEVER = (401, 403, 404, 405)  # statuses that every request would get
FILTERS = ("content_filter", "content_policy_violation")  # error codes of a prompt that the server withholds


class FailedAttempt(Exception):
    """An attempt got no response.

    `is_lasting`: another one would end the same; `wait`: the seconds that the server asks for before it.
    """

    def __init__(self, kind: Kind, message: str, is_lasting: bool = False, wait: float | None = None) -> None:
        super().__init__(message)
        self.kind, self.is_lasting, self.wait = kind, is_lasting, wait


def chat_request(settings: LanguageModelSettings, prompt: str) -> Json:
    """The request that puts one prompt: the body of a POST to <address>/chat/completions."""
    limits = {"temperature": settings.temperature, "max_tokens": settings.max_tokens}
    return {
        "model": settings.model,
        "messages": [{"role": "user", "content": prompt}],
        **{name: value for name, value in limits.items() if value is not None},
        **settings.extra,
    }


def reply_of(response: Json) -> Reply:
    """What a response says. ValueError if it is neither a chat completion nor a prompt withheld by a filter."""
    if _error_code(response) in FILTERS:
        return Reply("", is_filtered=True)
    try:
        choice = response["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        texts = [message.get(name) or "" for name in ("content", "refusal")]
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("a response that is no chat completion") from None
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a chat completion whose content is no text")
    return Reply(texts[0], texts[1], reason == "length", reason == "content_filter")


def read_key(settings: LanguageModelSettings) -> str | None:
    """The API key in the environment variable that the settings name, if they name one.

    ValueError, which does not show the key, if it is not set or could not be sent.
    """
    if settings.key_variable is None:
        return None
    key = os.environ.get(settings.key_variable, "").strip()
    if not key:
        raise ValueError(f"the environment variable {settings.key_variable} is not set")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ValueError(f"the environment variable {settings.key_variable} holds no API key")
    return key


def bearer(key: str | None) -> Callable[[requests.PreparedRequest], requests.PreparedRequest]:
    """What sets the key in a session's requests; a session that has it looks for no password in .netrc."""

    def authorize(request: requests.PreparedRequest) -> requests.PreparedRequest:
        if key is not None:
            request.headers["Authorization"] = f"Bearer {key}"
        return request

    return authorize


def post(session: requests.Session, settings: LanguageModelSettings, request: Json) -> Json:
    """Send a request once and return the response, which `reply_of` can read.

    Raises:
        FailedAttempt: this attempt or this request failed.
        ValueError: every request to this server would, as with a wrong key or an unknown model.
    """
    url, start = f"{settings.address}/chat/completions", time.monotonic()
    try:
        with session.post(
            url,
            json=request,
            headers={"Accept-Encoding": "identity"},
            timeout=(min(CONNECT, settings.timeout), settings.timeout),
            stream=True,
            allow_redirects=False,
        ) as response:
            content = _receive(response, start + settings.timeout)
    except (requests.RequestException, HTTPError, OSError) as error:
        is_late = isinstance(error, requests.ReadTimeout) or time.monotonic() - start >= settings.timeout
        if is_late:
            raise FailedAttempt(Kind.timeout, f"{url}: no whole reply in {settings.timeout:g} s") from error
        raise FailedAttempt(Kind.error, f"{url}: {type(error).__name__}: {error}") from error
    return _checked(response, content)


def _receive(response: requests.Response, deadline: float) -> bytes:
    """The whole body, before the deadline: `requests` itself only limits the time between two bytes."""
    parts = []
    while part := response.raw.read1(CHUNK):
        parts.append(part)
        if time.monotonic() >= deadline:
            raise TimeoutError
    return b"".join(parts)


def _checked(response: requests.Response, content: bytes) -> Json:
    """The decoded body of a response that is one, by its status and by its content."""
    status, decoded = response.status_code, _decode(content)
    if not (200 <= status < 300) and _error_code(decoded) not in FILTERS:
        message = f"{response.url}: {status} {response.reason}{_explanation(response, decoded)}"
        if status in NEVER:
            raise ValueError(message)
        is_lasting = status not in AGAIN and status < 500
        raise FailedAttempt(Kind.error, message, is_lasting, _retry_after(response))
    try:
        reply_of(decoded)
    except ValueError as error:
        message = f"{response.url}: {error}{_explanation(response, decoded)}"
        raise FailedAttempt(Kind.error, message) from None
    return decoded


def _decode(content: bytes) -> Json:
    """The object that the content is as JSON; an empty one if it is none."""
    try:
        decoded = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}


def _error_of(decoded: Json) -> Any:
    """The `error` of a response: in the API an object, elsewhere a text as well."""
    return decoded.get("error")


def _error_code(decoded: Json) -> object:
    error = _error_of(decoded)
    return error.get("code") if isinstance(error, dict) else None


def _explanation(response: requests.Response, decoded: Json) -> str:
    """What the server says of an error, on one line and without the key, which some servers repeat."""
    error = _error_of(decoded)
    text = error.get("message") if isinstance(error, dict) else error
    if not isinstance(text, str):
        return ""
    key = str(response.request.headers.get("Authorization", "")).removeprefix("Bearer ")
    return f": {' '.join((text.replace(key, '…') if key else text).split())[:200]}"


def _retry_after(response: requests.Response) -> float | None:
    """Seconds of the header Retry-After; its other form, a date, is not heeded."""
    seconds = response.headers.get("Retry-After", "")
    return float(seconds) if seconds.isascii() and seconds.isdigit() else None
