"""`serrm pack` and `serrm unpack`: a cell's training to another machine, and back."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from serrm.project import open_project

if TYPE_CHECKING:
    from serrm.training.settings import TrainCell

UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
SIZE = re.compile(rf"(\d+)\s*({'|'.join(UNITS)})")


def size(text: str) -> int:
    """Bytes of a size such as 16MiB."""
    found = SIZE.fullmatch(text)
    if found is None or int(found[1]) == 0:
        raise typer.BadParameter(f"{text!r} is no size; write bytes, or such as 16MiB or 40MB")
    return int(found[1]) * UNITS[found[2]]


CELL = typer.Argument(..., metavar="CELL", help="Such as sudoku-se_rrm-s0.")
TARGET = typer.Argument(..., metavar="DIR", help="The new folder.")
PROFILE = typer.Option(None, help="Whose cell. Default: that of params.yaml.")
MAX_FILE = typer.Option(
    None, parser=size, metavar="SIZE", help="Split larger files into parts, such as 16MiB. Default: none."
)
MAX_TOTAL = typer.Option(
    None, parser=size, metavar="SIZE", help="Refuse to make the folder larger. Default: any size."
)
PACKED = typer.Argument(..., metavar="DIR", exists=True, file_okay=False, help="The folder that came back.")


def pack(
    name: str = CELL,
    target: Path = TARGET,
    profile: str | None = PROFILE,
    max_file: int | None = MAX_FILE,
    max_total: int | None = MAX_TOTAL,
) -> None:
    """Pack what is needed to go on with a cell's training elsewhere: `python -m serrm.training DIR` does it there."""
    from serrm.training.packing import pack as pack_cell

    root, params, profile = open_project(profile)
    if target.exists():
        raise ValueError(f"{target}: is there already")
    cell = _cell(params, profile, name)
    done = pack_cell(root, profile, cell, target, max_file=max_file, max_total=max_total, has_snapshots=False)
    typer.echo(f"{target}: {profile} {name}, {done.what}; {done.num_bytes:,} bytes in {done.num_files} files")


def unpack(packed: Path = PACKED) -> None:
    """Take a packed training back: `dvc repro` goes on from it, or puts it in place if it is finished."""
    from serrm.training.unpacking import bring_home, read_packing

    root, params, _ = open_project()
    packing, _ = read_packing(packed)
    what = bring_home(packed, root, _cell(params, packing.profile, packing.name))
    typer.echo(f"{packing.profile} {packing.name}: {what}; `dvc repro` goes on from here")


def _cell(params: Mapping[str, Any], profile: str, name: str) -> "TrainCell":
    """What the cell of a name resolves to. ValueError if params.yaml has no such profile, or that no such cell."""
    from serrm.config import grid_of
    from serrm.resolve import train_cell

    if profile not in params["profiles"]:
        raise ValueError(
            f"{profile!r} is no profile of params.yaml; there are {', '.join(params['profiles'])}"
        )
    cells = {
        f"{task}-{model}-s{seed}": (task, model, seed)
        for task, model, seed in grid_of(params, profile).cells()
    }
    if name not in cells:
        raise ValueError(f"{name!r} is no cell of the profile {profile}; there are {', '.join(cells)}")
    return train_cell(params, profile, *cells[name])
