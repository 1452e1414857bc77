"""Closed groups of parameters, which make up every section of a params file, and their validation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

# The key in TASKS of a data set, by default the data set's own name.
Kind = Annotated[str, Field(default_factory=lambda data: data["task"])]
T = TypeVar("T", bound=BaseModel)
RENAMED = {"effort": "test_time_compute", "most": "max_cells"}  # former names of keys


class Settings(BaseModel):
    """A frozen group of parameters that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class KeyOf:
    """Metadata of a field with text: its values are the keys of a dict, such as all schedules by their names."""

    known: Mapping[str, object]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def _check(self, value: str) -> str:
        if value not in self.known:
            raise ValueError(f"is none of {', '.join(self.known)}")
        return value


def refused(keys: tuple[str, ...], message: str, value: object) -> ValidationError:
    """An error for a validator to raise: the value at these keys below the validated settings does not work."""
    error = PydanticCustomError("refused", message)
    return ValidationError.from_exception_data(
        "refused", [InitErrorDetails(type=error, loc=keys, input=value)]
    )


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
        has_value = (
            first["type"] != "missing"
            and first["input"] is not None
            and not isinstance(first["input"], dict | list | BaseModel)
        )
        if first["type"] == "extra_forbidden" and keys[-1] in RENAMED:
            message = f"is now called {RENAMED[keys[-1]]}"
        value = f" (got {first['input']!r})" if has_value else ""
        raise ValueError(f"{key}: {message}{value}" if key else f"{message}{value}") from error
