"""reports/<profile>/metrics, data/<profile>/predictions → tables, figures and report.html, ours beside the paper's."""

from datetime import date
from importlib.metadata import version
from pathlib import Path

from serrm.project import PAPER, PARAMS, PROFILES, Layout


def tabulate() -> None:
    """Write all tables and figures of the profile, and report.html.

    Example: python -m stages tabulate
    """
    from serrm.config import read_params
    from serrm.models.registry import flops, num_parameters
    from serrm.project import current_commit
    from serrm.reporting.report import write_report
    from serrm.reporting.results import read_report

    params, papers = read_params(Path(PARAMS)), read_params(Path(PROFILES) / f"{PAPER}.yaml")
    layout, (commit, has_changes) = Layout(params.profile), current_commit(Path())
    made = {"date": f"{date.today():%d %B %Y}".lstrip("0"), "commit": commit + ", with changes" * has_changes}
    provenance = made | {name: version(name) for name in ("serrm", "torch", "numpy")}
    report = read_report(params, papers, layout.metrics, flops, num_parameters)
    write_report(report, layout.reports, layout.predictions, provenance)
