#!/bin/bash
# 32 workers of one study on a Slurm cluster. Make the study once, then submit:
#   surest study create prompts --arm terse --arm kind --storage "$SUREST_STORAGE"
#   sbatch --array=1-32 slurm.sh prompts ./evaluate {arm}
#SBATCH --job-name=surest
#SBATCH --cpus-per-task=1
#SBATCH --time=04:00:00
#SBATCH --requeue
# SUREST_STORAGE is a PostgreSQL server or a service that all nodes reach: SQLite is not for network file systems.
study=$1
shift
exec surest study work "$study" -- "$@"
