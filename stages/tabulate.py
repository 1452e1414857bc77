"""data/<profile>/{scores,logs,predictions} → reports/<profile>: scores, curves, tables, figures.

The tables are also written to data/<profile>/tables, as CSV and LaTeX.
"""

from datetime import date
from importlib.metadata import version
from pathlib import Path

from serrm.core.project import PAPER, PROFILES, Layout, current_commit


def tabulate() -> None:
    """Gather the scores and training logs of the profile, and write all tables and figures, and report.html.

    Example: python -m stages tabulate
    """
    from serrm.config import read_params
    from serrm.core.provenance import read_provenance
    from serrm.reporting.report import Inputs, write_report
    from serrm.reporting.results import check_settings, make_report, read_runs
    from serrm.tracking.background import is_temporary, mirror_meanwhile, wait_for_mirror
    from stages.inputs import unedited

    mirror_meanwhile(Path())
    with unedited("tabulate") as inputs:
        params, paper_params = inputs.params, read_params(Path(PROFILES) / f"{PAPER}.yaml")
        layout, (commit, has_changes) = Layout(params.profile), current_commit(Path())
        build_facts = {
            "date": f"{date.today():%d %B %Y}".lstrip("0"),
            "commit": f"{commit}, with changes" if has_changes else commit,
        }
        page_facts = build_facts | {name: version(name) for name in ("serrm", "torch", "numpy")}
        runs = read_runs(params, layout.scores)
        check_settings(params, runs)
        report = make_report(params, paper_params, runs)
        provenance = {
            run.name: read_provenance(layout.provenance, run.training.weights_sha256) for run in runs
        }
        page_inputs = Inputs(layout.predictions, layout.logs, provenance, page_facts)
        write_report(report, layout.reports, layout.exports, page_inputs)
    if is_temporary(layout.root):  # DVC removes this copy of the project next
        wait_for_mirror(layout.root)
