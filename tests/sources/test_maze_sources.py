"""The three sources of mazes: the publisher's files and format, everything else decided by settings and seed."""

from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from serrm.manifest import Origin, data_hash, file_names
from serrm.puzzles.maze.generate import canonical
from serrm.puzzles.maze.parse import MazePuzzle, read_csv
from serrm.puzzles.maze.paths import is_shortest_path, num_steps
from serrm.sources import published
from serrm.sources.maze_settings import MazeGenerated, MazeHub, MazeSource
from serrm.sources.mazes import write_mazes
from serrm.sources.publishers import HuggingFaceFiles

GENERATED = MazeGenerated(kind="generated", num_train=9, num_test=5, side=8, min_path=10)
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def write(source: MazeSource, directory: Path, seed: int = 0) -> dict[str, Origin]:
    directory.mkdir()
    return write_mazes(source, directory, seed, directory / ".scratch")


def read(directory: Path, name: str) -> list[MazePuzzle]:
    return list(read_csv(directory / "maze-generated" / name))


def test_generated_mazes_are_as_many_and_as_long_as_asked_for(tmp_path: Path) -> None:
    origins = write(GENERATED, tmp_path / "raw")
    assert origins == dict.fromkeys(file_names(tmp_path / "raw"), Origin("generated"))
    assert set(origins) == {"maze-generated/train.csv", "maze-generated/test.csv"}
    train, test = (read(tmp_path / "raw", name) for name in ("train.csv", "test.csv"))
    assert (len(train), len(test)) == (9, 5)
    for maze in train + test:
        assert (maze.side, maze.source, maze.rating) == (8, "generated", num_steps(maze.answer))
        assert is_shortest_path(maze.question, maze.answer)
        assert num_steps(maze.answer) + 1 >= 10
    assert len({canonical(maze.question, 8) for maze in train + test}) == 14


def test_the_seed_decides_generated_mazes(tmp_path: Path) -> None:
    for name, seed in {"one": 3, "same": 3, "other": 4}.items():
        write(GENERATED, tmp_path / name, seed)
    hashes = [data_hash(tmp_path / name) for name in ("one", "same", "other")]
    assert hashes[0] == hashes[1] != hashes[2]
    fewer = GENERATED.model_copy(update={"num_train": 4})
    write(fewer, tmp_path / "fewer", 3)
    pairs = zip(read(tmp_path / "fewer", "train.csv"), read(tmp_path / "one", "train.csv"), strict=False)
    assert all(np.array_equal(first.question, second.question) for first, second in pairs)


def test_the_hub_asks_for_the_pinned_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, str | None] = {}

    def download(url: str, *, sha256: str | None, scratch: Path) -> Path:
        asked[url] = sha256
        scratch.mkdir(exist_ok=True)
        (scratch / str(len(asked))).write_text(url)
        return scratch / str(len(asked))

    monkeypatch.setattr(published, "download", download)
    files = HuggingFaceFiles(
        repository="owner/mazes", revision=COMMIT, sha256={"train.csv": "0" * 64, "test.csv": None}
    )
    source = MazeHub(kind="hub", mazes=files, hugging_face="http://127.0.0.1:9")
    origins = write(source, tmp_path / "raw")
    base = f"http://127.0.0.1:9/datasets/owner/mazes/resolve/{COMMIT}"
    assert asked == {f"{base}/train.csv": "0" * 64, f"{base}/test.csv": None}
    assert origins == {
        f"maze-30x30-hard-1k/{name}": Origin(f"{base}/{name}", COMMIT) for name in ("train.csv", "test.csv")
    }
    assert (tmp_path / "raw/maze-30x30-hard-1k/test.csv").read_text() == f"{base}/test.csv"
    assert list((tmp_path / "raw/.scratch").iterdir()) == []


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"side": 1}, "side"),
        ({"side": 256}, "side"),
        ({"min_path": 65}, "min_path: a 8x8 maze has no path of 65 cells"),
        ({"min_path": 1}, "min_path"),
        ({"num_train": 0}, "num_train"),
        ({"walls": 0.4}, "walls"),
        ({"kind": "made"}, "kind"),
    ],
)
def test_impossible_settings_are_refused_by_key(change: dict[str, object], key: str) -> None:
    with pytest.raises(ValidationError, match=key):
        TypeAdapter(MazeSource).validate_python(GENERATED.model_dump(mode="json") | change)
