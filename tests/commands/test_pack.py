"""`serrm pack` and `serrm unpack`: what they say, and what they refuse in one line."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from serrm.cli import main
from serrm.commands.pack import size
from serrm.config import read_params
from serrm.resolve import train_cell
from serrm.training.away import train_packed
from serrm.training.interrupt import Interrupted
from serrm.training.packing import places

ROOT = Path(__file__).parents[2]
NAME = "sudoku-se_rrm-s0"


@pytest.fixture
def project(make_arrays: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the repository's params.yaml and the arrays of one cell."""
    root = tmp_path / "project"
    arrays = shutil.copytree(make_arrays(side=9), root / "data/arrays/ci/sudoku")
    assert arrays.is_dir()
    shutil.copy(ROOT / "params.yaml", root / "params.yaml")
    monkeypatch.chdir(root)
    return root


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    code = main(arguments)
    output = capsys.readouterr()
    return code, output.out, output.err


def test_packed_trained_and_unpacked(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--profile", "ci", "--max-file", "16MiB", "--max-total", "40MB")
    code, out, _ = said(capsys, "pack", NAME, "dir", *options)
    assert code == 0 and out.startswith(f"dir: ci {NAME}, from the first step; ")
    with pytest.raises(Interrupted):
        train_packed(project / "dir", 1e-3, "cpu")
    code, out, _ = said(capsys, "unpack", "dir")
    assert (code, out) == (0, f"ci {NAME}: step 1; `dvc repro` goes on from here\n")
    cell = train_cell(read_params(Path("params.yaml")), "ci", "sudoku", "se_rrm", 0)
    here = places(Path(), "ci", cell)
    assert (here.scratch / "step_000000001").is_dir()
    code, out, _ = said(capsys, "pack", NAME, "again", "--profile", "ci")
    assert code == 0 and ", step 1; " in out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("nonsense", "dir", "--profile", "ci"),
            1,
            "'nonsense' is no cell of the profile ci; there are sudoku-",
        ),
        ((NAME, "dir", "--profile", "nowhere"), 2, "'nowhere'"),
        ((NAME, "dir", "--profile", "ci", "--max-file", "much"), 2, "'much' is no size"),
        ((NAME, "dir", "--profile", "ci", "--max-total", "0MiB"), 2, "'0MiB' is no size"),
        ((NAME, "dir", "--profile", "ci", "--max-total", "9KB"), 1, "--max-total is 9,000"),
        ((NAME, "data", "--profile", "ci"), 1, "data: is there already"),
        (("maze-se_rrm-s0", "dir", "--profile", "ci"), 1, "no arrays here (metadata.json is missing)"),
    ],
)
def test_what_is_wrong_is_refused_in_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, message: str
) -> None:
    found, out, err = said(capsys, "pack", *arguments)
    assert (found, out) == (code, "") and err.startswith("error: ") and err.count("\n") == 1
    assert message in err
    assert {path.name for path in project.iterdir()} == {"data", "params.yaml"}


def test_what_is_no_packed_folder_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "unpack", "data")[::2] == (
        1,
        "error: data: nothing packed here (packing.json is missing)\n",
    )


def test_sizes() -> None:
    assert [size(text) for text in ("16MiB", "40MB", "7", "2 KiB")] == [2**24, 40_000_000, 7, 2048]
