"""A data directory appears whole or not at all; a hash and a manifest describe its files."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from serrm.arrays.build import build_grid_arrays
from serrm.core.files import Origin, new_directory, new_file, remove_directory
from serrm.sources.manifest import write_manifest
from tests.conftest import MakePath
from tests.references import read_manifest
from tests.training.running import files_limited


def write_tree(directory: Path, tree: dict[str, bytes]) -> Path:
    for name, content in tree.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)
    return directory


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


def test_manifest_says_what_there_is_and_where_it_comes_from(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.csv": b"1,2", "sub/b.json": b"{}"})
    write_manifest(tmp_path, "hub", 3, {"a.csv": Origin("https://x", "c0"), "sub/b.json": Origin("made")})
    manifest = read_manifest(tmp_path)
    assert (manifest.kind, manifest.seed) == ("hub", 3)
    records = [(record.name, record.num_bytes, record.origin, record.revision) for record in manifest.files]
    assert records == [("a.csv", 3, "https://x", "c0"), ("sub/b.json", 2, "made", None)]
    # sha256 of the two characters {}
    assert manifest.files[1].sha256 == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_threads_that_write_one_file_at_once_leave_it_whole(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def write(text: str) -> None:
        with new_file(tmp_path / "file") as partial:
            partial.write_text(text)
            together.wait()

    texts = [str(number) * 10**5 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, texts))
    assert (tmp_path / "file").read_text() in texts and len(list(tmp_path.iterdir())) == 1


def test_a_full_disk_leaves_no_arrays(make_arrays: MakePath, tmp_path: Path) -> None:
    puzzles = make_arrays(side=9).parent
    with pytest.raises(OSError, match=rf"File too large: '{tmp_path}/arrays/"), files_limited(700):
        build_grid_arrays(puzzles, tmp_path / "arrays", task="sudoku", seed=0)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
