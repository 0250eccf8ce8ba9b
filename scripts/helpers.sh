#!/bin/bash
# helpers.sh [DIRECTORY]: builds the helpers for the machines that bolt changes, where bolt embeds them from. Equal
# sources give equal files. The file "sums" is written last, so that it never names a file that is not there.
set -eu
cd "$(dirname "$0")/.."
dir=${1:-apply/remote/embedded/data}
max=$((10 << 20)) # a helper travels to each machine once, compressed to about a third

sums=
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
for arch in amd64 arm64; do
	system=linux-$arch
	CGO_ENABLED=0 GOOS=linux GOARCH=$arch "${GO:-go}" build -buildvcs=false -trimpath -ldflags '-s -w' -o "$temp/helper" ./cmd/bolt-helper
	size=$(wc -c <"$temp/helper")
	[ "$size" -lt "$max" ] || { echo "helpers: the helper for $system has $size bytes, more than $max" >&2; exit 1; }
	sum=$(sha256sum <"$temp/helper")
	line="${sum%% *} $system"
	sums+=$line$'\n'
	grep -qxF "$line" "$dir/sums" 2>/dev/null && [ -e "$dir/bolt-helper-$system.gz" ] && continue
	rm -f "$dir/sums"
	gzip -n -9 <"$temp/helper" >"$dir/bolt-helper-$system.gz.new"
	mv "$dir/bolt-helper-$system.gz.new" "$dir/bolt-helper-$system.gz"
done
printf '%s' "$sums" >"$temp/sums"
cmp -s "$temp/sums" "$dir/sums" || cp "$temp/sums" "$dir/sums"
