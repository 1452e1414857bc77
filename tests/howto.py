"""The Python examples of docs/extend.md as modules, by the file that the first line of each one names."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "extend.md"
EXAMPLE = re.compile(r"```python\n(# src/serrm/(\S+)\.py\n.*?)```", re.DOTALL)


def example(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example of a module, such as models/settled, run as if it stood where its first line says."""
    (source,) = [source for source, path in EXAMPLE.findall(PAGE.read_text()) if path == name]
    module = ModuleType("serrm." + name.replace("/", "."))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(source, f"{PAGE.name}: {name}", "exec"), vars(module))
    return module
