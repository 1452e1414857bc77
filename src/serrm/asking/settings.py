"""Which language model is asked, where and how: a closed set of parameters (table 1, the row of GPT-OSS).

They are the section `language_model` of params.yaml, which is off (null) unless one fills it, or the options of
`serrm ask`. The API key is none of them: they name the environment variable that holds it.
"""

from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, NonNegativeInt, PositiveInt, field_validator

from serrm.settings import Settings

# Puzzles that the paper asked; it prints no number for the larger grids, where the model gave no solutions.
PAPER_PUZZLES = {"4x4": 288, "9x9": 60}
RESERVED = ("model", "messages", "stream", "n", "temperature", "max_tokens")


class LanguageModelSettings(Settings):
    """A server that speaks the OpenAI chat API, one of its models, and how it is asked."""

    address: str  # of the API, version included: http://localhost:8000/v1
    model: str = Field(min_length=1)
    temperature: float | None = Field(default=0.0, ge=0)  # None: not sent, the server decides
    max_tokens: PositiveInt | None = None  # of a reply, its thoughts included; None: not sent
    extra: dict[str, JsonValue] = Field(default={})  # more of the request, such as reasoning_effort
    timeout: float = Field(default=600.0, gt=0)  # seconds to wait for a reply
    concurrency: PositiveInt = 8  # requests at once
    num_puzzles: PositiveInt | dict[str, NonNegativeInt] = PAPER_PUZZLES  # of each set; all where unnamed
    key_variable: str | None = None  # environment variable that holds the API key; None: there is none

    @field_validator("address")
    @classmethod
    def _is_plain(cls, address: str) -> str:
        """Without a trailing slash; nothing in it may be secret, for it is shown and stored."""
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("no address such as http://localhost:8000/v1")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("an address without user, query and fragment is needed")
        return address.rstrip("/")

    @field_validator("extra")
    @classmethod
    def _is_further(cls, extra: dict[str, Any]) -> dict[str, Any]:
        if taken := sorted(set(extra) & set(RESERVED)):
            raise ValueError(f"{', '.join(taken)} cannot be set here")
        return extra

    def num_of(self, name: str) -> int | None:
        """How many puzzles of a set such as 9x9 are asked; None: all of them."""
        return self.num_puzzles if isinstance(self.num_puzzles, int) else self.num_puzzles.get(name)
