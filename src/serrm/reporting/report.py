"""The last stage: from a profile's scores to metrics.json, curves, tables, figures, and a page with all of them.

The files that git and DVC keep hold results only. The page, which they do not keep, needs no network, and also shows
the runs' times and machines. Equal inputs give equal bytes: the commit and the date are passed in.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from serrm.core.files import json_text, write_whole
from serrm.core.progress import duration
from serrm.drawing.examples import read_examples
from serrm.drawing.puzzles import DrawnPuzzle, Panel
from serrm.drawing.svg import grid_svg
from serrm.puzzles.tasks import TASKS
from serrm.reporting.claim_rules import UNTESTED
from serrm.reporting.claims import claims_table, judge, overall, tally
from serrm.reporting.conclusion import conclusion
from serrm.reporting.figures import build_figures, training_loss
from serrm.reporting.formats import Table, markdown, to_csv, to_latex, to_markdown
from serrm.reporting.headline import headline
from serrm.reporting.paper import data_set_name, load_paper, model_name, set_name
from serrm.reporting.paper_tables import easier_puzzles
from serrm.reporting.puzzle_figures import PUZZLE_FIGURES, puzzle_figures
from serrm.reporting.results import Report, Results, all_runs, in_percent, main_models
from serrm.reporting.tables import build_tables, notes_on_tables, recipe_tables
from serrm.scoring.predictions import PREDICTIONS
from serrm.scoring.schema import METRICS_FILE, Evaluation, profile_text
from serrm.training.log import COUNTS, GATHERED, Record, read_training_log

NUM_SHOWN: Final = 4  # puzzles of a set from which the page's pictures are chosen


class Inputs(NamedTuple):
    """Inputs of the stage besides the scores: folders of predictions and training logs, times and machines.

    `provenance_of_runs` has the facts of `serrm.core.provenance` by run, empty where they are not known. `page_facts`
    are the date, commit and versions of this build of the page, which shows them as they are.
    """

    predictions: Path
    logs: Path
    provenance_of_runs: Mapping[str, Mapping[str, Any]]
    page_facts: Mapping[str, str]


def write_report(report: Report, folder: Path, exports: Path, inputs: Inputs) -> None:
    """Write scores, curves, tables as Markdown, figures and the page into `folder`, CSV and LaTeX into `exports`.

    Only the page shows dates, times and machines; all other files are the same on every machine. ValueError, with the
    file, if predictions or logs are malformed.
    """
    report_tables, figures = write_shown(report, folder)
    for name, figure in puzzle_figures(report, inputs.predictions).items():
        figures[name] = figure
        write_whole(folder / "figures" / f"{name}.svg", figure)
    runs = all_runs(report.results)
    logs = {run.name: read_training_log(inputs.logs / f"{run.name}.csv") for run in runs}
    for path in (folder / "curves", exports):
        path.mkdir(parents=True, exist_ok=True)  # outputs of the stage, even with nothing in them
    write_whole(folder / METRICS_FILE, profile_text(report.profile, runs))
    write_whole(folder / "scores.json", json_text(headline_scores(runs)))
    for table in report_tables:
        write_whole(exports / f"{table.name}.csv", to_csv(table.frame))
        write_whole(exports / f"{table.name}.tex", to_latex(table))
    write_curves(runs, folder / "curves")
    write_whole(folder / "curves" / GATHERED, training_curves(runs, logs))
    page_figures = figures | {"training_loss": training_loss(report, logs)}
    write_whole(folder / "report.html", render_page(report, report_tables, page_figures, inputs))


def write_shown(report: Report, folder: Path) -> tuple[list[Table], dict[str, str]]:
    """Write the tables as Markdown and the figures below `folder`, and return both; older files there are removed.

    Figures of single puzzles stay, as they need more than scores. All others follow from the scores and settings alone,
    so a change of their form repeats no run (`serrm overview`).
    """
    report_tables, figures = all_tables(report), build_figures(report)
    files = {folder / "tables" / name: text for name, text in table_files(report, report_tables).items()}
    files |= {folder / "figures" / f"{name}.svg": figure for name, figure in figures.items()}
    for path in (folder / "tables", folder / "figures"):
        path.mkdir(parents=True, exist_ok=True)  # outputs of the stage, even with nothing in them
        for file in path.iterdir():
            if file not in files and file.stem not in PUZZLE_FIGURES:
                file.unlink()
    for file, text in files.items():
        write_whole(file, text)
    return report_tables, figures


def all_tables(report: Report) -> list[Table]:
    """Build all tables with at least one of our runs, and the claims."""
    return [*build_tables(report), claims_table(report)]


def table_files(report: Report, report_tables: Sequence[Table]) -> dict[str, str]:
    """Write the tables as Markdown, and the notes and recipes that all tables share, by name of the file."""
    files = {f"{table.name}.md": to_markdown(table) for table in report_tables}
    notes = [f"- {line}" for line in notes_on_tables(report.results)]
    files["notes.md"] = "\n".join(["### How to read the tables\n", *notes, ""])
    sections = ["### Settings that differ from the runs of the same families in profile `paper`"]
    for recipe in recipe_tables(report):
        sections.append(f"#### {recipe.title}")
        sections += [markdown(frame) for frame in (recipe.settings, recipe.others) if len(frame)]
    files["recipes.md"] = "\n\n".join(sections) + "\n"
    return files


def headline_scores(runs: Sequence[Evaluation]) -> dict[str, dict[str, float]]:
    """Compute the main metric in percent of every set after its headline steps, by run, for `dvc metrics`."""
    return {
        run.name: {
            name: round(in_percent(run.task, run.main_metric, scored.steps[scored.headline_steps])[0], 2)
            for name, scored in run.scored.items()
            if scored.has_own_task_types
        }
        for run in runs
    }


def write_curves(runs: Sequence[Evaluation], folder: Path) -> None:
    """Write depth.csv and learning.csv for `dvc plots`, rates in percent; `solved` is the main metric of the task."""
    depth, learning = list[dict[str, Any]](), list[dict[str, Any]]()
    has_seeds = len({run.seed for run in runs}) > 1
    for run in runs:
        data_set, seed = data_set_name(run.data_set), f", seed {run.seed}" if has_seeds else ""
        model = f"{model_name(run.variant)}{seed}"
        for point in run.learning_curve:
            at = {"step": point.step, "samples": point.samples, "loss": point.loss}
            learning.append({"panel": data_set, "model": model, **at, **_rates(run, point.scores)})
        for name, scored in run.scored.items():
            names = {"panel": f"{data_set} {set_name(name)}", "model": model}
            depth += [{**names, "steps": num, **_rates(run, scores)} for num, scores in scored.steps.items()]
    for name, points, counts in (
        ("depth", depth, ["steps"]),
        ("learning", learning, ["step", "samples", "loss"]),
    ):
        frame = pd.DataFrame(points, columns=["panel", "model", *counts, "solved", "gpa"])
        write_whole(folder / f"{name}.csv", to_csv(frame))


def training_curves(runs: Sequence[Evaluation], logs: Mapping[str, Sequence[Record]]) -> str:
    """Gather the training logs of all runs, by name, in one CSV file, with six significant digits."""
    lines = [
        {"run": run.name, "data_set": data_set_name(run.data_set), **record}
        for run in runs
        for record in logs[run.name]
    ]
    frame = pd.DataFrame(lines, columns=None if lines else ["run", "data_set", *COUNTS])
    return frame.to_csv(index=False, lineterminator="\n", float_format="%.6g")


def _rates(run: Evaluation, scores: Mapping[str, float]) -> dict[str, float | None]:
    metrics = {"solved": run.main_metric, "gpa": "gpa"}
    return {
        name: round(in_percent(run.task, metric, scores)[0], 2) if metric in scores else None
        for name, metric in metrics.items()
    }


def render_page(
    report: Report,
    report_tables: Sequence[Table],
    figures: Mapping[str, str],
    inputs: Inputs,
) -> str:
    """Render the page as HTML, with tables, figures (SVG documents by name), and pictures of the examples."""
    templates = Environment(
        loader=PackageLoader("serrm.reporting"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["unbroken_intervals"] = unbroken_intervals
    runs = all_runs(report.results)
    scores, judgements = headline(report), judge(report)
    return templates.get_template("report.html.j2").render(
        profile=report.profile,
        num_runs=len(runs),
        costs=machine_costs(runs, inputs.provenance_of_runs),
        easier=easier_puzzles(report.results),
        headline=scores.frame,
        headline_notes=[*scores.notes, *scores.omitted],
        tables={table.name: table for table in report_tables},
        # The template adds the names of the tables and figures that it places; all others follow in further sections.
        placed_tables=[],
        placed_figures=[],
        conclusion=conclusion(report),
        tally=tally(judgements),
        untested=[
            load_paper().claims[key].says for key, parts in judgements.items() if overall(parts) == UNTESTED
        ],
        figures={name: b64encode(svg.encode()).decode() for name, svg in figures.items() if svg},
        examples=[*page_examples(report.results, inputs.predictions)],
        legends=dict.fromkeys(f"In {TASKS[run.task].name}, {TASKS[run.task].look.legend}." for run in runs),
        notes=notes_on_tables(report.results),
        recipes=recipe_tables(report),
        page_facts=inputs.page_facts,
        hashes=dict.fromkeys((data_set_name(run.data_set), run.data.hash) for run in runs),
    )


def machine_costs(runs: Sequence[Evaluation], provenance: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Tabulate time, speed, memory and machine of the trainings: a row per run whose machine is known."""
    rows = []
    for run in runs:
        if training := provenance.get(run.name, {}).get("training"):
            rows.append(
                {
                    "Run": run.name,
                    "Time": duration(training["seconds"]),
                    "Puzzle-steps per second": f"{training['puzzle_steps_per_second']:,.0f}",
                    "Memory": f"{training['peak_memory_bytes'] / 1e9:.1f} GB",
                    "Machine": f"{training['device']}, {training['threads']} threads, {training['cpu']}",
                }
            )
    return pd.DataFrame(rows)


