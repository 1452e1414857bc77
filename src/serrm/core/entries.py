"""Dicts of named parts that others extend: tasks, families, losses and so on."""

from collections import UserDict
from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Generic, TypeVar, cast

T = TypeVar("T")


class Entries(UserDict[str, T], Generic[T]):
    """Parts of one kind by name. An entry is the part itself, or its place as text, "package.module:NAME".

    A custom part therefore needs one line: `"plain": "serrm.models.plain:PlainSettings"`. Its module is imported when
    the entry is first read, so it may itself import the module of these entries.
    """

    def __init__(self, entries: Mapping[str, T | str]) -> None:
        super().__init__(cast("Mapping[str, T]", entries))

    def __getitem__(self, name: str) -> T:
        """Return the part of this name. KeyError if there is none; ValueError if its place does not exist."""
        entry = super().__getitem__(name)
        if not isinstance(entry, str):
            return entry
        try:
            return cast("T", resolve_name(entry))
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(
                f"{name}: {entry!r} is not the place of a part (module:NAME): {error}"
            ) from error
