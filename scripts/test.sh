#!/bin/bash
# test.sh [ARGUMENT...]: the whole test suite with the race detector: the module in clouds, then this module. With
# arguments, it runs go test with them in this module alone. The last lines are those of gotestsum, which lists all
# failures at the end, or of go test where gotestsum cannot be had. After them come the tests that took more than two
# minutes, which no single test should, and the failure of the module in clouds.
set -eu
cd "$(dirname "$0")/.."

scripts/helpers.sh # bolt embeds them

gotestsum='gotest.tools/gotestsum@v1.13.0'
slow_after=2m

export CGO_ENABLED=1 # the race detector needs it
args=(-race -vet=off -timeout 20m "$@") # check.sh runs all of go vet
clouds=0
if [ $# -eq 0 ]; then
	go -C clouds test "${args[@]}" ./... || clouds=$?
	# The longest first: at the end, one package would keep one processor busy.
	args+=(./transport/ssh ./cmd/bolt ./...)
fi
rc=0
if go run "$gotestsum" --version >/dev/null 2>&1; then
	events=$(mktemp)
	trap 'rm -f "$events"' EXIT
	go run "$gotestsum" --format pkgname --jsonfile "$events" -- "${args[@]}" || rc=$?
	slow=$(go run "$gotestsum" tool slowest --threshold "$slow_after" --jsonfile "$events") || true
	[ -z "$slow" ] || printf 'test: these took more than %s:\n%s\n' "$slow_after" "$slow" >&2
else
	echo "test: no $gotestsum here, using go test" >&2
	go test "${args[@]}" || rc=$?
fi
[ $clouds -eq 0 ] || { echo 'test: tests of the module in clouds FAILED, see the first lines' >&2; rc=1; }
exit $rc
