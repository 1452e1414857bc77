"""Where every stage of a profile reads and writes; the same paths stand in dvc.yaml."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
PARAMS = ROOT / "params.yaml"
GRID = ROOT / "grid.yaml"


class Layout:
    """The folders of one profile, relative to the repository root."""

    def __init__(self, profile: str) -> None:
        data = Path("data")
        self.config = data / "config" / profile  # resolved settings, one file a stage and cell
        self.raw = data / "raw" / profile  # raw files, one folder a task
        self.augmented = data / "augmented" / profile  # puzzle sets as Parquet, one folder a task
        self.arrays = data / "arrays" / profile  # token arrays, one folder a task
        self.runs = data / "runs" / profile  # checkpoints, one folder a cell, with its MLflow run beside it
        self.predictions = data / "predictions" / profile  # answers to look at, one folder a cell
        self.scratch = (
            data / "scratch"
        )  # unfinished trainings, by the hash of their settings; nothing of DVC's
        self.reports = Path("reports") / profile  # metrics, tables and figures
