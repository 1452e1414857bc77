"""A training packed, taken further elsewhere and brought home: whole or not at all, and the same training."""

import logging
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from serrm.manifest import file_names
from serrm.training import __main__ as command_line
from serrm.training import checkpoint as ckpt
from serrm.training.away import train_packed
from serrm.training.interrupt import EXIT_RESUMABLE, Interrupted
from serrm.training.packing import PACKING, Packed, pack, places
from serrm.training.run import train
from serrm.training.settings import Execution, TrainCell
from serrm.training.unpacking import bring_home, unpack
from tests.training.running import MakeCell, assert_same

MakeArrays = Callable[..., Path]
PROFILE = "ci"
SHORT = 1e-3  # seconds: one step


@pytest.fixture
def home(make_arrays: MakeArrays, tmp_path: Path) -> Path:
    """A project with arrays."""
    shutil.copytree(make_arrays(side=4), tmp_path / "home/data/arrays/ci/sudoku")
    return tmp_path / "home"


@pytest.fixture
def cell(make_cell: MakeCell) -> TrainCell:
    """Six steps, with a record and a snapshot at 2, 4 and 6."""
    return make_cell(train={"snapshots": 3}, model={"attention_dropout": 0.2})


def at_home(
    root: Path, cell: TrainCell, seconds: float | None = None, on_record: Any = lambda record: None
) -> Path:
    """Train in a project, as the stage does; the checkpoint."""
    here = places(root, PROFILE, cell)
    execution = Execution(device="cpu", max_seconds=seconds)
    train(cell, here.arrays, here.run, here.scratch.parent, execution, on_record)
    return here.run


def begun(root: Path, cell: TrainCell, num_steps: int = 1) -> None:
    """Train some steps in a project."""
    for _ in range(num_steps):
        with pytest.raises(Interrupted):
            at_home(root, cell, SHORT)


def packed(
    root: Path, cell: TrainCell, target: Path, max_file: int | None = None, max_total: int | None = None
) -> Packed:
    """Pack from a project."""
    return pack(root, PROFILE, cell, target, max_file=max_file, max_total=max_total, has_snapshots=False)


def total(folder: Path) -> int:
    return sum((folder / name).stat().st_size for name in file_names(folder))


def state_of(checkpoint: Path) -> dict[str, Any]:
    """The training state without the clock, which differs."""
    state: dict[str, Any] = torch.load(checkpoint / ckpt.STATE, weights_only=True)
    state["progress"].pop("seconds")
    return state


@pytest.mark.parametrize("max_file", [None, 30_000])
def test_away_and_back_is_bit_identical_with_the_states_carried(
    cell: TrainCell, home: Path, tmp_path: Path, max_file: int | None
) -> None:
    straight = at_home(shutil.copytree(home, tmp_path / "other"), cell)
    begun(home, cell, 3)
    done = packed(home, cell, tmp_path / "dir", max_file)
    assert done.what == "step 3" and done.num_bytes == total(tmp_path / "dir")
    assert done.num_files == len(file_names(tmp_path / "dir"))
    assert not [
        name for name in file_names(tmp_path / "dir") if "snapshots" in name or "augmentations" in name
    ]
    with pytest.raises(Interrupted, match=r"stopped at step 4 of 6; .* holds step 4, [\d,]+ bytes"):
        train_packed(tmp_path / "dir", SHORT, "cpu")
    assert train_packed(tmp_path / "dir", None, "cpu").what == "finished at step 6"
    sizes = [(tmp_path / "dir" / name).stat().st_size for name in file_names(tmp_path / "dir")]
    assert max(sizes) <= (max_file or max(sizes))
    assert {path.name for path in tmp_path.iterdir()} == {"home", "other", "dir"}, "no working folder is left"

    assert bring_home(tmp_path / "dir", home, cell) == "finished at step 6"
    records: list[Any] = []
    # A budget in which no step could be taken: nothing is trained.
    result = at_home(home, cell, 1e-9, records.append)
    assert_same(state_of(result), state_of(straight))
    names = [name for name in file_names(straight) if name.endswith(".safetensors")]
    assert names == [name for name in file_names(result) if name.endswith(".safetensors")] and len(names) == 4
    for name in names:
        assert_same(load_file(result / name), load_file(straight / name))
    assert [record["step"] for record in records] == [2, 4, 6]
    assert ckpt.damage(result) is None
    assert not places(home, PROFILE, cell).scratch.exists()


def test_unfinished_it_goes_on_at_home(cell: TrainCell, home: Path, tmp_path: Path) -> None:
    straight = at_home(shutil.copytree(home, tmp_path / "other"), cell)
    packed(home, cell, tmp_path / "dir")
    for _ in range(3):
        with pytest.raises(Interrupted):
            train_packed(tmp_path / "dir", SHORT, "cpu")
    assert bring_home(tmp_path / "dir", home, cell) == "step 3"
    assert_same(state_of(at_home(home, cell)), state_of(straight))


