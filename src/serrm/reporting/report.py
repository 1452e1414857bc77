"""The last stage: from a profile's scores to metrics.json, curves, tables, figures, and a page with all of them.

What git and DVC keep holds results alone. The page, which they do not keep, fetches nothing, and also shows what the
runs took and where. Equal inputs give equal bytes: the commit and the date are passed in.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from serrm.core.files import json_text, write_whole
from serrm.core.progress import duration
from serrm.drawing.puzzles import EXAMPLES, Panel, Puzzle, load_examples
from serrm.drawing.svg import grid_svg
from serrm.puzzles.tasks import TASKS
from serrm.reporting import tables
from serrm.reporting.claims import UNTESTED, claims_table, judge, overall, tally
from serrm.reporting.conclusion import conclusion
from serrm.reporting.figures import build_figures, training_loss
from serrm.reporting.paper import load_paper, model_name, set_name, task_name
from serrm.reporting.results import Report, Results, all_runs, printed
from serrm.scoring.schema import METRICS_FILE, Evaluation, profile_text
from serrm.training.log import COUNTS, GATHERED, Record, read_training_log


class Inputs(NamedTuple):
    """What the stage reads besides the scores: predictions to look at, training logs, and what the runs took.

    `machine` has the facts of `serrm.core.provenance` by run, as far as they are there; `provenance` is shown as it is.
    """

    examples: Path
    logs: Path
    machine: Mapping[str, Mapping[str, Any]]
    provenance: Mapping[str, str]


def write_report(report: Report, folder: Path, data: Path, inputs: Inputs) -> None:
    """Write scores, curves, tables as Markdown, figures and the page into `folder`, CSV and LaTeX into `data`.

    Only the page shows dates, times and machines; everything else is the same wherever it is made. ValueError, with
    the file, where examples or logs are malformed.
    """
    made, figures = all_tables(report), build_figures(report)
    runs = all_runs(report.results)
    logs = {run.name: read_training_log(inputs.logs / f"{run.name}.csv") for run in runs}
    for path in (folder / "tables", folder / "figures", folder / "curves", data):
        path.mkdir(parents=True, exist_ok=True)  # outputs of the stage, even with nothing in them
    write_whole(folder / METRICS_FILE, profile_text(report.profile, runs))
    write_whole(folder / "scores.json", json_text(headline_scores(runs)))
    for name, text in table_files(report, made).items():
        write_whole(folder / "tables" / name, text)
    for name, text in data_files(made).items():
        write_whole(data / name, text)
    for name, figure in figures.items():
        write_whole(folder / "figures" / f"{name}.svg", figure)
    write_curves(runs, folder / "curves")
    write_whole(folder / "curves" / GATHERED, training_curves(runs, logs))
    on_page = figures | {"training_loss": training_loss(report, logs)}
    write_whole(folder / "report.html", render_page(report, made, on_page, inputs))


def all_tables(report: Report) -> list[tables.Table]:
    """Every table of which something was run, and the claims."""
    return [*tables.build_tables(report), claims_table(report)]


def table_files(report: Report, made: Sequence[tables.Table]) -> dict[str, str]:
    """The tables as Markdown, and the notes and recipes that all tables share, by name of the file."""
    files = {f"{table.name}.md": tables.to_markdown(table) for table in made}
    notes = [f"- {line}" for line in tables.notes(report.results)]
    files["notes.md"] = "\n".join(["### How to read the tables\n", *notes, ""])
    parts = ["### Settings that differ from the runs of the same families in profile `paper`"]
    for recipe in tables.recipes(report):
        parts.append(f"#### {recipe.title}")
        parts += [tables.markdown(frame) for frame in (recipe.settings, recipe.others) if len(frame)]
    files["recipes.md"] = "\n\n".join(parts) + "\n"
    return files


def data_files(made: Sequence[tables.Table]) -> dict[str, str]:
    """The tables as CSV and LaTeX by name of the file."""
    files = {f"{table.name}.csv": tables.to_csv(table.frame) for table in made}
    return files | {f"{table.name}.tex": tables.to_latex(table) for table in made}


def headline_scores(runs: Sequence[Evaluation]) -> dict[str, dict[str, float]]:
    """The main metric of every set after its headline steps by run, in percent, for `dvc metrics`."""
    return {
        run.name: {
            name: round(printed(run.kind, run.main_metric, part.steps[part.headline_steps])[0], 2)
            for name, part in run.scored.items()
            if part.task_type == "right"
        }
        for run in runs
    }


def write_curves(runs: Sequence[Evaluation], folder: Path) -> None:
    """Write depth.csv and learning.csv for `dvc plots`, in percent; `solved` is the metric of tables 1 and 3."""
    depth, learning = list[dict[str, Any]](), list[dict[str, Any]]()
    has_seeds = len({run.seed for run in runs}) > 1
    for run in runs:
        task, seed = task_name(run.task), f", seed {run.seed}" if has_seeds else ""
        model = f"{model_name(run.model)}{seed}"
        for point in run.learning_curve:
            at = {"step": point.step, "samples": point.samples, "loss": point.loss}
            learning.append({"panel": task, "model": model, **at, **_rates(run, point.scores)})
        for name, part in run.scored.items():
            names = {"panel": f"{task} {set_name(name)}", "model": model}
            depth += [{**names, "steps": num, **_rates(run, scores)} for num, scores in part.steps.items()]
    for name, points, counts in (
        ("depth", depth, ["steps"]),
        ("learning", learning, ["step", "samples", "loss"]),
    ):
        frame = pd.DataFrame(points, columns=["panel", "model", *counts, "solved", "gpa"])
        write_whole(folder / f"{name}.csv", tables.to_csv(frame))


def training_curves(runs: Sequence[Evaluation], logs: Mapping[str, Sequence[Record]]) -> str:
    """The training logs of all runs, by name, as one CSV file, with six significant digits."""
    lines = [
        {"run": run.name, "task": task_name(run.task), **record} for run in runs for record in logs[run.name]
    ]
    frame = pd.DataFrame(lines, columns=None if lines else ["run", "task", *COUNTS])
    return frame.to_csv(index=False, lineterminator="\n", float_format="%.6g")


def _rates(run: Evaluation, scores: Mapping[str, float]) -> dict[str, float | None]:
    metrics = {"solved": run.main_metric, "gpa": "gpa"}
    return {name: round(100 * scores[each], 2) if each in scores else None for name, each in metrics.items()}


def render_page(
    report: Report,
    made: Sequence[tables.Table],
    figures: Mapping[str, str],
    inputs: Inputs,
) -> str:
    """The page as HTML, with tables, figures by name as SVG documents, and pictures of the examples."""
    page = Environment(
        loader=PackageLoader("serrm.reporting"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page.filters["intervals"] = intervals
    runs, named = all_runs(report.results), {table.name: table for table in made}
    headline, judged = tables.headline(report), judge(report)
    return page.get_template("report.html.j2").render(
        profile=report.profile,
        num_runs=len(runs),
        costs=costs(runs, inputs.machine),
        easier=tables.easier(report.results),
        headline=headline.frame,
        headline_notes=[*headline.notes, *headline.omitted],
        tables=named,
        # Names of tables and figures in the order of the page; the others follow in sections of their own.
        placed=[],
        shown=[],
        conclusion=conclusion(report),
        tally=tally(judged),
        untested=[
            load_paper().claims[key].says for key, parts in judged.items() if overall(parts) == UNTESTED
        ],
        figures={name: b64encode(svg.encode()).decode() for name, svg in figures.items() if svg},
        examples=[*shown_examples(report.results, inputs.examples)],
        legends=dict.fromkeys(f"In {TASKS[run.kind].name}, {TASKS[run.kind].look.legend}." for run in runs),
        notes=tables.notes(report.results),
        recipes=tables.recipes(report),
        provenance=inputs.provenance,
        hashes=dict.fromkeys((task_name(run.task), run.data.hash) for run in runs),
    )


def costs(runs: Sequence[Evaluation], machine: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """What the trainings took, as far as it is known here."""
    lines = []
    for run in runs:
        if training := machine.get(run.name, {}).get("training"):
            lines.append(
                {
                    "Run": run.name,
                    "Time": duration(training["seconds"]),
                    "Puzzle-steps per second": f"{training['puzzle_steps_per_second']:,.0f}",
                    "Memory": f"{training['peak_memory_bytes'] / 1e9:.1f} GB",
                    "Machine": f"{training['device']}, {training['threads']} threads, {training['cpu']}",
                }
            )
    return pd.DataFrame(lines)


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
