"""The training log of a run as a CSV file, one line per record, for plots and MLflow.

It grows in the scratch folder while the run trains (`TrainingLog`). The train stage copies it below data/, and tabulate
gathers those of all runs for git. Needs no torch.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

from serrm.core.files import csv_text, write_whole

Record = dict[str, int | float]  # a line of the training log
COUNTS = ("step", "samples")
GATHERED = "training.csv"  # the logs of all runs of a profile
LOG = "log.csv"  # of an unfinished run, in its scratch folder


class TrainingLog:
    """The log of an unfinished run in its scratch folder."""

    def __init__(self, folder: Path, records: Sequence[Record]) -> None:
        """Cut the log back to the records of a checkpoint."""
        self.path = folder / LOG
        self.columns = list(records[0]) if records else []
        write_training_log(self.path, records)

    def append(self, record: Record) -> None:
        """Add a record; the first one names the columns."""
        if not self.columns:
            self.columns = list(record)
            write_training_log(self.path, [record])
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write(csv_text([str(record[name]) for name in self.columns], ()))


def write_training_log(path: Path, records: Sequence[Record]) -> None:
    """Write the records, oldest first, to a new file that then replaces the old one.

    A reader never sees half a file. The old file may be a link into DVC's cache, whose content stays as it is.
    """
    columns = list(records[0]) if records else COUNTS
    write_whole(path, csv_text(columns, ([record[name] for name in columns] for record in records)))


def read_training_log(path: Path) -> list[Record]:
    """Read the records of a training log. ValueError naming the file if it is malformed."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        try:
            return [
                {key: int(value) if key in COUNTS else float(value) for key, value in row.items() if value}
                for row in rows
            ]
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: line {rows.line_num}: not a training log: {error}") from error
