"""A process that runs stages one after the other, each as `python -m stages …` would, for imports take seconds.

It reads a line of JSON a stage, the arguments and the file that takes the stage's output, and answers with one.
"""

import gc
import json
import os
import runpy
import sys
import time
from pathlib import Path

MOST_VARIANTS = 32  # compiled ones, after which the process forgets them: half of what one process may have


def main() -> None:
    """Serve until the input ends; what stages print goes to their files."""
    answers = os.fdopen(os.dup(1), "w")
    before, num_kept = (0, 0), 0
    for line in sys.stdin:
        order = json.loads(line)
        _redirect(Path(order["log"]))
        start = time.perf_counter()
        error = run(order["arguments"])
        seconds = time.perf_counter() - start
        sys.stdout.flush()
        sys.stderr.flush()
        after = num_graphs()
        traced, compiled = (now - then for now, then in zip(after, before, strict=True))
        before = after
        answers.write(
            json.dumps({"error": error, "seconds": seconds, "traced": traced, "compiled": compiled}) + "\n"
        )
        answers.flush()
        gc.unfreeze()  # a stage freezes what is there when it ends, for its process is about to end
        gc.collect()
        num_kept += traced
        if num_kept > MOST_VARIANTS:
            _forget_variants()
            num_kept = 0


def run(arguments: list[str]) -> str | None:
    """Run one stage; the first line of what went wrong, if it did. A stage's own error line stands in its output."""
    sys.argv = ["stages", *arguments]
    try:
        runpy.run_module("stages", run_name="__main__", alter_sys=True)
    except SystemExit as error:
        return None if error.code in (None, 0) else f"exit code {error.code}"
    except Exception as error:
        import traceback

        traceback.print_exc()
        return f"{type(error).__name__}: {str(error).strip().partition(os.linesep)[0]}"
    return None


def num_graphs() -> tuple[int, int]:
    """Graphs traced in this process, and those compiled here rather than read from the cache on disk."""
    if "torch._dynamo.utils" not in sys.modules:
        return 0, 0
    from torch._dynamo.utils import counters

    return counters["stats"]["unique_graphs"], counters["inductor"]["fxgraph_cache_miss"]


def _forget_variants() -> None:
    import torch._dynamo

    torch._dynamo.reset()


def _redirect(log: Path) -> None:
    """Everything that this process and its children print goes to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


if __name__ == "__main__":
    main()
