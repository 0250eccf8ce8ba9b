#!/bin/sh
# roots.sh COMMAND...: makes a Debian with the package managers of other systems and with libuser, in a directory that
# stays for the next time, and runs a command with its path in BOLT_TEST_ROOT. The tests change only overlays of it. If
# BOLT_TEST_ROOT is set, that root is used as it is.
#
# It needs root, debootstrap and a mirror of Debian, and some minutes for the first time.
set -eu

packages='rpm createrepo-c dnf zypper pacman-package-manager makepkg zstd python3-pip ruby npm libuser'
if [ -z "${BOLT_TEST_ROOT-}" ]; then
	command -v debootstrap >/dev/null || { echo "roots: debootstrap is not installed (Debian's package of that name)" >&2; exit 1; }
	dir=${TMPDIR:-/tmp}/bolt-test-root-$(id -u)
	(umask 077 && mkdir -p "$dir")
	[ -O "$dir" ] && [ ! -h "$dir" ] || { echo "roots: $dir belongs to another user: remove it" >&2; exit 1; }
	BOLT_TEST_ROOT=$dir/bookworm
	if [ ! -e "$BOLT_TEST_ROOT/complete" ]; then
		rm -rf "$BOLT_TEST_ROOT"
		debootstrap --variant=minbase bookworm "$BOLT_TEST_ROOT"
		cp /etc/resolv.conf "$BOLT_TEST_ROOT/etc/resolv.conf"
		# shellcheck disable=SC2086 # a list of words
		DEBIAN_FRONTEND=noninteractive chroot "$BOLT_TEST_ROOT" apt-get install -y -q --no-install-recommends $packages
		# Debian's rpm keeps its database in the home directory, where zypper does not look.
		mkdir -p "$BOLT_TEST_ROOT/etc/rpm"
		echo '%_dbpath /var/lib/rpm' >"$BOLT_TEST_ROOT/etc/rpm/macros"
		touch "$BOLT_TEST_ROOT/complete"
	fi
fi
export BOLT_TEST_ROOT
"$@"
