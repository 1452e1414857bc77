"""Scores of a checkpoint: every test set of its task at several depths, its snapshots, and further measurements.

On square grids one answer per puzzle is compared with the label; on ARC-AGI the answers to the augmentations of a test
input vote. Every process counts its share of the batches, batch by batch in constant memory. Where the settings ask for
it, ARC-AGI is also scored with blank (all zeros) and random rows of the task-type table, which shows what the model
makes of a puzzle without its row. Test-time compute and equivariance are measured on puzzles of the size trained on.
(Tables 1 to 3, figures 1, A1 and A2 of the paper, its section "ARC-AGI"; test-time compute is an extension.)
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Shaped, UInt8
from torch import Tensor

from serrm.arrays.arc import ARRAYS, ArcEvaluation, open_arc_evaluation
from serrm.arrays.stream import Examples, PuzzleArrays, Stream, evaluation_sets, open_arrays, trained_size
from serrm.core.devices import prepare_device
from serrm.core.execution import Execution
from serrm.core.files import new_directory
from serrm.core.processes import ALONE, Processes, joined_by_torchrun
from serrm.core.progress import watch
from serrm.core.randomness import Purpose, keyed_rng
from serrm.inference import predict
from serrm.inference.search import Limits, Search, search
from serrm.inference.settings import HEADLINE_STEPS, ComputeSettings, ScoringSettings, usual_headline
from serrm.kernels.accelerate import accelerate
from serrm.kernels.precision import arithmetic, resolved_precision
from serrm.models.layers import DTYPES
from serrm.models.q_head import HALT, rounded_sigmoid
from serrm.models.recurrence import RecurrentModel
from serrm.puzzles.arc.grids import PADDING, decoded_sizes
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS, alphabet, grid_task
from serrm.scoring.metrics import NUM_ANSWERS, metrics_of
from serrm.scoring.schema import (
    CurvePoint,
    Equivariance,
    Evaluation,
    ModelInfo,
    PermutedPuzzle,
    RefusedSet,
    ScoredSet,
    TaskType,
    Training,
    TrainingData,
    pack,
)
from serrm.scoring.schema import (
    Search as SearchScores,
)
from serrm.scoring.tally import ArcTally, Tally, rates, submission

EXAMPLES, SUBMISSION = "examples.json", "submission.json"
Votes = dict[int, ArcTally]  # by number of supervision steps


@dataclass
class Gallery:
    """Predictions for pictures of the first `num` puzzles of each set, and ARC's submission.

    `serrm show`, MLflow's pictures and the report draw from the files it writes.
    """

    task: str
    num: int
    examples: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    submission: dict[str, Any] | None = None

    def add(
        self, of: str, side: int, found: predict.Predicted, name: Callable[[int], str], votes: int = 1
    ) -> None:
        """Keep a batch's predictions for the first puzzles of a set, the first of each puzzle's `votes`.

        A model trained on larger grids may answer with symbols outside this size's alphabet; they become padding, 0.
        """
        examples, known = self.examples.setdefault(of, {}), alphabet(self.task, side).num_symbols
        for row, predicted in enumerate(found.tokens):
            number, vote = divmod(found.start + row, votes)
            if vote or number >= self.num:
                continue
            question, answer = found.batch.questions[row], found.batch.answers[row]
            grids = {"question": question.tolist(), "answer": answer.tolist(), "predictions": {}}
            example = examples.setdefault(number, {"set": of, "side": side, "name": name(number), **grids})
            example["predictions"][str(found.step)] = np.where(predicted < known, predicted, 0).tolist()
            example["is_right"] = bool(np.array_equal(predicted, answer))

    def share(self, processes: Processes) -> None:
        """Collect what the processes have kept; all call this together."""
        seen: dict[str, dict[int, dict[str, Any]]] = {}
        for own in processes.collect(self.examples):
            for of, examples in own.items():
                seen.setdefault(of, {}).update(examples)
        self.examples = {of: dict(sorted(examples.items())) for of, examples in seen.items()}

    def write(self, target: Path) -> None:
        """Write examples.json, and submission.json where there is one, to a new folder `target`."""
        with new_directory(target) as folder:
            examples = [example for of_set in self.examples.values() for example in of_set.values()]
            content = {"task": self.task, "examples": examples}
            (folder / EXAMPLES).write_text(json.dumps(content) + "\n", encoding="utf-8")
            if self.submission is not None:
                (folder / SUBMISSION).write_text(json.dumps(self.submission) + "\n", encoding="utf-8")


def evaluate(
    checkpoint: Path, arrays: Path, run: ScoringSettings, execution: Execution
) -> tuple[Evaluation, Gallery]:
    """Score a checkpoint on every test set of `arrays`, and its snapshots for the learning curve.

    Processes under torchrun share the batches, and all have the same scores. Dropout at evaluation draws its masks in
    the order of a single process, so with it each process scores all batches. Returns the scores, and predictions for
    pictures.
    """
    settings, gallery = run.evaluate, Gallery(run.kind, run.evaluate.examples)
    has_dropout = run.fidelity.dropout_at_evaluation
    with joined_by_torchrun(execution.device) as processes:
        device = prepare_device(execution.device, execution.threads, processes)
        loaded = predict.load_model(checkpoint, device, has_dropout=has_dropout)
        compiles = settings.compile and device.type != "cpu"
        accelerate(loaded.model, is_native=execution.native, compiles=compiles)
        precision = processes.collect(resolved_precision(settings.precision, device))[0]
        torch.manual_seed(run.seed)  # for dropout
        shared = ALONE if has_dropout else processes
        predictor = predict.Predictor(loaded, settings.batch_size, DTYPES[precision], shared)
        if isinstance(TASKS[run.kind], GridTask):
            sets = score_sets(predictor, arrays, run, gallery)
            trained_set = trained_size(arrays, loaded.config["side"]) or ""
        else:
            sets = score_votes(predictor, arrays, run, gallery)
            trained_set = next(iter(sets))
        gallery.share(shared)
        asked = symmetric_questions(loaded, arrays) if settings.equivariance_pairs else None
        pairs = asked and equivariance(predictor, asked, settings.equivariance_pairs, run.seed)
        early_stopping, guesses = compute_points(predictor, arrays, run)
        evaluation = Evaluation(
            profile=run.profile,
            name=run.name,
            task=run.task,
            kind=run.kind,
            model=run.variant,
            seed=run.seed,
            arithmetic=arithmetic(precision, device, is_native=execution.native, compiles=compiles),
            model_info=model_info(loaded),
            training=training_of(loaded),
            data=TrainingData(
                source=run.source,
                source_kind=run.source_kind,
                side=loaded.config["side"],
                train_puzzles=loaded.config["training"]["train_puzzles"],
                hash=loaded.config["data_hash"],
            ),
            sets=sets,
            trained_set=trained_set,
            early_stopping=early_stopping,
            guesses=guesses,
            equivariance=pairs,
            learning_curve=tuple(learning_curve(predictor, arrays, run)),
        )
    return evaluation, gallery


def model_info(loaded: predict.LoadedModel) -> ModelInfo:
    """The model of a checkpoint with its size."""
    config = loaded.config
    return ModelInfo(
        family=loaded.settings.model.family,
        parameters=config["parameters"],
        parameters_with_task_types=config["parameters_with_task_types"],
    )


def training_of(loaded: predict.LoadedModel) -> Training:
    """The training of a checkpoint."""
    kept = ("arithmetic", "steps", "samples", "flops", "final_loss")
    facts = {name: loaded.config["training"][name] for name in kept}
    return Training(settings=loaded.settings.digest(), **facts)


def symmetric_questions(loaded: predict.LoadedModel, arrays: Path) -> PuzzleArrays | ArcEvaluation | None:
    """A set of puzzles whose symbols may be permuted, or ARC's test inputs; None if there is none."""
    task = TASKS[loaded.settings.kind]
    if not task.permuted:
        return None
    if isinstance(task, GridTask):
        return of_trained_size(loaded, arrays)
    return open_arc_evaluation(arrays, num_variants=1)


