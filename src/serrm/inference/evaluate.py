"""Scores of a checkpoint and its snapshots on its data set's test sets, after several numbers of supervision steps.

On square grids one answer per puzzle is judged by the task's rule or label (here); on ARC-AGI answers vote (`votes`).
Processes share the batches. Test-time compute and symbol equivariance are measured by `compute` and `equivariance`.
(Tables 1 to 3, figures 1, A1 and A2 of the paper.)
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from serrm.arrays import training_hash
from serrm.arrays.groups import Groups, read_groups
from serrm.arrays.stream import PuzzleArrays, list_test_sets, open_arrays, open_file_sets, set_of_side
from serrm.core.devices import prepare_device, seed_global
from serrm.core.execution import Execution
from serrm.core.processes import ALONE, joined_by_torchrun
from serrm.inference import predict
from serrm.inference.compute import compute_scores
from serrm.inference.equivariance import equivariance, symmetric_questions
from serrm.inference.predictions import Predictions, predict_set
from serrm.inference.settings import ScoringSettings, usual_headline_steps
from serrm.inference.votes import arc_questions, count_votes, score_arc
from serrm.kernels.accelerate import accelerate
from serrm.kernels.precision import arithmetic, resolved_precision
from serrm.models.layers import DTYPES
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS
from serrm.scoring.groups import group_scores
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
from serrm.scoring.tally import tally_of
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
            loaded.model, allows_native=execution.native, compiles=compiles, allows_triton=execution.triton
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
        compute = compute_scores(predictor, arrays, run)
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
            **compute._asdict(),
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
    """Describe the model of a checkpoint with its size."""
    return ModelInfo(
        family=config.run.model.family,
        parameters=config.parameters,
        parameters_with_task_types=config.parameters_with_task_types,
    )


def training_of(loaded: predict.LoadedModel, weights: str) -> Training:
    """Describe the training of a checkpoint whose weights have this sha256."""
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
    """Describe the puzzles that a checkpoint was trained on."""
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
    """Score the snapshots on the first puzzles of the set of the size trained on, by samples processed.

    Loads every snapshot into the model; a complete curve leaves the weights of the last one, those of the checkpoint.
    """
    num, num_steps = run.evaluate.curve_puzzles, run.evaluate.curve_steps
    for path in predictor.loaded.snapshots if num else ():
        facts = predict.load_snapshot(predictor.loaded.model, path)
        if not isinstance(TASKS[run.task], GridTask):
            votes = count_votes(predictor, arc_questions(predictor.loaded, arrays, num), (num_steps,))
            scores = votes[num_steps].scores()
        elif (puzzles := predict.puzzles_of_trained_size(predictor.loaded, arrays)) is not None:
            scored = score_set(predictor, puzzles.first(num), (num_steps,))
            assert isinstance(scored, ScoredSet), "a size that the model was trained on"
            scores = scored.steps[num_steps]
        else:
            return
        yield CurvePoint(
            step=int(facts["step"]), samples=int(facts["samples"]), loss=facts["loss"], scores=scores
        )


def score_sets(
    predictor: predict.Predictor, arrays: Path, run: ScoringSettings, predictions: Predictions
) -> dict[str, ScoredSet | RefusedSet]:
    """Score every test set of a data set with square grids, by name; those of users' files come last."""
    sets: dict[str, tuple[PuzzleArrays, str | None]] = {}
    for name in list_test_sets(arrays):
        sets[name] = open_arrays(arrays, name), None
    for entry in run.tests:
        for puzzles in open_file_sets(arrays, entry):
            if puzzles.name in sets:
                raise ValueError(f"tests.{entry}: {run.data_set} has a test set of the name {puzzles.name}")
            sets[puzzles.name] = puzzles, entry
    settings, scores = run.evaluate, dict[str, ScoredSet | RefusedSet]()
    for name, (puzzles, tests_entry) in sets.items():
        scores[name] = score_set(
            predictor,
            puzzles,
            settings.steps,
            settings.steps_of_headline,
            settings.num_puzzles_after,
            read_groups(arrays, name) if tests_entry is None else None,
            predictions,
        ).model_copy(update={"of_file": tests_entry})
    return scores


def score_set(
    predictor: predict.Predictor,
    puzzles: PuzzleArrays,
    steps: Sequence[int],
    headline: int | None = None,
    num_puzzles_after: Mapping[int, int] = {},
    groups: Groups | None = None,
    predictions: Predictions | None = None,
) -> ScoredSet | RefusedSet:
    """Score one set after each number of steps, or name the reason why the model cannot take its size.

    The result also says which puzzles were solved after `headline` steps, and after the most steps. `predictions` takes
    those for the set. The steps in `num_puzzles_after` are taken with the first puzzles alone, the other ones with all.
    """
    if reason := predict.refusal(predictor.loaded.model, puzzles.side, puzzles.num_symbols):
        return RefusedSet(side=puzzles.side, reason=reason)
    nums = {step: min(num_puzzles_after.get(step, len(puzzles)), len(puzzles)) for step in steps}
    predicted = predict_set(predictor, puzzles, nums, {} if groups is None else groups.groups)
    if predictions is not None:
        predictions.sets.append(predicted)
    tallies = {step: tally_of(predicted, puzzles.task, step) for step in steps}
    headline, most = headline or usual_headline_steps(steps), max(steps)
    solved = predicted.after[headline].solved
    fewer = {step: num for step, num in nums.items() if num < len(puzzles)}
    is_kept = most != headline and most not in fewer
    return ScoredSet(
        side=puzzles.side,
        num_puzzles=len(puzzles),
        num_blank=tallies[min(steps)].sums["gpa"]["num"],  # GPA is a mean over blank cells
        steps={step: tally.scores() for step, tally in tallies.items()},
        num_puzzles_after=fewer or None,
        headline_steps=headline,
        puzzles_digest=digest(puzzles.questions, puzzles.answers),
        solved=pack(solved),
        solved_after_most=pack(predicted.after[most].solved) if is_kept else None,
        groups=None if groups is None else group_scores(solved.astype(np.float64), *groups),
    )
