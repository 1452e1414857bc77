"""Count the parameters and FLOPs of the paper's runs, for headlines: the same as in `make docs`."""

from pathlib import Path

from serrm.config import read_params
from serrm.reporting.paper_costs import write_counted

if __name__ == "__main__":
    write_counted(read_params(Path(__file__).parents[1] / "profiles" / "paper.yaml"))