def learning_curve(predictor: predict.Predictor, arrays: Path, run: ScoringSettings) -> Iterator[CurvePoint]:
    """Scores of the snapshots on the first puzzles of the set of the size trained on, by samples processed."""
    num, step = run.evaluate.curve_puzzles, run.evaluate.curve_steps
    for path in predictor.loaded.snapshots if num else ():
        facts = predict.load_snapshot(predictor.loaded.model, path)
        if not isinstance(TASKS[run.kind], GridTask):
            questions = arc_questions(predictor, arrays, num)
            own = vote(predictor, questions, (step,), ties_by_halting=run.fidelity.ties_by_halting)
            scores = pooled(predictor.processes.collect(own))[step].scores()
        elif (puzzles := of_trained_size(predictor.loaded, arrays)) is not None:
            part = score_set(predictor, puzzles.first(num), (step,))
            assert isinstance(part, ScoredSet), "a size that the model was trained on"
            scores = part.steps[step]
        else:
            return
        yield CurvePoint(
            step=int(facts["step"]),
            samples=int(facts["samples"]),
            loss=facts["loss"],
            scores=scores,
        )


# Tasks on square grids.


def of_trained_size(loaded: predict.LoadedModel, arrays: Path) -> PuzzleArrays | None:
    """The test puzzles of the size trained on; None if the task's arrays have no such set."""
    name = trained_size(arrays, loaded.config["side"])
    return None if name is None else open_arrays(arrays, name)