def test_without_room_states_stay_behind_and_it_says_so(
    cell: TrainCell, home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begun(home, cell, 3)
    whole = packed(home, cell, tmp_path / "whole")
    limit = whole.num_bytes - 1
    done = packed(home, cell, tmp_path / "dir", 30_000, limit)
    assert done.what == "step 3, recurrent states left behind" and done.num_bytes <= limit
    with caplog.at_level(logging.WARNING), pytest.raises(Interrupted):
        train_packed(tmp_path / "dir", SHORT, "cpu")
    assert "not bit for bit" in caplog.text
    assert total(tmp_path / "dir") <= limit
    bring_home(tmp_path / "dir", home, cell)
    config = ckpt.read_config(at_home(home, cell))
    assert config["training"]["steps"] == 6


def test_too_small_a_limit_is_refused_and_nothing_is_written(
    cell: TrainCell, home: Path, tmp_path: Path
) -> None:
    # Not begun: what the checkpoint will need is counted in.
    with pytest.raises(
        ValueError, match=r"^sudoku-tiny-s0: [\d,]+ bytes at the least, --max-total is 30,000$"
    ):
        packed(home, cell, tmp_path / "dir", max_total=30_000)
    begun(home, cell)
    with pytest.raises(ValueError, match=r"bytes at the least, --max-total is 1,000$"):
        packed(home, cell, tmp_path / "dir", max_total=1000)
    with pytest.raises(
        ValueError, match=r"^--max-file 5,000: too small, the list of parts would be larger itself$"
    ):
        packed(home, cell, tmp_path / "dir", max_file=5000)
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_a_fine_tuning_carries_the_weights_it_begins_with(
    make_cell: MakeCell, home: Path, tmp_path: Path
) -> None:
    first = make_cell(train={"steps": 1})
    at_home(home, first)
    origin = places(Path(), PROFILE, first).run
    tuned = make_cell(variant="tuned", train={"init_from": str(origin)})
    packed(home, tuned, tmp_path / "dir")
    shutil.move(home, tmp_path / "gone")
    with pytest.raises(Interrupted):
        train_packed(tmp_path / "dir", SHORT, "cpu")
    train_packed(tmp_path / "dir", None, "cpu")
    outside = make_cell(variant="tuned", train={"init_from": str(tmp_path / "gone" / origin)})
    with pytest.raises(ValueError, match=r"^train\.init_from: .* cannot be carried along$"):
        packed(tmp_path / "gone", outside, tmp_path / "new")


@pytest.fixture
def folder(cell: TrainCell, home: Path, tmp_path: Path) -> Path:
    """A packed folder with parts, of a training of one step."""
    begun(home, cell)
    packed(home, cell, tmp_path / "dir", max_file=30_000)
    return tmp_path / "dir"


def command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: object
) -> tuple[int, str]:
    """Exit code and standard error of `python -m serrm.training`."""
    monkeypatch.setattr(sys, "argv", ["serrm.training", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        command_line.main()
    assert isinstance(stop.value.code, int)
    return stop.value.code, capsys.readouterr().err


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda d: flip(next(d.rglob("*.part00001"))),
            r"is not as it was packed: \S+\.part00001 is not what",
        ),
        (
            lambda d: next(d.rglob("*.part00001")).unlink(),
            r"is not as it was packed: .*No such file.*part00001",
        ),
        (lambda d: (d / ckpt.SUMS).unlink(), r"is not as it was packed: .*No such file.*SHA256SUMS"),
        (lambda d: (d / PACKING).unlink(), r"nothing packed here \(packing\.json is missing\)"),
    ],
    ids=["a flipped bit", "a part is missing", "no sums", "no packing.json"],
)
def test_what_is_not_whole_is_refused_in_one_line(
    folder: Path,
    home: Path,
    cell: TrainCell,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[Path], None],
    message: str,
) -> None:
    spoil(folder)
    before = file_names(home)
    code, said = command(capsys, monkeypatch, folder, "--device", "cpu")
    assert code == 1 and said.startswith("error: ") and said.count("\n") == 1
    with pytest.raises(ValueError, match=message):
        bring_home(folder, home, cell)
    assert file_names(home) == before


def test_the_command_stops_with_75_and_ends_with_0(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, said = command(capsys, monkeypatch, folder, "--device", "cpu", "--seconds", "0.001")
    assert code == EXIT_RESUMABLE and said.splitlines()[-1].startswith("stopped at step 2 of 6; ")
    assert command(capsys, monkeypatch, folder, "--device", "cpu")[0] == 0
    assert command(capsys, monkeypatch, folder)[0] == 0, "finished, it stays so"
    code, said = command(capsys, monkeypatch, folder.parent / "none")
    assert code == 2 and "Traceback" not in said


def test_another_cell_or_other_data_are_refused_by_name(
    folder: Path, home: Path, make_cell: MakeCell, cell: TrainCell, make_arrays: MakeArrays
) -> None:
    other = make_cell(train={"snapshots": 3, "learning_rate": 0.5}, model={"attention_dropout": 0.2})
    with pytest.raises(
        ValueError, match=r"packed with another cell\.train\.learning_rate: 0\.003, now 0\.5$"
    ):
        bring_home(folder, home, other)
    arrays = places(home, PROFILE, cell).arrays
    shutil.rmtree(arrays)
    shutil.copytree(make_arrays(side=4, seed=1), arrays)
    with pytest.raises(ValueError, match=r"packed with other data: '\w{64}', here '\w{64}'$"):
        bring_home(folder, home, cell)


def test_a_home_that_came_further_stays(folder: Path, home: Path, cell: TrainCell) -> None:
    begun(home, cell)
    with pytest.raises(ValueError, match=r"at step 1, .* has come to step 2$"):
        bring_home(folder, home, cell)
    begun(home, cell)


def test_nothing_to_bring_home_is_said(cell: TrainCell, home: Path, tmp_path: Path) -> None:
    packed(home, cell, tmp_path / "dir")
    with pytest.raises(ValueError, match="not trained on yet"):
        bring_home(tmp_path / "dir", home, cell)
    assert not places(home, PROFILE, cell).scratch.exists()


def test_a_killed_run_goes_on_from_its_working_folder(folder: Path, cell: TrainCell) -> None:
    """What a process that was killed had saved beside the folder is newer than the folder, and is gone on from."""
    work = folder.with_name(".dir.work")
    unpack(folder, work)
    begun(work, cell)
    with pytest.raises(Interrupted, match="stopped at step 3 of 6"):
        train_packed(folder, SHORT, "cpu")
    assert not work.exists()
