"""Many requests to a server that speaks the OpenAI chat API, and what its responses say.

The `openai` package sends a few at once and tries again where that may help. The API key goes into a header and nowhere
else: not into messages, files or logs, even where a server repeats it.
"""

import asyncio
import json
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from openai import APIError, APIStatusError, APITimeoutError, AsyncOpenAI, Omit, RequestOptions

from serrm.asking.parse import Kind, Reply
from serrm.asking.replies import Json
from serrm.asking.settings import LanguageModelSettings
from serrm.progress import watch

logger = logging.getLogger(__name__)

NUM_RETRIES = 3  # of one request
NUM_FAILURES = 20  # requests in a row that failed in all their attempts before the server is given up
NEVER = (401, 403, 404, 405)  # statuses that every request would get
AGAIN = (408, 409, 429)  # statuses that may pass, as may those from 500 on
FILTERS = ("content_filter", "content_policy_violation")  # error codes of a prompt that the server withholds


@dataclass(frozen=True)
class Failure:
    """Why a request got no response, `error` or `timeout`; `is_lasting`: it never would."""

    kind: Kind
    message: str
    is_lasting: bool = False


def chat_request(settings: LanguageModelSettings, prompt: str) -> Json:
    """The request that puts one prompt: the body of a POST to <address>/chat/completions."""
    limits = {"temperature": settings.temperature, "max_tokens": settings.max_tokens}
    return {
        "model": settings.model,
        "messages": [{"role": "user", "content": prompt}],
        **{name: value for name, value in limits.items() if value is not None},
        **settings.extra,
    }


def reply_of(response: object) -> Reply:
    """What a response says. ValueError if it is neither a chat completion nor a prompt withheld by a filter."""
    match response:
        case {"error": {"code": code}} if code in FILTERS:
            return Reply("", is_filtered=True)
        case {"choices": [{"message": {**message}, **choice}, *_]}:
            content, refusal = (message.get(name) or "" for name in ("content", "refusal"))
            if isinstance(content, str) and isinstance(refusal, str):
                reason = choice.get("finish_reason")
                return Reply(content, refusal, reason == "length", reason == "content_filter")
    raise ValueError("a response that is no chat completion")


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


async def ask_all(
    settings: LanguageModelSettings,
    key: str | None,
    requests: Sequence[Json],
    keep: Callable[[Json, Json | Failure], None],
) -> None:
    """Send requests, at most `concurrency` at once; `keep` takes each with its end the moment that is known.

    Raises ValueError if the server would refuse every request, or NUM_FAILURES in a row failed.
    """
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # it has a line for every request
    num_failures, limit = 0, asyncio.Semaphore(settings.concurrency)
    client = AsyncOpenAI(
        base_url=settings.address, api_key=key or "none", timeout=settings.timeout, max_retries=NUM_RETRIES
    )

    async def ask(request: Json) -> Json | Failure:
        async with limit:
            end = await _ask(client, settings, key, request)
            keep(request, end)
        return end

    async with client:
        tasks = [asyncio.create_task(ask(request)) for request in requests]
        try:
            for task in watch(asyncio.as_completed(tasks), "asking", len(tasks), unit="puzzle"):
                end = await task
                if not isinstance(end, Failure) or end.is_lasting:  # the server is there
                    num_failures = 0
                    continue
                num_failures += 1
                if num_failures == NUM_FAILURES:
                    said = f"{num_failures} requests in a row failed: {end.message}"
                    raise ValueError(f"{settings.address}: {said}")
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _ask(
    client: AsyncOpenAI, settings: LanguageModelSettings, key: str | None, request: Json
) -> Json | Failure:
    """The response to a request, or why there is none. ValueError if there would be none to any request."""
    kind, status = Kind.error, 0
    # Without a key the header is left out, or the package would ask for one of its own environment variable.
    options: RequestOptions = {} if key else {"headers": {"Authorization": Omit()}}
    try:
        text = await client.post("/chat/completions", body=request, options=options, cast_to=str)
        response: Json = json.loads(text)
        reply_of(response)
        return response
    except APITimeoutError:
        kind, said = Kind.timeout, f"no reply in {settings.timeout:g} s"
    except APIStatusError as error:
        if error.code in FILTERS:
            return {"error": error.body}
        status = error.status_code
        said = f"{status} {error.response.reason_phrase}: {_explanation(error.body)}"
    except (APIError, ValueError, RecursionError) as error:
        said = f"{type(error).__name__}: {error}"
    message = " ".join((said.replace(key, "…") if key else said).split())[:300]
    message = f"{settings.address}/chat/completions: {message}"
    if status in NEVER:
        raise ValueError(message)
    return Failure(kind, message, is_lasting=0 < status < 500 and status not in AGAIN)


def _explanation(body: object) -> str:
    """What the server says of an error: in the API an object, elsewhere a text as well."""
    match body:
        case {"message": str(text)} | str(text):
            return text
    return "no explanation"