def score_sets(
    predictor: predict.Predictor, arrays: Path, run: ScoringSettings, gallery: Gallery
) -> dict[str, ScoredSet | RefusedSet]:
    """Score every test set of a task on square grids, by name."""
    return {
        name: score_set(
            predictor, open_arrays(arrays, name), run.evaluate.steps, run.evaluate.headline, gallery
        )
        for name in evaluation_sets(arrays)
    }


def score_set(
    predictor: predict.Predictor,
    puzzles: PuzzleArrays,
    steps: Sequence[int],
    headline: int | None = None,
    gallery: Gallery | None = None,
) -> ScoredSet | RefusedSet:
    """Scores of one set after each number of steps, or the reason why the model cannot take its size.

    `headline` is the number of steps after which it is kept which puzzles were solved.
    """
    task = grid_task(puzzles.task)
    assert task.blank is not None
    if reason := predict.refusal(predictor.loaded.model, puzzles.side, puzzles.num_symbols):
        return RefusedSet(side=puzzles.side, reason=reason)
    tallies = {step: Tally(task.blank, metrics_of(puzzles.task)) for step in steps}
    shown = headline or usual_headline(steps)
    solved: dict[int, Bool[np.ndarray, " B"]] = {}  # by the number of a batch's first puzzle
    for found in predictor.batches(puzzles, steps, f"evaluating {puzzles.name}"):
        tallies[found.step].add(found.batch.questions, found.tokens, found.batch.answers)
        if found.step == shown:
            solved[found.start] = (found.tokens == found.batch.answers).all(axis=1)
        if gallery is not None:
            gallery.add(puzzles.name, puzzles.side, found, lambda n: f"{puzzles.name} puzzle {n + 1}")
    for tally in tallies.values():
        first, *others = predictor.processes.collect(tally.counts)
        tally.counts = first
        for counts in others:
            tally.counts.update(counts)
    of_all = {start: part for each in predictor.processes.collect(solved) for start, part in each.items()}
    counts = tallies[steps[0]].counts
    return ScoredSet(
        side=puzzles.side,
        num_puzzles=counts["fsr", "num"],
        num_blank=counts["gpa", "num"],
        steps={step: tally.scores() for step, tally in tallies.items()},
        headline_steps=shown,
        puzzles=digest(puzzles.questions, puzzles.answers),
        solved=pack(np.concatenate([of_all[start] for start in sorted(of_all)])),
    )


