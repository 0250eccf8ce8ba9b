#!/bin/sh
# The link is made beside the old one and renamed over it, so that there is always one.
set -eu
[ -x "releases/$PT_version/bin/serve" ] || { echo "there is no release $PT_version in $PWD/releases" >&2; exit 1; }
ln -sfn "releases/$PT_version" current.new
mv -T current.new current
