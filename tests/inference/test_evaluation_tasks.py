"""Every task that can be downloaded can be scored and solved."""

from serrm.inference.tasks import TASKS
from serrm.solving.subjects import SUBJECTS
from serrm.sources.settings import DOWNLOAD


def test_every_task_has_its_records() -> None:
    assert TASKS.keys() == SUBJECTS.keys() == DOWNLOAD.keys()
    for name, task in TASKS.items():
        # What is scored by votes has no rule; what has a rule has images to try as well.
        assert (task.tally is None) == (task.verify is None) == (task.symmetries is None), name
