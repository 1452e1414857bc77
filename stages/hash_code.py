"""The package's code → data/<profile>/code/<run>.{training,scoring}: the hashes of what each run uses."""

from serrm.core.project import Layout


def hash_code() -> None:
    """Write lists of the code that each run's training and scoring use, with hashes; these stages depend on them.

    Example: python -m stages hash_code
    """
    from serrm.planning.code import write_hashes
    from stages.inputs import unedited

    with unedited("hash_code") as inputs:
        write_hashes(inputs.params, Layout(inputs.params.profile).code)
