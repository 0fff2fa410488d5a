#!/bin/sh
# Executes the open units of a campaign by processes of this machine, and reports the campaign:
#
#   drivers/local.sh CAMPAIGN [PROCESSES [OPTION of coyote-wasm merge]...]
#
# The exit code is that of the report. It is 75 after Ctrl-C: start the script again later.
set -u
[ $# -gt 0 ] || { echo "usage: local.sh CAMPAIGN [PROCESSES [OPTION]...]" >&2; exit 1; }
campaign=$1 processes=${2:-$(nproc)}
shift "$(($# > 1 ? 2 : 1))"

workers=
trap 'kill -INT $workers; wait; exit 75' INT TERM HUP
for _ in $(seq "$processes"); do
  coyote-wasm campaign work "$campaign" -j 1 >&2 &
  workers="$workers $!"
done
# A worker that fails or is killed says so itself; the others execute its unit, and the report says what is missing.
wait
exec coyote-wasm campaign report "$campaign" "$@"
