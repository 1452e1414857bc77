"""data/<profile>/{scores,logs,predictions} → reports/<profile>: scores, curves, tables, figures.

The tables are also written to data/<profile>/tables, as CSV and LaTeX.
"""

from datetime import date
from importlib.metadata import version
from pathlib import Path

from serrm.core.project import PAPER, PARAMS, PROFILES, Layout, current_commit


def tabulate() -> None:
    """Gather the scores and training logs of the profile, and write all tables and figures, and report.html.

    Example: python -m stages tabulate
    """
    from serrm.config import read_params
    from serrm.core.provenance import read_provenance
    from serrm.reporting.report import Inputs, write_report
    from serrm.reporting.results import make_report, read_runs

    params, paper_params = read_params(Path(PARAMS)), read_params(Path(PROFILES) / f"{PAPER}.yaml")
    layout, (commit, has_changes) = Layout(params.profile), current_commit(Path())
    build_facts = {
        "date": f"{date.today():%d %B %Y}".lstrip("0"),
        "commit": f"{commit}, with changes" if has_changes else commit,
    }
    page_facts = build_facts | {name: version(name) for name in ("serrm", "torch", "numpy")}
    report = make_report(params, paper_params, read_runs(params, layout.scores))
    provenance = {name: read_provenance(layout.provenance / f"{name}.json") for name in params.runs}
    inputs = Inputs(layout.predictions, layout.logs, provenance, page_facts)
    write_report(report, layout.reports, layout.exports, inputs)
