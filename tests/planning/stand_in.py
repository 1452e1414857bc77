"""A worker's stand-in: it answers at once, does what a job's last argument says, and keeps a list of its jobs."""

import json
import sys
from pathlib import Path


def main() -> None:
    """Serve as `serrm.planning.worker` does."""
    for line in sys.stdin:
        order = json.loads(line)
        *_, name, what = order["arguments"]
        with Path("done").open("a") as file:
            file.write(f"{name}\n")
        if what == "die":
            sys.exit(3)
        if what == "say":
            Path(order["log"]).write_text("a line\nerror: this and that\n")
        error = None if what in ("", "plain") else "exit code 1"
        calls = 0 if what == "plain" else 7
        sys.stdout.write(json.dumps({"error": error, "seconds": 1.0, "compiled": 2, "calls": calls}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
