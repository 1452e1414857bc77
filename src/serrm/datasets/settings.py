"""Which of the raw puzzles are used, by task: settings of the `augment` stage."""

from serrm.puzzles.tasks import TASKS
from serrm.settings import Settings

AUGMENT: dict[str, type[Settings]] = {name: task.subset for name, task in TASKS.items()}
