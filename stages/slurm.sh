#!/usr/bin/env bash
# The runs of params.yaml as a Slurm array, one run per element; docs/scale.md has the commands from here to the tables.
#   serrm forecast --ready > runs.txt && sbatch --array=1-"$(wc -l < runs.txt)" stages/slurm.sh
#
# A minute before the time limit, or when it is preempted, a training writes a checkpoint and stops. Slurm requeues a
# preempted element, this script one at its time limit, and the same element then resumes the training.
#SBATCH --job-name=serrm
#SBATCH --output=data/slurm-%A_%a.log
#SBATCH --open-mode=append
#SBATCH --cpus-per-task=1
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@60
#SBATCH --requeue
set -uo pipefail
run=$(sed -n "${SLURM_ARRAY_TASK_ID}p" runs.txt)
[[ -n $run ]] || { echo "runs.txt has no line $SLURM_ARRAY_TASK_ID" >&2; exit 2; }
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-${SLURM_CPUS_PER_TASK:-1}} GPUS=0 # Slurm chooses the GPU (--gpus=1)
srun stages/one_run "$run"
code=$?
# The step has no exit code of its own here: DVC reports 1 for a training that stopped with a checkpoint.
if [[ $code -ne 0 && $(date +%s) -ge $((${SLURM_JOB_END_TIME:-0} - 65)) && -n ${SLURM_JOB_END_TIME:-} ]]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit $code
