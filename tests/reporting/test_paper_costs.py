"""The costs of the paper's runs in paper.yaml are what the code counts for profile `paper`."""

from pathlib import Path

from serrm.config import read_params
from serrm.models.flops import flops
from serrm.models.recurrence import num_parameters
from serrm.reporting.flops import model_on_meta, sizes_of
from serrm.reporting.paper import Cost, load_paper


def test_the_costs_of_the_paper_are_those_of_the_code() -> None:
    paper = read_params(Path(__file__).parents[2] / "profiles" / "paper.yaml")
    counted = {}
    for name, entry in paper.runs.items():
        run, counts = paper.run_settings(name), paper.counts(entry.data_set)
        num_samples = run.train.num_optimiser_steps(counts.num_train) * run.train.batch_size
        counted[f"{entry.data_set}/{paper.variant(name)}"] = Cost(
            parameters=num_parameters(model_on_meta(run, counts.side)),
            flops=num_samples * flops(run.model, sizes_of(run, counts.side), run.train.halting),
        )
    assert load_paper().costs == counted
