"""Recurrent reasoning models on puzzles: `serrm.load()` gives one that solves (docs/api.md).

The commands and stages import what they need from the packages; torch is imported at the first `load`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from serrm.solving.model import Model, load

__all__ = ["Model", "load"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'serrm' has no attribute {name!r}")
    from serrm.solving.model import Model, load

    return {"Model": Model, "load": load}[name]
