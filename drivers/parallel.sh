#!/usr/bin/env bash
# Executes a run in units on several hosts, which share no directory, by GNU parallel:
#
#   drivers/parallel.sh LOGINS UNITS DIRECTORY MODULE [OPTION of coyote-wasm test]...
#   coyote-wasm merge DIRECTORY
#
# LOGINS is parallel's --sshlogin: 8/host1,8/host2 for 8 units at a time on each; `:` is this machine.
# The same command again executes the units that have no result.
set -euo pipefail
logins=$1 units=$2 directory=$3 module=$4
shift 4
mkdir -p "$directory"
cp "$module" "$directory"
cd "$directory"
module=$(basename "$module")

# A unit is done if its result is there, whatever its verdict.
test="coyote-wasm test --shard {}/$units --result {}.result --jobs 1 ${module@Q} ${*@Q}; test -f {}.result"
exec parallel --sshlogin "$logins" --workdir ... --transferfile "$module" --return {}.result --cleanup \
  --joblog parallel.log --resume-failed --retries 3 "$test" ::: $(seq "$units")
