"""Colours and markers of models in figures and in MLflow."""

from typing import Final

from serrm.models.families import FAMILIES
from serrm.reporting.paper import model_name

# Colours of Okabe and Ito, which all common kinds of colour vision tell apart, and markers for print in grey. STYLES
# are those of the families in order, repeated if there are more families; OTHER is that of all other variants.
COLOURS: Final = ("#009e73", "#0072b2", "#d55e00", "#e69f00", "#56b4e9", "#000000")
STYLES: Final = tuple(zip(COLOURS, "^sovPX", strict=True))
OTHER: Final = ("#cc79a7", "D")


def style(model: str) -> tuple[str, str]:
    """Choose colour and marker in figures and MLflow: a family's, by its key or its name in tables, else OTHER's."""
    families = [model_name(family) for family in FAMILIES]
    name = model_name(model)
    return STYLES[families.index(name) % len(STYLES)] if name in families else OTHER
