#!/bin/bash
# check.sh: everything about the source that a program can judge. It runs all checks, also after one has failed,
# and its status is 1 if any did. The last lines are those of go test.
set -u
cd "$(dirname "$0")/.." || exit 1

staticcheck='honnef.co/go/tools/cmd/staticcheck@v0.8.2'

# What is shipped is built so, and no C compiler is needed. Tests build it so, too: their packages are compiled only once.
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath"

failed=()
# check NAME COMMAND...: a check fails by its status.
check() {
	local name=$1 start=$SECONDS
	shift
	"$@" || failed+=("$name")
	echo "check: $name took $((SECONDS - start)) s"
}

# formatted fails if gofmt would change a file, and names it.
formatted() {
	local files
	files=$(find . -name testdata -prune -o -path './.?*' -prune -o -name '*.go' -print0 | xargs -0 gofmt -s -l) || return 1
	[ -z "$files" ] || { printf 'not formatted with gofmt -s:\n%s\n' "$files"; return 1; }
}

# scripts fails on a shell script that does not parse.
scripts() {
	local f ok=0
	for f in scripts/*.sh .ci/run testdata/bolt/farm.sh examples/*/*.sh examples/*/tasks/*.sh; do
		bash -n "$f" || ok=1
	done
	return $ok
}

# in_clouds COMMAND... runs a command in the module clouds.
in_clouds() { (cd clouds && "$@"); }

check gofmt formatted
check 'go vet' go vet ./...
check 'go vet, clouds' go -C clouds vet ./...
check 'go vet, containers' go vet -tags containers ./transport/container
check 'go vet, roots' go vet -tags roots ./apply/provider/pkg ./apply/provider/account
check 'go vet, puppetserver' go vet -tags puppetserver ./cmd/bolt
check staticcheck go run "$staticcheck" ./...
check 'staticcheck, clouds' in_clouds go run "$staticcheck" ./...
check 'go mod tidy' go mod tidy -diff
check 'go mod tidy, clouds' go -C clouds mod tidy -diff
check scripts scripts
echo 'check: architecture and style'
if [ ${#failed[@]} -gt 0 ]; then
	printf 'check: FAILED: %s\n' "${failed[@]}"
fi
go test ./internal/archtest || exit 1
[ ${#failed[@]} -eq 0 ]
