#!/bin/sh
# roots.sh COMMAND...: makes a Debian with the package managers of other systems and with libuser, in a directory that
# stays for the next time, and runs a command with its path in BOLT_TEST_ROOT. The tests change only overlays of it. If
# BOLT_TEST_ROOT is set, that root is used as it is.
#
# It needs root, debootstrap and a mirror of Debian, and some minutes for the first time.
set -eu

packages='rpm createrepo-c dnf zypper pacman-package-manager makepkg libarchive-tools zstd python3-pip ruby npm libuser'
if [ -z "${BOLT_TEST_ROOT-}" ]; then
	# shellcheck disable=SC2086 # a list of words
	BOLT_TEST_ROOT=$("$(dirname "$0")/debian.sh" root $packages)
	# Debian's rpm keeps its database in the home directory, where zypper does not look.
	mkdir -p "$BOLT_TEST_ROOT/etc/rpm"
	echo '%_dbpath /var/lib/rpm' >"$BOLT_TEST_ROOT/etc/rpm/macros"
fi
export BOLT_TEST_ROOT
"$@"
