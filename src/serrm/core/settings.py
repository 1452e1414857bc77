"""Closed groups of parameters, which make up every section of a params file, and their validation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

# The key in TASKS of a data set, by default the data set's own name.
Kind = Annotated[str, Field(default_factory=lambda data: data["task"])]
T = TypeVar("T", bound=BaseModel)


class Settings(BaseModel):
    """A frozen group of parameters that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _check_booleans(cls, data: Any) -> Any:
        """Refuse true and false where numbers are meant, and the reverse: true is no learning rate of 1."""
        for name, value in data.items() if isinstance(data, dict) else ():
            kind = cls.model_fields[name].annotation if name in cls.model_fields else Any
            if kind is bool and not isinstance(value, bool):
                raise refused((name,), "must be true or false", value)
            may_be_boolean = kind in (bool, Any, JsonValue) or bool in get_args(kind)
            items = value if isinstance(value, list | tuple) else [value]
            if not may_be_boolean and any(isinstance(item, bool) for item in items):
                raise refused((name,), "must not be true or false", value)
        return data


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


@dataclass(frozen=True, eq=False)  # hashable, as types are
class EntryOf:
    """Metadata of a field whose value is settings of one of the classes in a dict, which its `key` names.

    A name alone stands for settings with no value but the name.
    """

    known: Mapping[str, type[BaseModel]]
    key: str = "kind"

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(self._validated, handler(source))

    def _validated(self, values: Any) -> Any:
        if isinstance(values, str):
            if values not in self.known:
                raise ValueError(f"is none of {', '.join(self.known)}")
            return self.known[values].model_validate({self.key: values})
        if not isinstance(values, Mapping):
            return values
        name = values.get(self.key)
        if not isinstance(name, str) or name not in self.known:
            raise refused((self.key,), f"is none of {', '.join(self.known)}", name)
        return self.known[name].model_validate(values)


def refused(keys: tuple[str, ...], message: str, value: object) -> ValidationError:
    """An error for a validator to raise: the value at these keys below the validated settings does not work."""
    error = PydanticCustomError("refused", message)
    return ValidationError.from_exception_data(
        "refused", [InitErrorDetails(type=error, loc=keys, input=value)]
    )


class Merged:
    """A section's values from several levels, of which a later one wins, with the key of each value in the file.

    A level is the key under which its values stand, and the values. A value that is missing everywhere is named as one
    of `home`. What is wrong with the whole is put down to the last level, if that is a run's changes.
    """

    def __init__(self, home: str, *levels: tuple[str, Mapping[str, Any]]) -> None:
        self.home, self.whole = home, home
        self.values = {key: value for _, level in levels for key, value in level.items()}
        self.places = {key: f"{place}.{key}" for place, level in levels for key in level}

    def change(self, place: str, key: str, value: Any) -> None:
        """Set a value by a change that stands at `place`, which is blamed for what does not fit together."""
        self.values[key], self.places[key], self.whole = value, place, place

    def where(self, keys: list[str]) -> str:
        """The whole key of a value of the section, or of a part of one."""
        if not keys:
            return self.whole
        return ".".join([self.places.get(keys[0], f"{self.home}.{keys[0]}"), *keys[1:]])


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
        value = f" (got {first['input']!r})" if has_value else ""
        raise ValueError(f"{key}: {message}{value}" if key else f"{message}{value}") from error
