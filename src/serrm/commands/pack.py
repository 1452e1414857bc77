"""`serrm pack` and `serrm unpack`: a cell's training to another machine, and back."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from serrm.training.settings import TrainCell

UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
SIZE = re.compile(rf"(\d+)\s*({'|'.join(UNITS)})")


def size(text: str | None) -> int | None:
    """Bytes of a size such as 16MiB."""
    if text is None:
        return None
    found = SIZE.fullmatch(text)
    if found is None or int(found[1]) == 0:
        raise typer.BadParameter(f"{text!r} is no size; write bytes, or such as 16MiB or 40MB")
    return int(found[1]) * UNITS[found[2]]


CELL = typer.Argument(..., metavar="CELL", help="Such as sudoku-se_rrm-s0.")
TARGET = typer.Argument(..., metavar="DIR", help="The new folder.")
PROFILE = typer.Option(None, help="Whose cell. Default: that of params.yaml.")
MAX_FILE = typer.Option(
    None, metavar="SIZE", help="Larger files are split into parts, such as 16MiB. Default: none."
)
MAX_TOTAL = typer.Option(None, metavar="SIZE", help="Refuse to make the folder larger. Default: any size.")
PACKED = typer.Argument(..., metavar="DIR", exists=True, file_okay=False, help="The folder that came back.")


def pack(
    name: str = CELL,
    target: Path = TARGET,
    profile: str | None = PROFILE,
    max_file: str | None = MAX_FILE,
    max_total: str | None = MAX_TOTAL,
) -> None:
    """Pack what is needed to go on with a cell's training elsewhere: `python -m serrm.training DIR` does it there."""
    from serrm.project import check_profile, find_root, project_params
    from serrm.training.packing import pack as pack_cell

    root = find_root(Path.cwd())
    params = project_params(root)
    chosen = profile or str(params["profile"])
    check_profile(chosen, root)
    limits = size(max_file), size(max_total)
    if target.exists():
        raise ValueError(f"{target}: is there already")
    cell = _cell(params, chosen, name)
    done = pack_cell(root, chosen, cell, target, max_file=limits[0], max_total=limits[1], has_snapshots=False)
    typer.echo(f"{target}: {chosen} {name}, {done.what}; {done.num_bytes:,} bytes in {done.num_files} files")


def unpack(packed: Path = PACKED) -> None:
    """Take a packed training back: `dvc repro` goes on from it, or puts it in place if it is finished."""
    from serrm.project import find_root, project_params
    from serrm.training.unpacking import bring_home, read_packing

    root = find_root(Path.cwd())
    packing, _ = read_packing(packed)
    what = bring_home(packed, root, _cell(project_params(root), packing.profile, packing.name))
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
