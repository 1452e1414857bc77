"""Groups of parameters that refuse unknown keys, which make up the sections of a params file, and their errors."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

# A key of TASKS; by default the name of the data set in the field `data_set` before it.
TaskName = Annotated[str, Field(default_factory=lambda data: data["data_set"])]
T = TypeVar("T", bound=BaseModel)


class Settings(BaseModel):
    """A frozen group of parameters that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _check_booleans(cls, data: Any) -> Any:
        """Refuse true and false where numbers are meant, and the reverse: true is not a learning rate of 1."""
        for name, value in data.items() if isinstance(data, dict) else ():
            annotation = cls.model_fields[name].annotation if name in cls.model_fields else Any
            if annotation is bool and not isinstance(value, bool):
                raise setting_error((name,), "must be true or false", value)
            may_be_boolean = annotation in (bool, Any, JsonValue) or bool in get_args(annotation)
            items = value if isinstance(value, list | tuple) else [value]
            if not may_be_boolean and any(isinstance(item, bool) for item in items):
                raise setting_error((name,), "must not be true or false", value)
        return data

    def digest(self) -> str:
        """Compute the sha256 of the values that are not defaults, so that a new setting changes no earlier digest."""
        return hashlib.sha256(json.dumps(_chosen(self), sort_keys=True, default=str).encode()).hexdigest()


class NamedSettings(Settings):
    """Settings of an entry of a dict; without other values they are written as its name `kind` alone."""

    if TYPE_CHECKING:
        kind: str

    @model_serializer(mode="wrap")
    def _shortest(self, handler: Callable[[Any], Any]) -> Any:
        values = handler(self)
        return values["kind"] if values.keys() == {"kind"} else values


def _chosen(value: Any) -> Any:
    """Collect the values of settings that are not their defaults, with all names of kinds and families."""
    if not isinstance(value, Settings):
        return value
    return {
        name: _chosen(getattr(value, name))
        for name, field in type(value).model_fields.items()
        if getattr(value, name) != field.default or get_origin(field.annotation) is Literal
    }


@dataclass(frozen=True)
class KeyOf:
    """Metadata of a text field whose allowed values are the keys of a dict, such as the schedules by name."""

    known: Mapping[str, object]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def _check(self, value: str) -> str:
        if value not in self.known:
            raise ValueError(f"is none of {', '.join(self.known)}")
        return value


@dataclass(frozen=True, eq=False)  # hashed by identity, as unions such as `HaltingSettings | None` hash it
class EntryOf:
    """Metadata of a field whose value is settings of one of the classes in `known`, by name.

    The entry `key` of the value is the name of its class. A name alone stands for settings without further values.
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
        if name is None and (close := get_close_matches(self.key, map(str, values), n=1)):
            raise setting_error((*close,), f"unknown key; did you mean {self.key}?", None)
        if not isinstance(name, str) or name not in self.known:
            raise setting_error((self.key,), f"is none of {', '.join(self.known)}", name)
        return self.known[name].model_validate(values)


def setting_error(keys: tuple[str, ...], message: str, value: object) -> ValidationError:
    """Make the error that a validator raises for the value at these keys below the validated settings."""
    error = PydanticCustomError("refused", message)
    return ValidationError.from_exception_data(
        "refused", [InitErrorDetails(type=error, loc=keys, input=value)]
    )


class Merged:
    """A section merged from several levels (later wins), which remembers the key of every value in the file.

    A level is the key of a mapping in the file, and the mapping. The section `model` of a run of TRM on Sudoku, for
    instance, is `Merged("models.trm", ("models.trm", {…}), ("recipes.sudoku.trm.model", {…}))`, and `change` adds the
    run's own `runs.<name>.changes`. `home` is the level to which a missing value belongs, so an error about it names a
    key below `home`. An error about the section as a whole names the last change, or `home` if there is none.
    """

    def __init__(self, home: str, *levels: tuple[str, Mapping[str, Any]]) -> None:
        self.home, self.key_of_section = home, home
        self.values = {key: value for _, level in levels for key, value in level.items()}
        self.keys_in_file = {key: f"{level_key}.{key}" for level_key, level in levels for key in level}

    def change(self, key_in_file: str, key: str, value: Any) -> None:
        """Set a value by a change at `key_in_file`, which errors about the section as a whole then name."""
        self.values[key] = value
        self.keys_in_file[key] = self.key_of_section = key_in_file

    def where(self, keys: list[str]) -> str:
        """Find the key in the file of a value of the section, or of a part of one."""
        if not keys:
            return self.key_of_section
        return ".".join([self.keys_in_file.get(keys[0], f"{self.home}.{keys[0]}"), *keys[1:]])


def parse(model: type[T], data: object, where: str | Callable[[list[str]], str]) -> T:
    """Validate `data`; a ValueError of one line names the first offending key, such as models.se_rrm.width.

    `where` is the key of `data` in its file, or a function that makes the key in the file from the key below `data`.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first: Any = _misspelling(error) or error.errors()[0]
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


def _misspelling(error: ValidationError) -> dict[str, Any] | None:
    """Find an unknown key that resembles a missing one beside it, as an error with the right name; None without."""
    errors: list[dict[str, Any]] = [dict(fault) for fault in error.errors()]
    for unknown in (fault for fault in errors if fault["type"] == "extra_forbidden"):
        parents: tuple[Any, ...] = unknown["loc"][:-1]
        missing = [fault["loc"] for fault in errors if fault["type"] == "missing"]
        names = [str(loc[-1]) for loc in missing if loc[:-1] == parents]
        if close := get_close_matches(str(unknown["loc"][-1]), names, n=1):
            return unknown | {"type": "missing", "msg": f"unknown key; did you mean {close[0]}?"}
    return None
