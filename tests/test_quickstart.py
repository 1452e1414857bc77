"""The quickstart notebook runs from its first cell to its last."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "quickstart.ipynb"
CHECKS = """
assert answer.status == "verified" and len(answer.trace.predictions) == answer.steps
assert [row["step"] for row in records["trm"]] == [row["step"] for row in records["se_rrm"]]
assert all(rows[-1]["loss"] < rows[0]["loss"] for rows in records.values())
assert solved["se_rrm"] > 0
"""


@pytest.mark.slow
def test_the_quickstart_runs() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    program = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    subprocess.run([sys.executable, "-c", program + CHECKS], cwd=NOTEBOOK.parent, check=True)
