"""`serrm headline` and `overview`: the main scores of a profile, and the page over all committed profiles."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from serrm.commands.profile import PROFILE_OPTION
from serrm.core.project import PAPER, PROFILES, REGRESSION, Layout, checked_git, find_root, profile_file

if TYPE_CHECKING:
    from serrm.reporting.results import Report


def headline(profile: str | None = PROFILE_OPTION) -> None:
    """Print a profile's main scores as a table, and the paths of its other results.

    Example: serrm headline --profile laptop
    """
    from serrm.config import open_project, read_params
    from serrm.reporting.headline import headline as build_headline
    from serrm.reporting.results import make_report, read_gathered

    root, params = open_project(profile)
    layout = Layout(params.profile, root)
    reports, runs = layout.reports, read_gathered(params, layout.metrics)
    report = make_report(params, read_params(profile_file(root, PAPER, "")), runs, root)
    paths = [reports / name for name in ("tables", "figures", "report.html")]
    scores = build_headline(report)
    typer.echo("\n\n".join([f"profile {params.profile}\n{scores.text('simple')}", *scores.omitted]))
    typer.echo(
        "\n".join([*(os.path.relpath(path) for path in paths if path.exists()), "MLflow runs: make ui"])
    )


def overview() -> None:
    """Rewrite the tables and figures of all committed profiles from their scores, and reports/README.md over them.

    Example: serrm overview
    """
    from serrm.core.files import write_whole
    from serrm.reporting.report import write_shown

    root = find_root(Path.cwd())
    reports = committed_reports(root)
    folder = root / "reports"
    for name, report in reports.items():
        write_shown(report, folder / name)
        typer.echo(f"{os.path.relpath(folder / name)}: tables and figures")
    for name, text in overview_files(root, reports).items():
        write_whole(folder / name, text)
        typer.echo(os.path.relpath(folder / name))


def committed_reports(root: Path) -> dict[str, "Report"]:
    """Read the reports of all profiles in profiles/ with committed scores, by name."""
    from serrm.config import read_params
    from serrm.reporting.results import make_report, read_gathered

    committed = checked_git(root, "ls-files", "reports/*/metrics.json").splitlines()
    paper_params = read_params(profile_file(root, PAPER, ""))
    reports = {}
    for name in sorted({Path(path).parts[1] for path in committed}):
        if (root / PROFILES / f"{name}.yaml").is_file():
            params = read_params(profile_file(root, name, ""))
            runs = read_gathered(params, Layout(name, root).metrics)
            reports[name] = make_report(params, paper_params, runs, root)
    return reports


def overview_files(root: Path, reports: Mapping[str, "Report"]) -> dict[str, str]:
    """Write the files of the overview by name, from all profiles except `ci`.

    Of README.md, the overview and the main scores of some profiles are replaced, between comments. Profile `ci` trains
    for a few steps, so its scores are compared with those of a commit, not with the paper's.
    """
    from serrm.comparing import costs, hard_sudoku, ideas, overview, symmetry
    from serrm.core.files import between_markers
    from serrm.reporting import headline

    reports = {name: report for name, report in reports.items() if name != REGRESSION}
    if not reports:
        raise ValueError(f"{root / 'reports'}: no profile has committed scores and a params file")
    studied = [reports[name] for name in ideas.PROFILES if name in reports]
    # The plain models of ideas.PROFILES are the same, so those of the first one are enough elsewhere.
    reports = {name: report for name, report in reports.items() if name not in ideas.PROFILES[1:]}
    points = hard_sudoku.points(reports, root)
    files = {
        "hard_sudoku.csv": hard_sudoku.to_csv(points),
        overview.PICTURE: hard_sudoku.picture(points),
        overview.RATINGS: hard_sudoku.ratings_picture(hard_sudoku.by_rating(root)),
        overview.COSTS: costs.picture(costs.points(reports)),
    }
    if cells := symmetry.cells(reports):
        files[symmetry.FIGURE] = symmetry.picture(cells)
    sections = list[str]()
    if studied:
        rows = ideas.rows(studied, ideas.read_ideas(root))
        sections.append(ideas.section(rows))
        files[ideas.FIGURE] = ideas.picture(rows)
    page = (root / "reports" / "README.md").read_text(encoding="utf-8")
    text = overview.overview([*reports.values()], hard_sudoku.caption(points), sections)
    page = between_markers(page, overview.BEGIN, overview.END, text)
    for name, report in reports.items():
        begin, end = (marker.format(name) for marker in (headline.BEGIN, headline.END))
        if begin in page:
            page = between_markers(page, begin, end, headline.headline(report).text("github"))
    return {"README.md": page, **files}
