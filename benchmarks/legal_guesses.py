"""The grid-point accuracy of legal guesses on the Sudoku sets of profiles, for the claims on larger grids.

This is the null of a claim that a model does better than chance: a digit drawn among all n is right once in n blanks,
but whoever leaves out the digits in the blank's row, column and box is right far more often where there are many clues.

`nice python -m benchmarks.legal_guesses --mirror DIR` makes the puzzles of all profiles with Sudoku scores in reports/
anew and writes src/serrm/reporting/legal_guesses.csv. DIR holds the published sets (docs/howto.md, "Use a local copy of
the published sets"), for the profiles that download them.
"""

import argparse
import csv
import io
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from serrm.config import Params, read_params
from serrm.core.files import write_whole
from serrm.core.project import Layout, find_root
from serrm.datasets.sets import read_puzzle_set, set_file, write_sets
from serrm.puzzles.sudoku.data import GeneratedSudoku, MirrorSudoku
from serrm.puzzles.sudoku.rules import BLANK, unit_indices
from serrm.reporting.legal_guesses import FILE, SET
from serrm.scoring.schema import read_profile_scores
from serrm.sources.download import fetch

TASK = "sudoku"
TOLERANCE = (
    0.005  # share of blanks; an earlier generator made the 16×16 puzzles of `published` and `gpu_sudoku`
)


def legal_guess_accuracy(questions: UInt8[np.ndarray, "N I"]) -> float:
    """Compute the expected grid-point accuracy of a guess per blank, drawn among the digits that its units do not hold.

    The mean over all blanks of 1 / (number of such digits), because the right digit is always among them. Blanks are
    filled independently, from the clues alone. ValueError without blanks.
    """
    side = math.isqrt(questions.shape[1])
    units = unit_indices(side)
    # Which digits each unit holds, then, for every cell, which its three units hold.
    is_held = (questions[:, units][..., None] == np.arange(BLANK + 1, side + BLANK + 1)).any(axis=2)
    units_of_cell = np.stack([np.flatnonzero((units == cell).any(axis=1)) for cell in range(side**2)])
    num_legal = side - is_held[:, units_of_cell].any(axis=2).sum(axis=-1)
    is_blank = questions == BLANK
    if not is_blank.any():
        raise ValueError("no blank cell to guess")
    return float((1 / num_legal[is_blank]).mean())


def guesses(params: Params, mirror: Path, root: Path) -> Iterator[tuple[str, str, str, int, int, float]]:
    """A row per scored set of a profile's Sudoku data sets.

    ValueError if a set has another number of blanks than the scored one, within TOLERANCE.
    """
    runs = read_profile_scores(Layout(params.profile, root).metrics).runs.values()
    for data_set in [name for name in params.data_sets if params.task_of(name) == TASK]:
        settings = params.download_settings(data_set)
        source = settings.source
        if not isinstance(source, GeneratedSudoku):
            common = {"num_16x16": source.num_16x16, "clues_16x16": source.clues_16x16}
            source = MirrorSudoku(kind="mirror", root=mirror, **common)
        scored = {name: part for run in runs if run.data_set == data_set for name, part in run.scored.items()}
        with tempfile.TemporaryDirectory() as scratch:
            raw, sets = Path(scratch) / "raw", Path(scratch) / "sets"
            fetch(TASK, source, raw, settings.seed)
            write_sets(raw, sets, TASK, params.puzzle_settings(data_set))
            for name, part in scored.items():
                if part.of_file is not None:
                    continue
                questions, _ = read_puzzle_set(sets / set_file(name))
                num_blank = int((questions == BLANK).sum())
                if part.num_blank is None or abs(num_blank / part.num_blank - 1) > TOLERANCE:
                    raise ValueError(
                        f"{params.profile} {name}: {num_blank} blanks, the scores have {part.num_blank}"
                    )
                gpa = round(100 * legal_guess_accuracy(questions), 2)
                yield params.profile, data_set, name, len(questions), num_blank, gpa


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", type=Path, required=True, help="folder with the published sets")
    mirror, root = parser.parse_args().mirror, find_root(Path.cwd())
    profiles = sorted(path.parent.name for path in (root / "reports").glob("*/metrics.json"))
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow((*SET, "num_puzzles", "num_blank", "gpa"))
    for profile in profiles:
        table.writerows(guesses(read_params(root / "profiles" / f"{profile}.yaml"), mirror, root))
    write_whole(root / "src/serrm/reporting" / FILE, text.getvalue())


if __name__ == "__main__":
    main()
