#!/bin/bash
# dist.sh: writes the release archives dist/bolt-VERSION-linux-ARCH.tar.gz, which hold the files that "make install" installs and
# the documents, and dist/bolt-VERSION.sha256 with their checksums. Two builds of one commit give equal archives.
# Make sets GO, VERSION and LDFLAGS.
set -eu
cd "$(dirname "$0")/.."

export CGO_ENABLED=0 GOOS=linux
epoch=$(git log -1 --format=%ct 2>/dev/null || echo 0)
for GOARCH in amd64 arm64; do
	export GOARCH
	name=bolt-$VERSION-linux-$GOARCH
	rm -rf "dist/$name" && mkdir -p "dist/$name"
	# The manual page and the completions are written by a program for this machine.
	GOOS='' GOARCH='' make --no-print-directory install PREFIX= DESTDIR="$PWD/dist/$name" GO="$GO" VERSION="$VERSION" >/dev/null
	"$GO" build -trimpath -ldflags "$LDFLAGS" -o "dist/$name/bin/bolt" ./cmd/bolt
	"$GO" -C clouds build -trimpath -ldflags "$LDFLAGS" -o "../dist/$name/bin/bolt-clouds" ./cmd/bolt-clouds
	sed -i 's|^ExecStart=/bin/bolt|ExecStart=/usr/local/bin/bolt|' "dist/$name/lib/systemd/user/bolt-pool.service"
	cp -r LICENSE README.md CHANGELOG.md docs "dist/$name/"
	tar -C dist --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" -cf - "$name" | gzip -n >"dist/$name.tar.gz"
	rm -rf "dist/${name:?}"
done
cd dist
sha256sum "bolt-$VERSION-linux-"*.tar.gz >"bolt-$VERSION.sha256"
ls -l "bolt-$VERSION"*
