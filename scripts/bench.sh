#!/bin/bash
# bench.sh [BOLT]: all measurements, and a soak test, about an hour on two cores. Compare the ratios within a
# table: absolute times are this machine's, which should have nothing else to do. bench/RESULTS.md says what the
# rows mean.
#
# QUICK=1 takes fewer sizes and runs, some minutes. DOCUMENT=bench/RESULTS.md writes the tables of warm connections
# there. SOAK=10m sets how long the soak test breaks things (2m).
set -eu
cd "$(dirname "$0")/.."

bolt=${1:-bin/bolt}
[ "$(id -u)" != 0 ] || scripts/setup.sh bench # an ordinary user measures against what is installed

programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM
go build -buildvcs=false -o "$programs/" ./bench/apply ./bench/catalogs ./bench/fanout ./bench/farmd ./bench/files ./bench/language ./bench/plans ./bench/puppetdb ./bench/soak ./bench/start ./bench/warm

sizes=1,10,50,100,200 light=1000,5000 warm=1000,5000,10000 runs=3 held=10000 idle=60s soak=2m turns=5 nodes=1000 managed=50
[ -z "${QUICK:-}" ] || { sizes=1,50 light=1000 warm=1000 runs=1 held=2000 idle=10s soak=20s turns=1 nodes=100 managed=10; }

# All targets are this machine, whose disk is not what is measured: use memory where there is plenty.
if [ "$(df --output=avail /dev/shm 2>/dev/null | tail -1)" -gt 3000000 ] 2>/dev/null; then
	export TMPDIR=/dev/shm
fi

status=0
"$programs/start" -bolt "$bolt" -inventory 5000 || status=1
"$programs/fanout" -bolt "$bolt" -farmd "$programs/farmd" -sizes $sizes -light $light -runs $runs || status=1
"$programs/files" -bolt "$bolt" -runs $runs || status=1
"$programs/warm" -bolt "$bolt" -farmd "$programs/farmd" -sizes $sizes -light $warm -runs $runs -held $held -idle $idle \
	-markdown "${DOCUMENT:-}" || status=1
"$programs/plans" -bolt "$bolt" -farmd "$programs/farmd" -runs $turns -playbook-runs $runs -markdown "${DOCUMENT:-}" || status=1
"$programs/language" -bolt "$bolt" -runs $runs -markdown "${DOCUMENT:-}" || status=1
"$programs/catalogs" -bolt "$bolt" -runs $runs -nodes "$nodes" -markdown "${DOCUMENT:-}" || status=1
"$programs/apply" -bolt "$bolt" -runs $runs -targets "$managed" -markdown "${DOCUMENT:-}" || status=1
# PuppetDB and PostgreSQL are of the packages that the tests need.
[ ! -e /usr/share/puppetdb/puppetdb.jar ] || "$programs/puppetdb" -bolt "$bolt" -runs $runs -markdown "${DOCUMENT:-}" || status=1
"$programs/soak" -bolt "$bolt" -wild "${SOAK:-$soak}" || status=1
exit $status
