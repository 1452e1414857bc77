"""report.html: one self-contained page of everything a profile gave, in the order a reader asks for it.

Figures and style are in the page and nothing is fetched. Equal inputs give equal bytes: what changes from run to run,
such as the commit and the date, is passed in.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from serrm.drawing.files import EXAMPLES, Example, load_examples
from serrm.drawing.panels import as_tokens
from serrm.drawing.svg import grid_svg
from serrm.reporting.claims import tally
from serrm.reporting.headline import headline
from serrm.reporting.names import duration, metrics_of, model_name, set_name, task_name
from serrm.reporting.results import Evaluation, Results, all_runs
from serrm.reporting.tables import Report, Table, notes, recipes

MOST_SIDE = 30  # of a grid on the page


def render_page(
    report: Report,
    tables: Sequence[Table],
    figures: Mapping[str, str],
    examples: Path,
    provenance: Mapping[str, str],
) -> str:
    """The page as HTML: figures by name as SVG documents, the folder of examples, labels and values such as the commit.

    ValueError, with the file, where examples are malformed.
    """
    page = Environment(
        loader=PackageLoader("serrm.reporting"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    runs, named = all_runs(report.results), {table.name: table for table in tables}
    frame, headline_notes = headline(report.results, report.settings.init)
    images = {name: b64encode(svg.encode()).decode() for name, svg in figures.items()}
    return page.get_template("report.html.j2").render(
        profile=report.profile,
        num_runs=len(runs),
        total_time=duration(sum(run.training.seconds for run in runs)),
        headline=frame,
        headline_notes=headline_notes,
        tables=named,
        tally=tally(named["claims"].frame),
        figures=images,
        examples=[*shown_examples(report.results, examples)],
        notes=notes(report.results),
        recipes=recipes(report),
        provenance=provenance,
        hashes=dict.fromkeys((task_name(run.task), run.data.hash) for run in runs if run.data.hash),
    )


def shown_examples(results: Results, folder: Path) -> Iterator[dict[str, Any]]:
    """Pictures of some examples of the first seed of every model that has any, those of a task's best model first.

    Of the set trained for, the first puzzle that was solved and the first that was not; of other sets the first one.
    """
    found: dict[str, list[tuple[Evaluation, list[Example]]]] = {}
    for (task, _), (run, *_) in results.items():
        if (path := folder / run.name / EXAMPLES).is_file():
            found.setdefault(task, []).append((run, load_examples(path).examples))
    for files in found.values():
        best = max((run for run, _ in files), key=_solved)
        for run, examples in sorted(files, key=lambda file: file[0] is not best):
            for number, example in enumerate(_chosen(examples)):
                yield {**_pictures(run, example), "is_open": run is best and number < 2}


def _solved(run: Evaluation) -> float:
    steps = run.scored[run.trained_set].steps if run.scored else {0: {}}
    return steps[max(steps)].get(metrics_of(run.task)[0], 0.0)


def _chosen(examples: Sequence[Example]) -> Iterator[Example]:
    names = dict.fromkeys(example.set for example in examples if example.side <= MOST_SIDE)
    main = "9x9" if "9x9" in names else next(iter(names), "")
    for name in sorted(names, key=lambda name: name != main):
        members = [example for example in examples if example.set == name]
        right = [example for example in members if example.is_right][:1]
        wrong = [example for example in members if not example.is_right][:1]
        yield from (right + wrong if name == main else members[:1])


def _pictures(run: Evaluation, example: Example) -> dict[str, Any]:
    item = example.item(run.task)
    of_set = "" if example.set == "evaluation" else f"{set_name(example.set)} "
    heading = f"{model_name(run.model)} on {of_set}{task_name(run.task)}, {example.name}"
    answer = item.puzzle.answer_panel(as_tokens(example.answer))
    panels = [("question", item.puzzle.question_panel())]
    for steps, panel in zip(sorted(item.trace), item.puzzle.trace_panels(item.trace), strict=True):
        panel = replace(panel, is_changed=panel.is_changed & (panel.look == "digits"))
        remark = f": {panel.remark}" if panel.remark else ""
        panels.append((f"after {steps} step{'s' * (steps > 1)}{remark}", panel))
    grids = [
        (words, Markup(grid_svg(panel, f"{heading}: {words}")))
        for words, panel in [*panels, ("answer", answer)]
    ]
    return {"heading": heading, "is_right": example.is_right, "grids": grids}
