#!/usr/bin/env bash
# The runs of params.yaml as a Slurm array, one run per element; docs/scale.md has the commands from here to the tables.
#   serrm forecast --ready > runs.txt && sbatch --array=1-"$(wc -l < runs.txt)" scripts/slurm.sh
#
# A minute before the time limit, or when it is preempted, a training gets SIGTERM, writes a checkpoint and stops. The
# element is then requeued and resumes the training. (A preempted element has the partition's GraceTime for that.)
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
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-${SLURM_CPUS_PER_TASK:-1}} # Slurm chooses the GPU (--gpus=1)
srun python -m serrm.running --run "$run"
code=$?
[[ $code -ne 75 ]] || scontrol requeue "$SLURM_JOB_ID"
exit $code
