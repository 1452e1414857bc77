"""A user's file → data/<profile>/arrays/<data_set>/test/files/<entry>: a test set, on which nothing is trained."""

import typer

from serrm.core.project import Layout


def read_tests(
    name: str = typer.Argument(..., metavar="ENTRY", help="An entry of `tests` in params.yaml."),
) -> None:
    """Turn the puzzles of a file into a test set of a data set, and solve those that come without an answer.

    Example: python -m stages read_tests mine
    """
    from serrm.arrays.file_sets import write_test_set
    from stages.inputs import unedited

    with unedited("read_tests", name) as inputs:
        tests = inputs.params.test_settings(name)
        target = Layout(inputs.params.profile).file_sets(tests.data_set) / name
        write_test_set(tests.file, target, name, inputs.params.task_of(tests.data_set), tests.num_puzzles)
