"""Recurrent reasoning models on puzzles: `serrm.load()` returns a trained model that solves them (docs/api.md).

Commands and stages import from the packages. torch is imported at the first use of `load`, pandas at that of `results`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from serrm.comparing.frame import results
    from serrm.solving.model import Model, load

__all__ = ["Model", "load", "results"]


def __getattr__(name: str) -> Any:
    if name == "results":
        from serrm.comparing.frame import results

        return results
    if name not in __all__:
        raise AttributeError(f"module 'serrm' has no attribute {name!r}")
    from serrm.solving.model import Model, load

    return {"Model": Model, "load": load}[name]
