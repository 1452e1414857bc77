"""Files that a user hands over, damaged at random: one line says what is wrong, and nothing is left half-written."""

import json
import random
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from serrm.cli import main

ROOT = Path(__file__).parents[1]
PACKAGED = ROOT / "src" / "serrm" / "checkpoints" / "sudoku"
NUM_OF_A_KIND = 50

PUZZLE = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
ANSWER = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"
EVALUATE = ["evaluate", "--steps", "1", "--device", "cpu"]

Command = Callable[[Path, Path], list[str]]  # (damaged file, folder for results) -> the command's arguments


def damaged(content: bytes, rng: random.Random) -> bytes:
    """The content with bytes changed, cut off, taken out, put in or repeated."""
    at = rng.randrange(len(content))
    size = rng.randint(1, max(1, len(content) // 4))
    noise = rng.randbytes(min(size, 64))
    ways = (
        content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :],
        content[:at],
        content[:at] + content[at + size :],
        content[:at] + noise + content[at:],
        content[:at] + content[at : at + size] * 2 + content[at + size :],
    )
    return rng.choice(ways)


def given(name: str, content: object) -> Callable[[Path], Path]:
    """Writes a text, or a value as JSON, to a file of that name."""

    def write(folder: Path) -> Path:
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
        return folder / name

    return write


ROWS = [f"test,{PUZZLE},{ANSWER},{number}" for number in range(3)]
CSV = "\n".join(["source,question,answer,rating", *ROWS, ""])
CELLS = [int(cell) if cell != "." else 0 for cell in PUZZLE]
GRID = {"grid": [CELLS[start : start + 9] for start in range(0, 81, 9)], "solution": None}
PAIR = {"input": [[0, 1], [2, 3]], "output": [[3, 2], [1, 0]]}


def parquet_file(folder: Path) -> Path:
    file = folder / "train.parquet"
    pq.write_table(pa.table({"question": [PUZZLE] * 3, "answer": [ANSWER] * 3}), file)
    return file


def vectors(folder: Path) -> Path:
    return Path(shutil.copy(ROOT / "tests" / "vectors" / "trm_rope.npz", folder))


def part_of_checkpoint(name: str, is_signed: bool) -> Callable[[Path], Path]:
    def copied(folder: Path) -> Path:
        shutil.copytree(PACKAGED, folder / ("signed" if is_signed else "checkpoint"))
        return folder / ("signed" if is_signed else "checkpoint") / name

    return copied


def sign(checkpoint: Path) -> None:
    """Write the sums of a checkpoint's files anew, as whoever damages them on purpose would."""
    lines = []
    for line in (checkpoint / "SHA256SUMS").read_text().splitlines():
        name = line.split()[-1]
        lines.append(f"{sha256((checkpoint / name).read_bytes()).hexdigest()}  {name}")
    (checkpoint / "SHA256SUMS").write_text("\n".join(lines) + "\n")


def solve_with(file: Path, results: Path) -> list[str]:
    if file.parent.name == "signed":
        sign(file.parent)
    return ["solve", PUZZLE, "--budget", "16", "--checkpoint", str(file.parent)]


def evaluate_on(file: Path, results: Path) -> list[str]:
    scores = results / "scores.json"
    return [*EVALUATE, f"--checkpoint={PACKAGED}", f"--puzzles={file}", f"--json={scores}"]


def show(file: Path, results: Path) -> list[str]:
    return ["show", str(file), "--out", str(results / "picture.svg")]


KINDS: dict[str, tuple[Callable[[Path], Path], Command]] = {
    "weights": (part_of_checkpoint("model.safetensors", False), solve_with),
    "weights, signed": (part_of_checkpoint("model.safetensors", True), solve_with),
    "config, signed": (part_of_checkpoint("config.json", True), solve_with),
    "sums": (part_of_checkpoint("SHA256SUMS", False), solve_with),
    "csv": (given("puzzles.csv", CSV), evaluate_on),
    "json of a Sudoku": (given("puzzle.json", GRID), evaluate_on),
    "json of ARC": (given("0a1b2c3d.json", {"train": [PAIR, PAIR], "test": [PAIR]}), show),
    "parquet": (parquet_file, show),
    "npz": (vectors, lambda file, results: ["conformance", str(file)]),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_one_line(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make, command = KINDS[kind]
    file = make(tmp_path)
    whole = file.read_bytes()
    rng = random.Random(kind)
    for number in range(NUM_OF_A_KIND):
        file.write_bytes(content := damaged(whole, rng))
        results = tmp_path / f"results-{number}"
        results.mkdir()
        code = main(command(file, results))
        out, error = capsys.readouterr()
        assert code in (0, 1, 2), (number, content[:80])
        errors = [line for line in error.splitlines() if line.startswith("error: ")]
        # Other weights are a model too, which may find no answer: `serrm solve` says so where answers stand.
        has_answered = "signed" in kind and not errors and out
        assert "Traceback" not in error and (len(errors) == (code != 0) or has_answered), (number, error)
        if errors:
            assert not list(results.iterdir()), number


@pytest.mark.slow
def test_damaged_settings_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(ROOT / "params.yaml", tmp_path)
    (tmp_path / "profiles").mkdir()
    monkeypatch.chdir(tmp_path)
    params, profile = tmp_path / "params.yaml", tmp_path / "profiles" / "mine.yaml"
    whole, rng = params.read_bytes(), random.Random(0)
    for number in range(NUM_OF_A_KIND):
        profile.write_bytes(damaged(whole, rng))
        code = main(["use", "mine", "--force"])
        error = capsys.readouterr().err
        assert code in (0, 1, 2) and "Traceback" not in error, number
        assert error.count("error: ") == (code != 0), (number, error)
        assert code == 0 or params.read_bytes() == whole, number
        params.write_bytes(whole)
