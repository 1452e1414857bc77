"""A data directory appears whole or not at all; a hash and a manifest describe its files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.core.files import (
    Origin,
    new_directory,
    remove_directory,
    write_manifest,
)
from tests.hashing import data_hash
from tests.references import read_manifest

NAMES = st.sampled_from(["a.csv", "b.csv", "sub/a.csv", "sub/c d.json", "x/y/z"])
TREES = st.dictionaries(NAMES, st.binary(max_size=20), max_size=5)


def write_tree(directory: Path, tree: dict[str, bytes]) -> Path:
    for name, content in tree.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)
    return directory


@settings(max_examples=50)
@given(first=TREES, second=TREES)
def test_data_hash_is_equal_exactly_for_equal_trees(
    tmp_path_factory: pytest.TempPathFactory, first: dict[str, bytes], second: dict[str, bytes]
) -> None:
    one = write_tree(tmp_path_factory.mktemp("one"), first)
    # The order in which files are made must not matter.
    other = write_tree(tmp_path_factory.mktemp("other"), dict(reversed(second.items())))
    assert (data_hash(one) == data_hash(other)) == (first == second)


def test_new_directory_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    target = write_tree(tmp_path / "raw", {"old.csv": b"old"})
    with new_directory(target) as directory:
        write_tree(directory, {"new.csv": b"new"})
        assert (target / "old.csv").exists()
    assert [path.name for path in target.iterdir()] == ["new.csv"]
    assert list(tmp_path.iterdir()) == [target]


@contextmanager
def killed_in_a_removal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kill the process in the first removal of a folder, after one of its files is gone."""

    def killed(path: Path, ignore_errors: bool = False) -> None:
        if not ignore_errors:
            (path / "a.csv").unlink()
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("serrm.core.files.shutil.rmtree", killed)
        yield


def test_a_killed_new_directory_leaves_no_half_of_the_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = write_tree(tmp_path / "raw", {"a.csv": b"1", "b.csv": b"2"})
    with killed_in_a_removal(monkeypatch), new_directory(target):
        pass
    assert not target.exists()
    with new_directory(target) as directory:
        write_tree(directory, {"new.csv": b"new"})
    assert [path.name for path in tmp_path.rglob("*")] == ["raw", "new.csv"]


@pytest.mark.parametrize("is_there", [False, True])
def test_new_directory_leaves_nothing_behind_after_a_failure(tmp_path: Path, is_there: bool) -> None:
    target = tmp_path / "raw"
    if is_there:
        write_tree(target, {"old.csv": b"old"})
    with pytest.raises(ValueError, match="broken"), new_directory(target) as directory:
        write_tree(directory, {"new.csv": b"new"})
        raise ValueError("broken")
    assert [path.name for path in tmp_path.rglob("*")] == (["raw", "old.csv"] if is_there else [])


def test_remove_directory_clears_the_rest_of_a_killed_removal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = write_tree(tmp_path / "scratch", {"a.csv": b"1", "b.csv": b"2"})
    with killed_in_a_removal(monkeypatch):
        remove_directory(target)
    assert not target.exists()
    remove_directory(write_tree(target, {"a.csv": b"1"}))
    assert list(tmp_path.iterdir()) == []


def make_raw(directory: Path) -> Path:
    write_tree(directory, {"a.csv": b"1,2", "sub/b.json": b"{}"})
    write_manifest(directory, "hub", 3, {"a.csv": Origin("https://x", "c0"), "sub/b.json": Origin("made")})
    return directory


def test_manifest_says_what_there_is_and_where_it_comes_from(tmp_path: Path) -> None:
    manifest = read_manifest(make_raw(tmp_path))
    assert (manifest.kind, manifest.seed) == ("hub", 3)
    records = [(record.name, record.num_bytes, record.origin, record.revision) for record in manifest.files]
    assert records == [("a.csv", 3, "https://x", "c0"), ("sub/b.json", 2, "made", None)]
    # sha256 of the two characters {}
    assert manifest.files[1].sha256 == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
