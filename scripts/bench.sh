#!/bin/bash
# bench.sh [BOLT]: all measurements, some minutes on two cores. Compare the ratios within a table: absolute times are
# this machine's. QUICK=1 takes fewer sizes and runs.
set -eu
cd "$(dirname "$0")/.."

bolt=${1:-bin/bolt}
[ "$(id -u)" != 0 ] || scripts/setup.sh bench # an ordinary user measures against what is installed

programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM
go build -buildvcs=false -o "$programs/" ./bench/fanout ./bench/farmd ./bench/files ./bench/start

sizes=1,10,50,100,200 light=1000,5000 runs=3
[ -z "${QUICK:-}" ] || { sizes=1,50 light=1000 runs=1; }

# All targets are this machine, whose disk is not what is measured: use memory where there is plenty.
if [ "$(df --output=avail /dev/shm 2>/dev/null | tail -1)" -gt 3000000 ] 2>/dev/null; then
	export TMPDIR=/dev/shm
fi

status=0
"$programs/start" -bolt "$bolt" -inventory 5000 || status=1
"$programs/fanout" -bolt "$bolt" -farmd "$programs/farmd" -sizes $sizes -light $light -runs $runs || status=1
"$programs/files" -bolt "$bolt" -runs $runs || status=1
exit $status
