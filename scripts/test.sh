#!/bin/bash
# test.sh [ARGUMENT...]: the whole test suite with the race detector; arguments go to go test. The last lines are
# those of gotestsum, which lists all failures at the end, or of go test where gotestsum cannot be had. After them
# come the tests that took more than two minutes, which no single test should.
set -eu
cd "$(dirname "$0")/.."

gotestsum='gotest.tools/gotestsum@v1.13.0'
slow_after=2m

export CGO_ENABLED=1 # the race detector needs it
args=(-race -timeout 20m "$@")
[ $# -gt 0 ] || args+=(./...)
if go run "$gotestsum" --version >/dev/null 2>&1; then
	events=$(mktemp)
	trap 'rm -f "$events"' EXIT
	rc=0
	go run "$gotestsum" --format pkgname --jsonfile "$events" -- "${args[@]}" || rc=$?
	slow=$(go run "$gotestsum" tool slowest --threshold "$slow_after" --jsonfile "$events") || true
	[ -z "$slow" ] || printf 'test: these took more than %s:\n%s\n' "$slow_after" "$slow" >&2
	exit $rc
fi
echo "test: no $gotestsum here, using go test" >&2
exec go test "${args[@]}"
