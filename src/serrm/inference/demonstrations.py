"""How many demonstration pairs of the puzzles it is scored on a model reproduces, at every depth.

Beside pass@k in the metric file; the pairs were trained on, so this says what a training took in, not what it gives.
Paper: none; section "ARC-AGI" describes the data.
"""

from typing import Any

import numpy as np
import torch

from serrm.arrays.arc_demonstrations import ArcDemonstrations
from serrm.config import EvaluateSettings
from serrm.inference.evaluate_sets import rows_at_once
from serrm.inference.predict import predict_logits
from serrm.models.recurrence import RecurrentModel
from serrm.progress import watch
from serrm.puzzles.alphabet import ARC
from serrm.scoring.demonstrations import DemonstrationTally
from serrm.scoring.metrics import added_up
from serrm.training.processes import ALONE, Processes


def score_demonstrations(
    model: RecurrentModel,
    pairs: ArcDemonstrations,
    settings: EvaluateSettings,
    dtype: torch.dtype,
    processes: Processes = ALONE,
) -> dict[str, Any]:
    """Number of pairs and of cells, and the scores at every depth of the settings; several processes share the work."""
    own = _count(model, pairs, settings, dtype, processes)
    of_all = processes.collect(own)
    tallies = {step: added_up([tally[step] for tally in of_all]) for step in own}
    first = tallies[max(tallies)]
    return {
        "num_pairs": first.num_pairs,
        "num_cells": first.num_cells,
        "steps": {str(step): tally.scores() for step, tally in tallies.items()},
    }


def _count(
    model: RecurrentModel,
    pairs: ArcDemonstrations,
    settings: EvaluateSettings,
    dtype: torch.dtype,
    processes: Processes,
) -> dict[int, DemonstrationTally]:
    """What this process's batches give, by depth."""
    tallies = {step: DemonstrationTally() for step in settings.steps}
    side = pairs.arrays.side
    size = rows_at_once(side, settings.batch_size, ARC.num_symbols)
    starts = range(processes.rank * size, len(pairs), processes.num * size)
    is_quiet = not processes.is_first
    for start in watch(starts, "demonstrations", len(starts), unit="batch", is_quiet=is_quiet):
        batch = pairs.gather(start, size)
        tokens = torch.from_numpy(batch.questions.astype(np.int64)).to(model.initial.device)
        vectors = model.task_vectors(torch.from_numpy(batch.task_types).to(model.initial.device))
        for step, logits in predict_logits(model, tokens, ARC.num_symbols, settings.steps, dtype, vectors):
            predicted = logits.argmax(-1).cpu().numpy().astype(np.uint8)
            tallies[step].add(predicted, batch.answers, side)
    return tallies
