"""The last stage: from a profile's metric files to all tables and figures, and report.html, one page with all of them.

The page fetches nothing. Equal inputs give equal bytes: the commit and the date are passed in.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from serrm.drawing.panels import EXAMPLES, Panel, Puzzle, grid_svg, load_examples
from serrm.files import write_json, write_whole
from serrm.metrics import metrics_of
from serrm.progress import duration
from serrm.puzzles.tasks import TASKS
from serrm.reporting import tables
from serrm.reporting.claims import claims_table, judge, tally
from serrm.reporting.figures import build_figures
from serrm.reporting.paper import model_name, set_name, task_name
from serrm.reporting.results import Evaluation, Report, Results, all_runs, printed


def write_report(report: Report, folder: Path, examples: Path, provenance: Mapping[str, str]) -> None:
    """Write every table as .md, .csv and .tex, every figure that there is data for as .svg, and the page.

    `examples` holds predictions to look at, a folder a run; `provenance` is shown on the page as it is. ValueError,
    with the file, where examples are malformed.
    """
    made, figures = all_tables(report), build_figures(report)
    for name in ("tables", "figures", "curves"):  # outputs of the stage, even with nothing in them
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, text in table_files(report, made).items():
        write_whole(folder / "tables" / name, text)
    for name, figure in figures.items():
        write_whole(folder / "figures" / f"{name}.svg", figure)
    write_curves(report.results, folder)
    write_whole(folder / "report.html", render_page(report, made, figures, examples, provenance))


def all_tables(report: Report) -> list[tables.Table]:
    """Every table of which something was run, and the claims."""
    return [*tables.build_tables(report), claims_table(report)]


def table_files(report: Report, made: Sequence[tables.Table]) -> dict[str, str]:
    """The files of the tables, and of the notes and recipes that all tables share, by name."""
    files = {}
    for table in made:
        files[f"{table.name}.md"] = tables.to_markdown(table)
        files[f"{table.name}.csv"] = tables.to_csv(table.frame)
        files[f"{table.name}.tex"] = tables.to_latex(table)
    for name, title, lines in (
        ("notes", "How to read the tables", tables.notes(report.results)),
        ("recipes", "Differences from the run of the same family in profile `paper`", tables.recipes(report)),
    ):
        files[f"{name}.md"] = "\n".join([f"### {title}\n", *(f"- {line}" for line in lines), ""])
    return files


def write_curves(results: Results, folder: Path) -> None:
    """Write curves/depth.csv and learning.csv for `dvc plots`, and scores.json for `dvc metrics`, all in percent.

    `solved` is the metric of tables 1 and 3. scores.json holds the rates after the last step, by run and set.
    """
    last: dict[str, dict[str, dict[str, float]]] = {}
    depth, learning = list[dict[str, Any]](), list[dict[str, Any]]()
    has_seeds = len({run.seed for run in all_runs(results)}) > 1
    for run in all_runs(results):
        task, model = task_name(run.task), model_name(run.model) + f", seed {run.seed}" * has_seeds
        main = [name for name, metric in metrics_of(run.kind).items() if metric.is_main]
        for point in run.learning_curve:
            at = {"step": int(point["step"]), "samples": int(point["samples"]), "loss": point["loss"]}
            learning.append({"panel": task, "model": model, **at, **_rates(run, point)})
        for name, part in run.scored.items():
            names = {"panel": f"{task} {set_name(name)}", "model": model}
            depth += [{**names, "steps": num, **_rates(run, each)} for num, each in part.steps.items()]
            scores = part.steps[max(part.steps)]
            rates = {each: round(printed(run.kind, each, scores)[0], 2) for each in main if each in scores}
            last.setdefault(run.name, {})[name] = rates
    for name, points, counts in (
        ("depth", depth, ["steps"]),
        ("learning", learning, ["step", "samples", "loss"]),
    ):
        frame = pd.DataFrame(points, columns=["panel", "model", *counts, "solved", "gpa"])
        write_whole(folder / "curves" / f"{name}.csv", tables.to_csv(frame))
    write_json(folder / "scores.json", last)


def _rates(run: Evaluation, scores: Mapping[str, float]) -> dict[str, float | None]:
    metrics = {"solved": run.main_metric, "gpa": "gpa"}
    return {name: round(100 * scores[each], 2) if each in scores else None for name, each in metrics.items()}


def render_page(
    report: Report,
    made: Sequence[tables.Table],
    figures: Mapping[str, str],
    examples: Path,
    provenance: Mapping[str, str],
) -> str:
    """The page as HTML, with tables, figures by name as SVG documents, and pictures of the examples in a folder."""
    page = Environment(
        loader=PackageLoader("serrm.reporting"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page.filters["intervals"] = intervals
    runs, named = all_runs(report.results), {table.name: table for table in made}
    headline = tables.headline(report)
    return page.get_template("report.html.j2").render(
        profile=report.profile,
        num_runs=len(runs),
        total_time=duration(sum(run.training.seconds for run in runs)),
        easier=tables.easier(report.results),
        headline=headline.frame,
        headline_notes=[*headline.notes, *headline.omitted],
        tables=named,
        placed=[],  # names of tables in the order of the page; the others follow in a section of their own
        tally=tally(judge(report)),
        figures={name: b64encode(svg.encode()).decode() for name, svg in figures.items()},
        examples=[*shown_examples(report.results, examples)],
        legends=dict.fromkeys(f"In {TASKS[run.kind].name}, {TASKS[run.kind].look.legend}." for run in runs),
        notes=tables.notes(report.results),
        recipes=tables.recipes(report),
        provenance=provenance,
        hashes=dict.fromkeys((task_name(run.task), run.data.hash) for run in runs if run.data.hash),
    )


def intervals(words: str) -> Markup:
    """Words of a table, escaped, with each interval as an element, so that a narrow column keeps it on one line."""
    return Markup(re.sub(r"\([\d.]+–[\d.]+\)", r"<span>\g<0></span>", str(escape(words))))


def shown_examples(results: Results, folder: Path) -> Iterator[dict[str, Any]]:
    """A solved and an unsolved puzzle of the set trained on, with the steps of the first seed of every main model.

    Among the solved puzzles, the one with the most steps is shown. ValueError, with the file, for malformed examples.
    """
    for model in reversed(tables.main_models(results)):
        for run in (runs[0] for (_, of), runs in results.items() if of == model):
            path = folder / run.name / EXAMPLES
            examples = load_examples(path).examples if path.is_file() else []
            names = [each.set for each in examples]
            main = run.trained_set if run.trained_set in names else "".join(names[:1])
            shown = [(each, changing_panels(each.puzzle(run.kind))) for each in examples if each.set == main]
            solved = max(
                (pair for pair in shown if pair[0].is_right), key=lambda pair: len(pair[1]), default=None
            )
            unsolved = next((pair for pair in shown if not pair[0].is_right), None)
            for example, panels in filter(None, (solved, unsolved)):
                heading = f"{model_name(model)} on {task_name(run.task)}, {example.name.replace('x', '×')}"
                pictures = [Markup(grid_svg(panel, f"{panel.caption}: {panel.remark}")) for panel in panels]
                outcome = f"solved {panels[-1].caption}" if example.is_right else "not solved"
                about = {"heading": heading, "is_right": example.is_right, "outcome": outcome}
                yield about | {"panels": zip(panels, pictures, strict=True)}


def changing_panels(puzzle: Puzzle) -> list[Panel]:
    """The question, the answer unless it was found, and the predictions that are not the same as the one before."""
    first, *others = puzzle.trace_panels(sorted(puzzle.predictions))
    trace = [first, *(panel for panel in others if panel.is_changed.any())]
    answer = (
        [] if puzzle.answer is None or not trace[-1].is_wrong.any() else [puzzle.answer_panel(puzzle.answer)]
    )
    return [puzzle.question_panel(), *answer, *trace]