def digest(*arrays: Shaped[np.ndarray, "..."]) -> str:
    """The first 16 hexadecimal digits of a sha256 over the bytes of arrays: a name for the puzzles of a test set."""
    content = hashlib.sha256()
    for array in arrays:
        content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()[:16]


# ARC-AGI.


def score_votes(
    predictor: predict.Predictor, arrays: Path, run: ScoringSettings, gallery: Gallery
) -> dict[str, ScoredSet | RefusedSet]:
    """The sets of ARC-AGI: "evaluation" with the right task types, "evaluation, blank task type" and so on.

    If training puzzles are held out, the names of the sets begin with "held_out" instead. The gallery also takes the
    submission.
    """
    questions, sets = arc_questions(predictor, arrays), dict[str, ScoredSet | RefusedSet]()
    for kind in run.evaluate.task_types:
        name = questions.name if kind == "right" else f"{questions.name}, {kind} task type"
        tallies = pooled(predictor.processes.collect(votes(predictor, questions, run, kind, gallery)))
        if kind == "right":
            gallery.submission = dict(submission(tallies[max(tallies)]))
        sets[name] = vote_scores(questions, tallies, kind, run.evaluate.headline)
    return sets


def vote_scores(
    questions: ArcEvaluation, tallies: Votes, kind: TaskType = "right", headline: int | None = None
) -> ScoredSet:
    """The scores of the votes with one kind of task type; of every puzzle after the steps of the headline."""
    shown = headline or usual_headline(tallies)
    return ScoredSet(
        side=questions.side,
        num_puzzles=len(questions.answers()),
        task_type=kind,
        num_test_inputs=len(questions.arrays),
        num_variants=questions.num_votes,
        steps={step: tally.scores() for step, tally in tallies.items()},
        headline_steps=shown,
        puzzles=digest(questions.arrays.questions, questions.arrays.answers),
        credits=tuple(tallies[shown].credits(NUM_ANSWERS).values()),
    )


def arc_questions(predictor: predict.Predictor, arrays: Path, num: int | None = None) -> ArcEvaluation:
    """The test inputs, or the first `num` of them, in the augmentations that the model was trained on."""
    trained = predictor.loaded.settings
    num_variants, twice = trained.arrays.num_augmentations + 1, trained.fidelity.identity_twice
    questions = open_arc_evaluation(arrays, num_variants, has_identity_twice=twice)
    first = {name: vars(questions.arrays)[name][:num] for name in ARRAYS}
    return replace(questions, arrays=replace(questions.arrays, **first))


def votes(
    predictor: predict.Predictor,
    questions: ArcEvaluation,
    run: ScoringSettings,
    kind: TaskType,
    gallery: Gallery,
) -> Votes:
    """The votes of the checkpoint, or with `aggregated_voting` (a published fault) of all its snapshots.

    ValueError if it has no snapshots then.
    """
    voted = partial(
        vote,
        predictor,
        questions,
        run.evaluate.steps,
        kind=kind,
        seed=run.seed,
        ties_by_halting=run.fidelity.ties_by_halting,
    )
    snapshots = predictor.loaded.snapshots
    if not run.fidelity.aggregated_voting:
        return voted(gallery=gallery)
    if not snapshots:
        raise ValueError("aggregated_voting: the checkpoint has no snapshots whose votes could be pooled")
    of_all = []
    for path in snapshots:
        predict.load_snapshot(predictor.loaded.model, path)
        of_all.append(voted(gallery=gallery if path == snapshots[-1] else None))
    return pooled(of_all)


