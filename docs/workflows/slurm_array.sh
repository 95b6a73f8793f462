#!/bin/bash
#SBATCH --job-name=gpualign
#SBATCH --array=1-8
#SBATCH --cpus-per-task=16
#SBATCH --mem=8G
#SBATCH --time=04:00:00
#SBATCH --requeue
set -euo pipefail
share=$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT
# A part gets its name when it is complete, so a second submission computes only the missing parts.
[ -e "scores.tsv.${share/\//-of-}.part" ] && exit 0
exec gpualign nw genes.fasta -o scores.tsv --shard "$share" --resume --threads "$SLURM_CPUS_PER_TASK" --memory 6G
