"""Settings that differ: one flat form, one comparison and one text of a value, for tables, commands and MLflow."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Change(NamedTuple):
    """A setting with different values on two sides; a missing one is None."""

    key: str
    first: Any
    second: Any

    def __str__(self) -> str:
        """Such as "recipes.sudoku.trm.steps 656 → 700"."""
        return f"{self.key} {value_text(self.first)} → {value_text(self.second)}"


def changes(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Change]:
    """List the settings that differ, in the order of the first mapping and then of the second, by `flat` keys."""
    keys = (key for key in {**first, **second} if first.get(key) != second.get(key))
    return [Change(key, first.get(key), second.get(key)) for key in keys]


def flat(values: Any, key: str = "") -> dict[str, Any]:
    """Flatten nested settings to values by dotted key, each below `key`; empty mappings are left out."""
    if not isinstance(values, Mapping):
        return {key: values}
    return {
        name: leaf
        for inner_key, inner in values.items()
        for name, leaf in flat(inner, f"{key}.{inner_key}" if key else str(inner_key)).items()
    }


def value_text(value: object) -> str:
    """Format a setting's value, numbers with ten digits and thousands separators."""
    match value:
        case None:
            return "none"
        case bool():
            return "on" if value else "off"
        case int() | float():
            return f"{value:,.10g}"
        case list() | tuple():
            return " and ".join(map(value_text, value))
    return str(value)
