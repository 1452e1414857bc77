"""Where every stage of a profile reads and writes; the same paths stand in dvc.yaml."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARAMS = ROOT / "params.yaml"
GRID = ROOT / "grid.yaml"


@dataclass(frozen=True)
class Layout:
    """The folders of one profile, relative to the repository root."""

    profile: str

    @property
    def config(self) -> Path:
        """Resolved settings, one file a stage and cell."""
        return Path("data/config") / self.profile

    @property
    def raw(self) -> Path:
        """Raw files, one folder a task."""
        return Path("data/raw") / self.profile

    @property
    def augmented(self) -> Path:
        """Puzzle sets as Parquet, one folder a task."""
        return Path("data/augmented") / self.profile

    @property
    def arrays(self) -> Path:
        """Token arrays, one folder a task."""
        return Path("data/arrays") / self.profile

    @property
    def runs(self) -> Path:
        """Checkpoints, one folder a cell, with its MLflow run beside it."""
        return Path("data/runs") / self.profile

    @property
    def predictions(self) -> Path:
        """Answers to look at, one folder a cell: examples of each set, and ARC's submission."""
        return Path("data/predictions") / self.profile

    @property
    def scratch(self) -> Path:
        """Unfinished trainings, by the hash of their settings; nothing of DVC's."""
        return Path("data/scratch")

    @property
    def reports(self) -> Path:
        """Metrics, tables and figures."""
        return Path("reports") / self.profile