def vote(
    predictor: predict.Predictor,
    questions: ArcEvaluation,
    steps: Sequence[int],
    *,
    kind: TaskType = "right",
    seed: int = 0,
    ties_by_halting: bool = False,
    gallery: Gallery | None = None,
) -> Votes:
    """The votes of all augmentations after each number of steps, in this process's batches.

    The confidence of a vote, which orders answers with equal votes, is that of its least certain cell, or of halting.
    `seed` draws random task types.
    """
    tallies, num_votes = {step: ArcTally(questions.answers()) for step in steps}, questions.num_votes
    vectors = partial(task_vectors, predictor.loaded.model, kind, seed)
    loss = predictor.loaded.settings.train.loss

    def name(number: int) -> str:
        ((puzzle, test),) = questions.inputs(number * num_votes, 1)
        return f"{puzzle}, test {test + 1}"

    for found in predictor.batches(questions, steps, "voting", vectors):
        inputs = questions.inputs(found.start, len(found.tokens))
        grids, certain = questions.undo(found.start, found.tokens), predict.confidences(found.logits, loss)
        if ties_by_halting and found.halting is not None:
            certain = rounded_sigmoid(found.halting[:, HALT])
        for (puzzle, test), grid, confidence in zip(inputs, grids, certain.tolist(), strict=True):
            tallies[found.step].add(puzzle, test, grid, confidence)
        if kind == "right" and gallery is not None:
            gallery.add(questions.name, questions.side, found, name, num_votes)
    return tallies


def pooled(of_all: Sequence[Votes]) -> Votes:
    """Add the votes of all processes, or snapshots, to those of the first."""

    def include(first: Votes, other: Votes) -> Votes:
        for step, tally in first.items():
            tally.include(other[step])
        return first

    return reduce(include, of_all)


def task_vectors(
    model: RecurrentModel, kind: TaskType, seed: int, start: int, batch: Examples
) -> Float[Tensor, "B W"] | None:
    """Rows of the task-type table: the puzzles' own, zeros, or random ones; None for a model without a table."""
    if model.task_types is None:
        return None
    rows = batch.task_types
    if kind == "random":
        rng = keyed_rng(seed, Purpose.TASK_TYPE, start)
        rows = rng.integers(len(model.task_types), size=len(rows))
    vectors = model.task_vectors(torch.from_numpy(rows).to(model.initial.device))
    assert vectors is not None
    return torch.zeros_like(vectors) if kind == "blank" else vectors


def compute_points(
    predictor: predict.Predictor, arrays: Path, run: ScoringSettings
) -> tuple[tuple[SearchScores, ...], tuple[SearchScores, ...]]:
    """The points of test-time compute on the test puzzles of the size trained on.

    None if the settings do not ask for them, or if the task has no rule to verify answers by.
    """
    settings = run.evaluate.test_time_compute
    if settings is None or TASKS[run.kind].verify is None:
        return (), ()
    puzzles = of_trained_size(predictor.loaded, arrays)
    return ((), ()) if puzzles is None else search_points(predictor, puzzles, settings)


def search_points(
    predictor: predict.Predictor, puzzles: PuzzleArrays, settings: ComputeSettings
) -> tuple[tuple[SearchScores, ...], tuple[SearchScores, ...]]:
    """FSR against mean supervision steps per puzzle, on the first puzzles of a set, by two searches.

    Returns a point per limit of steps, each puzzle up to its first verified answer, and a point per limit of attempts,
    of which those after the first have guesses.
    """
    puzzles, first = puzzles.first(settings.num_puzzles), settings.attempt_steps
    limits = () if TASKS[puzzles.task].allows is None else sorted(settings.guesses)
    early_stopping, guesses = list[SearchScores](), list[SearchScores]()
    found = _searched(predictor, puzzles, Limits(max(settings.max_steps)))
    for most in sorted(settings.max_steps):
        num_right = sum(is_right and steps <= most for steps, _, is_right in found)
        early_stopping.append(_point(found, Limits(most), num_right))
    if limits:
        found = _searched(predictor, puzzles, Limits(first, max(limits) - 1))
    for num in limits:
        num_right = sum(is_right and attempts <= num for _, attempts, is_right in found)
        guesses.append(_point(found, Limits(first, num - 1), num_right))
    return tuple(early_stopping), tuple(guesses)


