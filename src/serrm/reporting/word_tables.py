"""Tables of words beside the paper's: ways to spend steps, demonstration pairs, what was run."""

from collections.abc import Iterator, Mapping

from serrm.reporting.cells import DASH, NOT_RUN, percent
from serrm.reporting.names import duration, model_name, set_name, task_name
from serrm.reporting.notes import Note, by_name, data_notes
from serrm.reporting.results import Effort, Evaluation, Results, ScoredSet, all_runs
from serrm.reporting.tables import Table, Words

EFFORTS = (
    *("Task", "Model", "Way", "Steps at most", "Attempts at most", "Mean steps"),
    "FSR, percent (95% interval)",
)
EFFORTS_CAPTION = (
    "Fully solved rate against the mean number of supervision steps that a puzzle took, all attempts together: "
    "fixed depth as in table 2, adaptive depth (a puzzle stops when its answer is verified or has settled), and "
    "breadth (several attempts at a puzzle, from other initial states, on symmetric images, or with blanks filled in "
    "by guesses of the network; a guess takes 4 steps)."
)
PAIRS = ("Task", "Model", "Steps", "Pairs reproduced", "Their cells", "Scored on", "pass@1", "pass@2")
PAIRS_CAPTION = (
    "Demonstration pairs of the scored puzzles, which the model was trained on: the share whose whole grid it "
    "gives back, and the share of right cells, with their own task types, untransformed and at the corner of the "
    "canvas; beside them pass@k on the same puzzles' test inputs. Percent with 95% Wilson intervals; n counts pairs, "
    "cells and puzzles."
)
PAIRS_NOTE = "Pairs reproduced are training data: no score of the paper, and none to set beside a test score."
RUNS = (
    *("Task", "Model", "Seed", "Parameters", "Training puzzles", "Steps", "Samples", "Operations", "Time"),
    *("Puzzle-steps a second", "Peak memory", "Last loss", "Device"),
)
RUNS_CAPTION = (
    "One line a training. Parameters without the table of task-type embeddings, and what it adds; optimiser steps; "
    "operations: of all matrix products, two a multiply-add; a puzzle-step is one supervision step of one puzzle, "
    "forward and backward."
)


def word_tables(results: Results) -> Iterator[Table]:
    """All of them; of steps and pairs one line, "not run", where the metric files tell of none."""
    runs = all_runs(results)
    seeds = {run.name: f" (seed {run.seed})" if len(results[run.task, run.model]) > 1 else "" for run in runs}
    efforts = tuple(row for run in runs if run.efforts for row in _efforts(run, seeds[run.name]))
    others = [f"{model_name(run.model)} on {task_name(run.task)}" for run in runs if not run.efforts]
    notes: tuple[Note, ...] = (
        (Note(f"At fixed depth alone: {', '.join(dict.fromkeys(others))}."),) if others else ()
    )
    notes += _data(results, [run for run in runs if run.efforts])
    nothing = (DASH, DASH, "adaptive depth, breadth", *[NOT_RUN] * 4)
    title, rows = "Depth that adapts, and breadth", efforts or (nothing,)
    yield Table("2-effort", title, EFFORTS_CAPTION, EFFORTS, rows, notes, bool(efforts))
    pairs = tuple(row for run in runs for row in _pairs(run, seeds[run.name]))
    nothing = (DASH, DASH, DASH, *[NOT_RUN] * 5)
    title, notes = "ARC-AGI: demonstration pairs reproduced", (Note(PAIRS_NOTE),) if pairs else ()
    notes += _data(results, [run for run in runs if any(part.demonstrations for part in run.scored.values())])
    yield Table("3-demonstrations", title, PAIRS_CAPTION, PAIRS, pairs or (nothing,), notes, bool(pairs))
    yield Table("runs", "What was run", RUNS_CAPTION, RUNS, tuple(map(_run, runs)), _data(results, runs))


def _data(results: Results, shown: list[Evaluation]) -> tuple[Note, ...]:
    names = by_name(results).items()
    return data_notes({name: seeds for name, seeds in names if any(run in shown for run in seeds)})


def _efforts(run: Evaluation, seed: str) -> Iterator[Words]:
    for effort in [*_fixed_depths(run), *run.efforts]:
        score = percent(effort.fsr, effort.fsr_lo, effort.fsr_hi)
        way = (effort.kind, str(effort.max_steps), str(effort.num), f"{effort.mean_steps:.2f}")
        yield (task_name(run.task), model_name(run.model) + seed, *way, score)


def _fixed_depths(run: Evaluation) -> Iterator[Effort]:
    """The depths at which the set trained for was scored, as efforts; none for a task without FSR."""
    for depth, scores in run.trained_steps.items():
        if "fsr" in scores:
            rates = {key: scores[key] for key in ("fsr", "fsr_lo", "fsr_hi")}
            yield Effort(kind="fixed depth", max_steps=depth, mean_steps=depth, **rates)


def _pairs(run: Evaluation, seed: str) -> Iterator[Words]:
    for name, part in run.sets.items():
        if not isinstance(part, ScoredSet) or part.demonstrations is None:
            continue
        pairs = part.demonstrations
        for steps, scores in pairs.steps.items():
            yield (
                *(task_name(run.task), model_name(run.model) + seed, str(steps)),
                f"{_score(scores, 'pair_fsr')}, n {pairs.num_pairs:,}",
                f"{_score(scores, 'pair_gpa')}, n {pairs.num_cells:,}",
                f"{part.num_puzzles:,} {set_name(name)} puzzles",
                *(_score(part.steps.get(steps, {}), rate) for rate in ("pass_at_1", "pass_at_2")),
            )


def _score(scores: Mapping[str, float], rate: str) -> str:
    return percent(scores[rate], scores[f"{rate}_lo"], scores[f"{rate}_hi"]) if rate in scores else DASH


def _run(run: Evaluation) -> Words:
    info, training = run.model_info, run.training
    memory, rows = training.peak_memory_bytes, info.parameters_with_task_types - info.parameters
    return (
        *(task_name(run.task), model_name(run.model), str(run.seed)),
        f"{info.parameters:,}" + (f" + {rows:,}" if rows else ""),
        *(f"{count:,}" for count in (run.data.train_puzzles, training.steps, training.samples)),
        _number(training.operations, ".1e").replace("e+", "e"),
        duration(training.seconds),
        _number(training.puzzles_per_second, ",.0f"),
        _number(memory and memory / 2**30, ".2f") + (" GiB" if memory else ""),
        _number(training.final_loss, ".3f"),
        training.device or DASH,
    )


def _number(value: int | float | None, form: str) -> str:
    return DASH if value is None else format(value, form)
