"""Entries of the dicts of parts: the part itself, or its place."""

from pathlib import Path

import pytest

from serrm.core.entries import Entries


def test_an_entry_may_be_given_by_its_place() -> None:
    parts = Entries[type](
        {"path": Path, "given": "pathlib:Path", "typo": "pathlib:Pfad", "none": "no_such:Path"}
    )
    assert parts["given"] is parts["path"] is Path and list(parts) == ["path", "given", "typo", "none"]
    for name in ("typo", "none"):
        with pytest.raises(ValueError, match=f"^{name}: '{parts.data[name]}' is not the place of a part"):
            parts[name]
    with pytest.raises(KeyError):
        parts["another"]
    parts["given"] = int
    assert parts["given"] is int and parts.get("another") is None
