"""The schedules of the learning rate by name. A custom schedule is a module and an entry here."""

from collections.abc import Callable
from typing import Final

from serrm.training.decay import constant, cosine

SCHEDULES: Final[dict[str, Callable[[float, float], float]]] = {
    "constant": constant,
    "cosine": cosine,
}
