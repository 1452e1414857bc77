"""What a stage uses, read once at its beginning and compared at its end.

DVC records settings and data as they are when a stage has ended. So a stage that they changed under fails, or DVC would
credit its results to settings, data or code that did not make them. No result depends on this module.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from serrm.config import Params, read_yaml
from serrm.core.files import file_names, hash_file
from serrm.core.project import PARAMS, PIPELINE
from serrm.core.provenance import hash_module
from serrm.core.settings import parse
from serrm.planning.pipeline import find_loop, resolve, value_at

ROOT: Final = Path(__file__).parents[1]  # of the code; `serrm rehearse` runs the stages in another folder
CODE_LISTS = (".training", ".scoring")  # files of the stage `hash_code`
IGNORED = re.compile(r"(^|/)(\.|#|__pycache__/)|~$|\.pyc$")


class Inputs:
    """The settings of a stage, and hashes of the settings, data and code that dvc.yaml names for it."""

    def __init__(self, stage: str, key: str = "") -> None:
        self.stage, self.key = stage, key
        values = read_yaml(Path(PARAMS))
        self.params = parse(Params, values, PARAMS)
        self.settings_keys, self.paths = _names_in_pipeline(stage, key, values)
        self.hashes = self._hashes(values)
        if edited := [path for path in self.paths for path in _edited_code(Path(path))]:
            raise ValueError(f"{edited[0]}: edited since `hash_code` ran, which `dvc repro` does anew")

    def check(self) -> None:
        """Raise ValueError if settings, data or code of the stage are no longer those with which it began."""
        hashes = self._hashes(read_yaml(Path(PARAMS)))
        edited = [name for name, content in self.hashes.items() if hashes[name] != content]
        edited += [name for path in self.paths for name in _edited_code(Path(path))]
        if edited:
            names = ", ".join(edited[:3]) + (", …" if len(edited) > 3 else "")
            stage = f"{self.stage} {self.key}".strip()
            message = f"{names}: edited while {stage} ran, so its result is not put in place"
            if self.stage == "train":
                message += " (kept: undo the edit and repeat, to have it without training)"
            raise ValueError(message)

    def _hashes(self, values: Any) -> dict[str, Any]:
        settings = {f"{PARAMS}: {name}": value_at(values, name) for name in self.settings_keys}
        return settings | {path: _content(_located(path)) for path in self.paths}


@contextmanager
def unedited(stage: str, key: str = "") -> Iterator[Inputs]:
    """Yield the inputs of a stage; ValueError at the end of the block if they were edited meanwhile."""
    inputs = Inputs(stage, key)
    yield inputs
    inputs.check()


def _names_in_pipeline(stage: str, key: str, values: Any) -> tuple[list[str], list[str]]:
    """Find the keys of params.yaml and the paths that dvc.yaml names for a stage."""
    settings = read_yaml(ROOT / PIPELINE)["stages"].get(stage, {})
    _, entries = find_loop(settings, values)
    references = {**values, "key": key, "item": entries.get(key)}
    body = settings.get("do", settings)
    return resolve(body.get("params", ()), references), resolve(body.get("deps", ()), references)


def _located(path: str) -> Path:
    return ROOT / path if path.startswith(("src/", "stages/")) else Path(path)


def _content(path: Path) -> dict[str, str]:
    """Hash a file, or all files of a folder by name; empty if there is nothing."""
    if path.is_file():
        return {"": hash_file(path)}
    return {name: hash_file(path / name) for name in file_names(path) if not IGNORED.search(name)}


def _edited_code(path: Path) -> Iterator[str]:
    """Yield the modules that no longer have the hash of a list of `hash_code`, on which trainings depend."""
    if path.suffix not in CODE_LISTS or not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        digest, _, name = line.partition(" ")
        if len(digest) == 64:  # other lines name the parts of a run
            file = ROOT / "src" / name if name.startswith("serrm/") else ROOT / name
            if not file.is_file() or hash_module(file) != digest:
                yield file.relative_to(ROOT).as_posix()
