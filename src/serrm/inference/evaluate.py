"""Scores of a checkpoint and its snapshots on its data set's test sets, after several numbers of supervision steps.

On square grids one answer per puzzle is judged by the task's rule or label (here); on ARC-AGI answers vote (`votes`).
Every process counts its share of the batches, batch by batch. Test-time compute and equivariance are measured by
`studies`. (Tables 1 to 3, figures 1, A1 and A2 of the paper.)
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool

from serrm.arrays import training_hash
from serrm.arrays.groups import read_groups
from serrm.arrays.stream import PuzzleArrays, list_test_sets, open_arrays, open_file_sets, set_of_side
from serrm.core.devices import prepare_device, seed_global
from serrm.core.execution import Execution
from serrm.core.processes import ALONE, joined_by_torchrun
from serrm.inference import predict
from serrm.inference.predictions import Blocks, Predictions, rows_of, set_predictions
from serrm.inference.settings import ScoringSettings, usual_headline_steps
from serrm.inference.studies import (
    compute_by_method,
    compute_points,
    equivariance,
    puzzles_of_trained_size,
    symmetric_questions,
)
from serrm.inference.votes import arc_questions, count_votes, pooled, score_arc
from serrm.kernels.accelerate import accelerate
from serrm.kernels.precision import arithmetic, resolved_precision
from serrm.models.layers import DTYPES
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS, grid_task
from serrm.scoring.groups import group_scores
from serrm.scoring.metrics import metrics_of
from serrm.scoring.schema import (
    CurvePoint,
    Evaluation,
    ModelInfo,
    RefusedSet,
    ScoredSet,
    Training,
    TrainingData,
    digest,
    pack,
)
from serrm.scoring.tally import Tally
from serrm.training.checkpoint import read_config
from serrm.training.identity import weights_sha256
from serrm.training.settings import CheckpointConfig, RunSettings, TrainingFacts


def evaluate(
    checkpoint: Path, arrays: Path, run: ScoringSettings, execution: Execution
) -> tuple[Evaluation, Predictions]:
    """Score a checkpoint on every test set of `arrays`, and its snapshots for the learning curve.

    Processes under torchrun share the batches and return the same scores. Dropout at evaluation draws its masks in the
    order of a single process, so every process then scores all batches. Returns the scores, and the predictions.
    """
    settings, predictions = run.evaluate, Predictions(run.task)
    has_dropout = run.fidelity.dropout_at_evaluation
    with joined_by_torchrun(execution.device) as processes:
        device = prepare_device(execution.device, execution.threads, processes)
        loaded = predict.load_model(checkpoint, device, keeps_dropout=has_dropout)
        compiles = settings.compile and device.type != "cpu"
        accelerate(
            loaded.model,
            allows_native=execution.native,
            compiles=compiles,
            allows_triton=execution.triton,
        )
        precision = processes.collect(resolved_precision(settings.precision, device))[0]
        seed_global(run.seed, device)  # for dropout
        shared = ALONE if has_dropout else processes
        predictor = predict.Predictor(loaded, settings.batch_size, DTYPES[precision], shared)
        if isinstance(TASKS[run.task], GridTask):
            sets = score_sets(predictor, arrays, run, predictions)
            set_of_trained_size = set_of_side(arrays, loaded.config.side) or ""
        else:
            sets = score_arc(predictor, arrays, run, predictions)
            set_of_trained_size = next(iter(sets))
        pairs = None
        if settings.equivariance_pairs and (questions := symmetric_questions(loaded, arrays)) is not None:
            pairs = equivariance(predictor, questions, settings.equivariance_pairs, run.seed)
        first_verified, attempts = compute_points(predictor, arrays, run)
        methods = compute_by_method(predictor, arrays, run)
        # Last, as it loads other weights into the model.
        curve = tuple(learning_curve(predictor, arrays, run))
        evaluation = Evaluation(
            profile=run.profile,
            name=run.name,
            data_set=run.data_set,
            task=run.task,
            variant=run.variant,
            seed=run.seed,
            arithmetic=arithmetic(loaded.model, precision),
            model_info=model_info(loaded.config),
            training=training_of(loaded, weights_sha256(checkpoint)),
            data=training_data(loaded.config, run),
            sets=sets,
            set_of_trained_size=set_of_trained_size,
            first_verified=first_verified,
            attempts=attempts,
            methods=methods,
            equivariance=pairs,
            learning_curve=curve,
        )
    return evaluation, predictions


def check_origin(checkpoint: Path, run: RunSettings, arrays: Path) -> None:
    """Raise ValueError unless a checkpoint was made with these settings, and with the training arrays in place.

    The arrays of imported weights are not known.
    """
    config = read_config(checkpoint)
    differences = ["settings"] if config.settings_digest != run.digest() else []
    if config.data_hash is not None and config.data_hash != training_hash(arrays):
        differences.append("training data")
    if differences:
        what = " and ".join(differences)
        advice = "undo the edit, or train again with `dvc repro`"
        raise ValueError(f"{checkpoint}: trained with other {what} than those in place now; {advice}")


def model_info(config: CheckpointConfig) -> ModelInfo:
    """The model of a checkpoint with its size."""
    return ModelInfo(
        family=config.run.model.family,
        parameters=config.parameters,
        parameters_with_task_types=config.parameters_with_task_types,
    )


def training_of(loaded: predict.LoadedModel, weights: str) -> Training:
    """The training of a checkpoint whose weights have this sha256."""
    config = loaded.config
    facts, optimizer = _facts(config), config.run.train.optimizer
    return Training(
        settings_digest=config.settings_digest,
        weights_sha256=weights,
        arithmetic=facts.arithmetic,
        steps=facts.steps,
        samples=facts.samples,
        flops=facts.flops,
        optimiser_flops=facts.steps * optimizer.product_flops(loaded.model),
        refilled=facts.refilled or None,
        final_loss=facts.final_loss,
    )


def training_data(config: CheckpointConfig, run: ScoringSettings) -> TrainingData:
    """The puzzles that a checkpoint was trained on."""
    assert config.data_hash is not None
    return TrainingData(
        source=run.source,
        source_kind=run.source_kind,
        side=config.side,
        train_puzzles=_facts(config).train_puzzles,
        hash=config.data_hash,
    )


def _facts(config: CheckpointConfig) -> TrainingFacts:
    if config.training is None or config.data_hash is None:
        raise ValueError(
            "imported weights were not trained here, so there is nothing to report of their training"
        )
    return config.training


def learning_curve(predictor: predict.Predictor, arrays: Path, run: ScoringSettings) -> Iterator[CurvePoint]:
    """Scores of the snapshots on the first puzzles of the set of the size trained on, by samples processed.

    Loads every snapshot into the model; a complete curve leaves the weights of the last one, those of the checkpoint.
    """
    num, num_steps = run.evaluate.curve_puzzles, run.evaluate.curve_steps
    for path in predictor.loaded.snapshots if num else ():
        facts = predict.load_snapshot(predictor.loaded.model, path)
        if not isinstance(TASKS[run.task], GridTask):
            questions = arc_questions(predictor, arrays, num)
            local = count_votes(predictor, questions, (num_steps,))
            scores = pooled(predictor.processes.collect(local))[num_steps].scores()
        elif (puzzles := puzzles_of_trained_size(predictor.loaded, arrays)) is not None:
            part = score_set(predictor, puzzles.first(num), (num_steps,))
            assert isinstance(part, ScoredSet), "a size that the model was trained on"
            scores = part.steps[num_steps]
        else:
            return
        yield CurvePoint(
            step=int(facts["step"]),
            samples=int(facts["samples"]),
            loss=facts["loss"],
            scores=scores,
        )


def score_sets(
    predictor: predict.Predictor, arrays: Path, run: ScoringSettings, predictions: Predictions
) -> dict[str, ScoredSet | RefusedSet]:
    """Score every test set of a data set with square grids, by name; those of users' files come last."""
    of_file: dict[str, str | None] = dict.fromkeys(list_test_sets(arrays))
    sets = [open_arrays(arrays, name) for name in of_file]
    for entry in run.tests:
        for puzzles in open_file_sets(arrays, entry):
            if puzzles.name in of_file:
                raise ValueError(f"tests.{entry}: {run.data_set} has a test set of the name {puzzles.name}")
            of_file[puzzles.name] = entry
            sets.append(puzzles)
    scores: dict[str, ScoredSet | RefusedSet] = {}
    for puzzles in sets:
        name, blocks = puzzles.name, Blocks()

        def take_batch(
            predicted: predict.Predicted, side: int = puzzles.side, blocks: Blocks = blocks
        ) -> None:
            rows = rows_of(predicted, grid_task(run.task), side, predictor.loaded.settings)
            blocks[predicted.step, predicted.start] = rows

        part = score_set(
            predictor,
            puzzles,
            run.evaluate.steps,
            run.evaluate.steps_of_headline,
            take_batch,
            run.evaluate.num_puzzles_after,
        )
        changes: dict[str, Any] = {"of_file": of_file[name]}
        groups = read_groups(arrays, name) if of_file[name] is None else None
        if isinstance(part, ScoredSet):
            kinds = {} if groups is None else groups.groups
            predictions.sets.append(set_predictions(puzzles, blocks, kinds, predictor.processes))
            if groups is not None and part.outcomes is not None:
                changes["groups"] = group_scores(part.outcomes, *groups)
        scores[name] = part.model_copy(update=changes)
    return scores


