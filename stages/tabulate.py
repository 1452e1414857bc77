"""reports/<profile>/metrics, data/<profile>/predictions → tables, figures and report.html, ours beside the paper's."""

from datetime import date
from importlib.metadata import version
from pathlib import Path

from serrm.layout import PAPER, PARAMS, PROFILES, Layout


def tabulate() -> None:
    """Build every table and figure of the profile, and the page that holds them."""
    from functools import partial

    from serrm.config import read_params
    from serrm.models.flops import flops
    from serrm.reporting.settings import CellSettings, departures, differences
    from serrm.reporting.tabulate import Places
    from serrm.reporting.tabulate import tabulate as build

    params = read_params(Path(PARAMS))
    papers = read_params(Path(PROFILES) / f"{PAPER}.yaml")
    layout = Layout(params.profile)
    here, at_paper_scale, found, steps = {}, {}, {}, {}
    for name in params.runs:
        cell = params.train_settings(name)
        key, paper = (cell.task, cell.variant), papers.settings_of(cell.task, cell.model.family)
        here[key] = ours = cell.model_dump(mode="json")
        steps[key] = partial(flops, cell.model)
        if params.profile == PAPER:
            found[key] = list(departures(ours, params.evaluate_settings(name).fidelity.model_dump()))
        elif paper is not None:
            at_paper_scale[key] = paper.model_dump(mode="json")
            found[key] = differences(ours, at_paper_scale[key])
    settings = CellSettings(here, at_paper_scale, found, steps)
    places = Places(layout.reports, layout.predictions)
    build(params.profile, params.cells(), settings, places, provenance())


def provenance() -> dict[str, str]:
    """When the page was made, of which commit, and with what."""
    from serrm.project import current_commit

    commit, has_changes = current_commit(Path())
    made = {"date": f"{date.today():%d %B %Y}".lstrip("0"), "commit": commit + ", with changes" * has_changes}
    return made | {name: version(name) for name in ("serrm", "torch", "numpy")}
