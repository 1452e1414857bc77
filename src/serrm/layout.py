"""Paths of the files of a project and of a profile; dvc.yaml has the same."""

from pathlib import Path

PARAMS, PROFILES, EXECUTION = "params.yaml", "profiles", "execution.yaml"
REHEARSALS = "data/rehearsal"  # each in a folder of its own there, which git and DVC ignore
PAPER = "paper"  # the profile with the paper's models, which every run is compared with


class Layout:
    """Folders of a profile below the project's root, in which stages run."""

    def __init__(self, profile: str, root: Path = Path()) -> None:
        data = root / "data" / profile
        self.profile, self.root = profile, root
        self.raw = data / "raw"  # raw files, a folder a task
        self.augmented = data / "augmented"  # puzzle sets as Parquet, a folder a task
        self.arrays = data / "arrays"  # token arrays, a folder a task
        self.runs = data / "runs"  # checkpoints, a folder a run, each with its MLflow run beside it
        self.predictions = data / "predictions"  # answers for pictures, a folder a run
        self.scratch = root / "data" / "scratch"  # unfinished runs by the hash of their settings; not DVC's
        self.reports = root / "reports" / profile  # metrics, training logs, tables, figures, the page
        self.metrics = self.reports / "metrics"  # a file a run
