"""Saved models on the Hugging Face Hub, there and back, through huggingface_hub's mixin."""

import shutil
from pathlib import Path
from typing import Any

from huggingface_hub import ModelHubMixin, snapshot_download

from serrm.training.checkpoint import CONFIG, MODEL, SUMS


class SavedModel(ModelHubMixin):
    """A folder that `save_pretrained` wrote, card included, as the mixin knows models."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _save_pretrained(self, save_directory: Path) -> None:
        shutil.copytree(self.folder, save_directory, dirs_exist_ok=True)

    @classmethod
    def _from_pretrained(cls, *, model_id: str, **options: Any) -> "SavedModel":
        """What is downloaded are the files of a checkpoint and nothing else."""
        return cls(Path(snapshot_download(model_id, allow_patterns=[MODEL, CONFIG, SUMS], **options)))


def push(folder: Path, repo_id: str, **options: Any) -> str:
    """Upload a folder; returns the address of the commit."""
    return str(SavedModel(folder).push_to_hub(repo_id, **options))


def pull(repo_id: str, **options: Any) -> Path:
    """The folder of a repository's files, downloaded once."""
    return SavedModel.from_pretrained(repo_id, **options).folder