def score_set(
    predictor: predict.Predictor,
    puzzles: PuzzleArrays,
    steps: Sequence[int],
    headline: int | None = None,
    take_batch: Callable[[predict.Predicted], None] | None = None,
    num_puzzles_after: Mapping[int, int] = {},
) -> ScoredSet | RefusedSet:
    """Scores of one set after each number of steps, or the reason why the model cannot take its size.

    The result also says which puzzles were solved after `headline` steps, and after the most steps. `take_batch` gets
    the predictions of every batch. The steps in `num_puzzles_after` are taken with the first puzzles alone, the other
    ones with all.
    """
    task = grid_task(puzzles.task)
    if reason := predict.refusal(predictor.loaded.model, puzzles.side, puzzles.num_symbols):
        return RefusedSet(side=puzzles.side, reason=reason)
    tallies = {step: Tally(task, metrics_of(puzzles.task)) for step in steps}
    headline, most = headline or usual_headline_steps(steps), max(steps)
    # Whether each puzzle is solved, by the number of steps and the number of a batch's first puzzle.
    solved: dict[tuple[int, int], Bool[np.ndarray, " B"]] = {}
    nums = {step: min(num_puzzles_after.get(step, len(puzzles)), len(puzzles)) for step in steps}
    for predicted in _batches(predictor, puzzles, nums):
        batch = predicted.batch
        tallies[predicted.step].add(batch.questions, predicted.predictions, batch.answers)
        if predicted.step in (headline, most):
            are_right = task.are_right(batch.questions, predicted.predictions, batch.answers)
            solved[predicted.step, predicted.start] = are_right
        if take_batch is not None:
            take_batch(predicted)
    for tally in tallies.values():
        of_processes = predictor.processes.collect((tally.sums, tally.cells_by_answer))
        (tally.sums, tally.cells_by_answer), *others = of_processes
        for sums, cells_by_answer in others:
            tally.include(sums, cells_by_answer)
    of_processes = predictor.processes.collect(solved)
    solved = {key: part for of_process in of_processes for key, part in of_process.items()}
    solved_after = {
        step: pack(np.concatenate([solved[key] for key in sorted(solved) if key[0] == step]))
        for step in {headline, most}
    }
    sums = tallies[min(steps)].sums
    fewer = {step: num for step, num in nums.items() if num < len(puzzles)}
    return ScoredSet(
        side=puzzles.side,
        num_puzzles=sums["fsr", "num"],
        num_blank=sums["gpa", "num"],  # GPA is a mean over blank cells
        steps={step: tally.scores() for step, tally in tallies.items()},
        num_puzzles_after=fewer or None,
        headline_steps=headline,
        puzzles_digest=digest(puzzles.questions, puzzles.answers),
        solved=solved_after[headline],
        solved_after_most=solved_after[most] if most != headline and most not in fewer else None,
    )


def _batches(
    predictor: predict.Predictor, puzzles: PuzzleArrays, nums: Mapping[int, int]
) -> Iterator[predict.Predicted]:
    """Predictions after the steps in `nums` for as many first puzzles as they have there, all in their order."""
    ends = sorted(set(nums.values()))
    for start, end in pairwise((0, *ends)):
        steps = [step for step, num in nums.items() if num >= end]
        for predicted in predictor.batches(puzzles.slice(start, end), steps, f"evaluating {puzzles.name}"):
            yield predicted._replace(start=start + predicted.start)
