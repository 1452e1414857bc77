"""The package's code → data/<profile>/code/<run>.{training,scoring}: the hashes of what each run uses."""

from pathlib import Path

from serrm.core.project import PARAMS, Layout


def hash_code() -> None:
    """Write lists of the code that each run's training and scoring use, with hashes; these stages depend on them.

    Example: python -m stages hash_code
    """
    from serrm.config import read_params
    from serrm.planning.code import write_hashes

    params = read_params(Path(PARAMS))
    write_hashes(params, Layout(params.profile).code)
