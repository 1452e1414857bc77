"""The training log of a run as a CSV file, one line per record, for plots and MLflow.

The train stage writes it beside the metrics; it is small enough to be committed. Needs no torch.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from serrm.files import csv_text, write_whole

Record = Mapping[str, int | float]
COUNTS = ("step", "samples")


def write_training_log(path: Path, records: Sequence[Record]) -> None:
    """Write the records, oldest first; the file appears whole, and never through a link into a cache."""
    columns = list(records[0]) if records else COUNTS
    write_whole(path, csv_text(columns, ([record[name] for name in columns] for record in records)))


def read_training_log(path: Path) -> list[dict[str, int | float]]:
    """The records of a training log. ValueError naming the file if something else is in it."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        try:
            return [
                {key: int(value) if key in COUNTS else float(value) for key, value in row.items()}
                for row in rows
            ]
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: line {rows.line_num}: not a training log: {error}") from error
