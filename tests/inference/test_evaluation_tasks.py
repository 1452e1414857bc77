"""Every task that can be downloaded can be described, planned, drawn, scored and solved."""

from serrm import describe
from serrm.drawing import tasks as drawing
from serrm.inference.tasks import TASKS
from serrm.planning import tasks as planning
from serrm.solving.subjects import SUBJECTS
from serrm.sources.settings import DOWNLOAD


def test_every_task_has_its_records() -> None:
    assert TASKS.keys() == SUBJECTS.keys() == DOWNLOAD.keys() == describe.TASKS.keys()
    assert TASKS.keys() == planning.TASKS.keys() == drawing.TASKS.keys()
    for name, task in TASKS.items():
        # What is scored by votes has no rule; what has a rule has images to try as well.
        assert (task.tally is None) == planning.TASKS[name].has_votes
        assert task.is_symmetric == planning.TASKS[name].is_symmetric
        assert (task.tally is None) == (task.verify is None) == (task.symmetries is None), name
