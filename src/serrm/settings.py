"""Closed groups of parameters, which make up every section of a params file, and their validation."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

# The key in TASKS of a data set, by default the data set's own name.
Kind = Annotated[str, Field(default_factory=lambda data: data["task"])]
T = TypeVar("T", bound=BaseModel)
RENAMED = {"effort": "test_time_compute", "most": "max_cells"}  # former names of keys


class Settings(BaseModel):
    """A frozen group of parameters that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def parse(kind: type[T], data: object, where: str | Callable[[list[str]], str]) -> T:
    """Validate `data`; a ValueError of one line names the first offending key, such as models.se_rrm.width.

    `where` is the key of `data` itself, or a function that makes the whole key from the key below it.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        keys = [str(key) for key in first["loc"]]
        key = ".".join([where, *keys]) if isinstance(where, str) else where(keys)
        message = first["msg"].removeprefix("Value error, ")
        has_value = first["type"] != "missing" and not isinstance(first["input"], dict | list | BaseModel)
        if first["type"] == "extra_forbidden" and keys[-1] in RENAMED:
            message = f"is now called {RENAMED[keys[-1]]}"
        value = f" (got {first['input']!r})" if has_value else ""
        raise ValueError(f"{key}: {message}{value}" if key else f"{message}{value}") from error
