"""The modules that a module imports, directly or not, also inside functions; found in the source, which is not run."""

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("serrm", "stages")  # those of the project


def import_closure(starts: Iterable[str], exclude: Callable[[str], bool]) -> set[str]:
    """Find the modules `starts` and all modules of the project that they import, directly or not.

    A module for which `exclude` is true is neither counted nor followed, unless it is a start. Imports under
    TYPE_CHECKING do not count.
    """
    modules, new = set[str](), {*starts}
    while new:
        modules |= new
        imported = {name for module in new for name in imports(module)}
        new = {name for name in imported - modules if not exclude(name)}
    return modules


@cache
def sources(module: str) -> dict[str, Path]:
    """Find the file of a module, and the C++ beside it, which it may compile, by their paths from the package on.

    Hidden files, which editors and desktops leave, are none of these.
    """
    file, root = _file(module), _folder(module.partition(".")[0]).parent
    assert file is not None, f"{module} has no source"
    beside = (path for path in file.parent.iterdir() if path.suffix in (".h", ".cpp"))
    files = [file, *(path for path in beside if not path.name.startswith("."))]
    return {path.relative_to(root).as_posix(): path for path in files}


@cache
def imports(module: str) -> frozenset[str]:
    """List the modules of the project that a module imports, with the packages around them that have code.

    The top packages `serrm` and `stages` are left out: no module needs the code in their `__init__.py`.
    """
    file = _file(module)
    assert file is not None, f"{module} has no source"
    package = module if file.stem == "__init__" else module.rpartition(".")[0]
    names = {
        ".".join(parts[:num])
        for name in _imported_names(_tree(file), package)
        for parts in [name.split(".")]
        for num in range(2, len(parts) + 1)
    }
    return frozenset(name for name in names if _has_code(name))


def _imported_names(node: ast.AST, package: str) -> Iterator[str]:
    """Yield the full names in import statements of a piece of source; they may be modules, or functions in them."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        base = ".".join([*parents, *([node.module] if node.module else [])])
        yield from (f"{base}.{alias.name}" for alias in node.names)
    is_for_types = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
    for child in node.orelse if is_for_types else ast.iter_child_nodes(node):  # type: ignore[attr-defined]
        yield from _imported_names(child, package)


@cache
def _has_code(module: str) -> bool:
    """True if there is a source file with more than a docstring."""
    file = _file(module)
    return file is not None and any(not isinstance(node, ast.Expr) for node in _tree(file).body)


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def _file(module: str) -> Path | None:
    """Find the source file of a module of the project; None if there is none."""
    package, *parts = module.split(".")
    if package not in PACKAGES:
        return None
    path = _folder(package).joinpath(*parts)
    files = (path / "__init__.py", path.with_suffix(".py"))
    return next((file for file in files if file.is_file()), None)


@cache
def _folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None and spec.origin is not None, package
    return Path(spec.origin).parent