def _searched(
    predictor: predict.Predictor, puzzles: PuzzleArrays, limits: Limits
) -> list[tuple[int, int, bool]]:
    """Each puzzle's steps, attempts, and whether its answer is verified and the label; processes take turns."""
    model, processes = predictor.loaded.model, predictor.processes
    task, num_symbols = TASKS[puzzles.task], puzzles.num_symbols
    own = [Search(n, puzzles.questions[n]) for n in range(processes.rank, len(puzzles), processes.num)]
    asked = watch(own, "test-time compute", unit="puzzle", is_quiet=not processes.is_first)
    rows, found = predictor.rows(puzzles.side, num_symbols), list[tuple[int, int, bool]]()
    loss = predictor.loaded.settings.train.loss
    for each in search(model, asked, num_symbols, task, limits, rows, loss, predictor.dtype):
        is_right = each.is_verified and np.array_equal(each.answer, puzzles.answers[each.key])  # type: ignore[arg-type]
        found.append((each.steps, each.attempts, is_right))
    return [each for part in processes.collect(found) for each in part]


def _point(found: Sequence[tuple[int, int, bool]], limits: Limits, num_right: int) -> SearchScores:
    mean = sum(min(steps, limits.budget) for steps, _, _ in found) / len(found)
    scores = rates({"fsr": (num_right, len(found))})
    return SearchScores(
        num=limits.guesses + 1,
        max_steps=limits.max_steps,
        num_puzzles=len(found),
        mean_steps=mean,
        **scores,
    )


def equivariance(
    predictor: predict.Predictor, asked: PuzzleArrays | ArcEvaluation, num: int, seed: int
) -> Equivariance:
    """Number of predictions for puzzles with permuted symbols that equal the permuted predictions, and the first pair.

    In ARC-AGI only the colours of the decoded grid are compared, and task types that hold colours are permuted too.
    """
    model, usual = predictor.loaded.model, alphabet(predictor.loaded.settings.kind, asked.side).usual
    permutation = np.arange(asked.num_symbols, dtype=np.uint8)
    permutation[list(usual)] = keyed_rng(seed, Purpose.PERMUTATION).permutation(usual)

    def permuted(start: int, num: int) -> Examples:
        return (batch := asked.gather(start, num))._replace(questions=permutation[batch.questions])

    def vectors(_: int, batch: Examples) -> Float[Tensor, "B W"] | None:
        rows = model.task_vectors(torch.from_numpy(batch.task_types).to(model.initial.device))
        moved = torch.from_numpy(permutation).long().to(model.initial.device)
        return None if rows is None else model.embedding.permuted(rows, moved)

    num = min(num, asked.num_examples)
    step = max(predictor.loaded.settings.model.evaluation_steps, default=HEADLINE_STEPS)
    plain = _predicted(predictor, Stream(asked.side, asked.num_symbols, num, asked.gather), step)
    after = _predicted(predictor, Stream(asked.side, asked.num_symbols, num, permuted), step, vectors)
    question = asked.gather(0, 1).questions[0]
    return Equivariance(
        num_pairs=num,
        num_identical=int((permutation[plain] == after).all(axis=1).sum()),
        precision="float32",
        example=PermutedPuzzle(
            side=asked.side,
            permutation=permutation.tolist(),
            question=question.tolist(),
            prediction=plain[0].tolist(),
            permuted_question=permutation[question].tolist(),
            permuted_prediction=after[0].tolist(),
        ),
    )


def _predicted(
    predictor: predict.Predictor, asked: Stream, step: int, vectors: predict.TaskVectors | None = None
) -> UInt8[np.ndarray, "N I"]:
    """Predictions by this process alone, in float32, because equivariance holds only up to rounding.

    In ARC-AGI all cells outside the decoded grid are padding.
    """
    alone = replace(predictor, dtype=torch.float32, processes=ALONE)
    found = alone.batches(asked, (step,), "permuted symbols", vectors)
    tokens = np.concatenate([part.tokens for part in found])
    if isinstance(TASKS[predictor.loaded.settings.kind], GridTask):
        return tokens
    rows, columns = decoded_sizes(tokens, asked.side).T[..., None]
    row, column = np.divmod(np.arange(asked.side**2), asked.side)
    return np.where((row < rows) & (column < columns), tokens, PADDING).astype(np.uint8)
