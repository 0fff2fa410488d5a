#!/bin/sh
# Executes a campaign by rounds of Slurm jobs. Start it on the login node; there is nothing to wait for:
#
#   drivers/slurm/round.sh CAMPAIGN
#
# A round is the array of work.sbatch, and a small job behind it that starts this script again. The last one writes
# CAMPAIGN/report.txt; its exit code is that of the report.
set -eu
[ $# -gt 0 ] || { echo "usage: round.sh CAMPAIGN" >&2; exit 1; }
here=$(dirname "$(realpath "$0")")
campaign=$(realpath "$1") results_before=${2:-none}

code=0
coyote-wasm campaign status "$campaign" || code=$?
[ "$code" -ne 1 ] || exit 1
results=$(find "$campaign/results" -name '*.result' | wc -l)
# 6: there are units without a result. A round that brought none would not bring any again.
if [ "$code" -eq 6 ] && [ "$results" != "$results_before" ]; then
  round=$(sbatch --parsable "$here/work.sbatch" "$campaign")
  sbatch --dependency="afterany:$round" --job-name=coyote-round --time=00:30:00 --requeue \
    --output="$campaign/rounds.log" --open-mode=append --wrap "exec '$here/round.sh' '$campaign' $results"
else
  exec coyote-wasm campaign report "$campaign" --outdir "$campaign/report" > "$campaign/report.txt"
fi
