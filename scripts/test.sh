#!/bin/bash
# test.sh [ARGUMENT...]: the whole test suite with the race detector; arguments go to go test. The last lines are
# those of gotestsum, which lists all failures at the end, or of go test where gotestsum cannot be had.
set -eu
cd "$(dirname "$0")/.."

gotestsum='gotest.tools/gotestsum@v1.13.0'

export CGO_ENABLED=1 # the race detector needs it
args=(-race -timeout 20m "$@")
[ $# -gt 0 ] || args+=(./...)
if go run "$gotestsum" --version >/dev/null 2>&1; then
	exec go run "$gotestsum" --format pkgname -- "${args[@]}"
fi
echo "test: no $gotestsum here, using go test" >&2
exec go test "${args[@]}"