def unbroken_intervals(text: str) -> Markup:
    """Escape text of a table, with every interval as an element, which a narrow column does not break."""
    return Markup(re.sub(r"\([\d.]+–[\d.]+\)", r"<span>\g<0></span>", str(escape(text))))


def page_examples(results: Results, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield a solved and an unsolved puzzle, with the predictions of the first seed of every main model.

    They are among the first puzzles of the set of the size trained on or, without such a set, of the first one.

    The solved puzzle is the one whose prediction changed most often. ValueError, with the file, for a malformed file.
    """
    # The best other variant, then SE-RRM (the last of the families), then its baselines.
    for main_model in reversed(main_models(results)):
        for run in (runs[0] for (_, variant), runs in results.items() if variant == main_model):
            path = folder / run.name / PREDICTIONS
            examples = read_examples(path, num_per_set=NUM_SHOWN) if path.is_file() else []
            names = [example.set for example in examples]
            shown_set = run.set_of_trained_size if run.set_of_trained_size in names else "".join(names[:1])
            traces = [
                (example, changing_panels(example.puzzle)) for example in examples if example.set == shown_set
            ]
            solved = [(example, panels) for example, panels in traces if example.is_right]
            unsolved = [(example, panels) for example, panels in traces if not example.is_right]
            longest = [max(solved, key=lambda trace: len(trace[1]))] if solved else []
            for example, panels in [*longest, *unsolved[:1]]:
                pictures = [Markup(grid_svg(panel, f"{panel.caption}: {panel.remark}")) for panel in panels]
                yield {
                    "heading": f"{model_name(run.variant)} on {data_set_name(run.data_set)}, "
                    f"{example.name.replace('x', '×')}",
                    "is_right": example.is_right,
                    "outcome": f"solved {panels[-1].caption}" if example.is_right else "not solved",
                    "panels": zip(panels, pictures, strict=True),
                }


def changing_panels(puzzle: DrawnPuzzle) -> list[Panel]:
    """List question, answer if the last prediction is wrong, and predictions that differ from the one before."""
    first, *others = puzzle.trace_panels(sorted(puzzle.predictions))
    trace = [first, *(panel for panel in others if panel.is_changed.any())]
    panels = [puzzle.question_panel()]
    if puzzle.answer is not None and trace[-1].is_wrong.any():
        panels.append(puzzle.answer_panel(puzzle.answer))
    return [*panels, *trace]
