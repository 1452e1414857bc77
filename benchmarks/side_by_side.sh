#!/usr/bin/env bash
# benchmarks/side_by_side.sh: seconds of all trainings and evaluations of params.yaml two at a time with one thread each (as
# make repro runs them), one after the other with all threads, and one after the other with one thread, whose scores must
# equal those of the first.
#
# Every way has a fresh clone of the last commit, and a cache of its own. The clock starts when the data are made, and it
# stops before the tables.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
repository=$(git rev-parse --show-toplevel)
unset MLFLOW_TRACKING_URI # each clone has a store of its own
unset PYTHONDONTWRITEBYTECODE # bytecode of dependencies is written once, as in make repro

# take WAY JOBS THREADS: train and score all runs in the clone WAY.
take() {
  git clone --quiet "$repository" "$folder/$1"
  cd "$folder/$1"
  export PYTHONPATH=$PWD/src:$PWD
  [[ $3 == all ]] && unset OMP_NUM_THREADS || export OMP_NUM_THREADS=$3
  dvc repro --quiet --glob 'build_arrays@*'
  local start=$SECONDS
  run "$2" >"$folder/$1.log" 2>&1 || { tail "$folder/$1.log"; exit 1; }
  seconds=$((SECONDS - start))
  echo "| $2 | $3 | $seconds |"
}

run() {
  [[ $1 -gt 1 ]] || { dvc repro --glob 'evaluate@*'; return; }
  serrm forecast --ready | xargs -P "$1" -n 1 scripts/one_run
}

echo "| runs at a time | threads per run | seconds |"
echo "|---|---|---|"
take two 2 1
together=$seconds
take all 1 all
one_by_one=$seconds
take one 1 1
echo
echo "Two at a time: $(bc <<<"scale=2; $one_by_one / $together") times as fast."
profile=$(sed -n 's/^profile: *\([^ ]*\).*/\1/p' params.yaml)
python - "$folder"/{two,one}/reports/"$profile"/metrics.json <<'PYTHON'
import json, sys
from pathlib import Path

two, one = (json.loads(Path(file).read_text())["runs"] for file in sys.argv[1:])
differ = [name for name in sorted(two | one) if two[name] != one[name]]
print(f"Scores of {len(two)} runs with one thread: {'different: ' + ', '.join(differ) if differ else 'all the same'}.")
PYTHON
