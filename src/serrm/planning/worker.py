"""A process that runs stages one after the other, each as `python -m stages …` would, for imports take seconds.

It reads a line of JSON a stage, the arguments, the file that takes the stage's output and whether compiled graphs are
to be counted, and answers with one.
"""

import gc
import json
import os
import runpy
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

MOST_VARIANTS = 32  # compiled ones, after which the process forgets them: half of what one process may have


def main() -> None:
    """Serve until the input ends; what stages print goes to their files."""
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        order = json.loads(line)
        _redirect(Path(order["log"]))
        calls, before = count_calls() if order["compiles"] else [0], num_compiled()
        calls[0] = 0
        start = time.perf_counter()
        error = run(order["arguments"])
        seconds = time.perf_counter() - start
        sys.stdout.flush()
        sys.stderr.flush()
        found = {"seconds": seconds, "compiled": num_compiled() - before, "calls": calls[0]}
        answers.write(json.dumps({"error": error, **found}) + "\n")
        answers.flush()
        gc.unfreeze()  # a stage freezes what is there when it ends, for its process is about to end
        gc.collect()
        _forget_variants()


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


def num_compiled() -> int:
    """Graphs compiled in this process rather than read from the cache on disk."""
    return _counters()["inductor"]["fxgraph_cache_miss"] if _has_compiled() else 0


@cache
def count_calls() -> list[int]:
    """Have calls of compiled graphs counted from here on, in the list's only entry."""
    from torch._inductor.output_code import CompiledFxGraph

    calls, plain = [0], CompiledFxGraph.__call__

    def counted(graph: CompiledFxGraph, inputs: Any) -> Any:
        calls[0] += 1
        return plain(graph, inputs)

    CompiledFxGraph.__call__ = counted  # type: ignore[method-assign, assignment]
    return calls


def _has_compiled() -> bool:
    return "torch._dynamo.utils" in sys.modules


def _counters() -> Any:
    from torch._dynamo.utils import counters

    return counters


def _forget_variants() -> None:
    """Keep a process of many cells within the limit that is meant for one."""
    if _has_compiled() and _counters()["stats"]["unique_graphs"] > MOST_VARIANTS:
        import torch._dynamo

        torch._dynamo.reset()
        _counters().clear()


def _redirect(log: Path) -> None:
    """Everything that this process and its children print goes to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


if __name__ == "__main__":
    main()
