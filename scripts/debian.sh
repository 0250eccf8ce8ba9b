#!/bin/sh
# debian.sh NAME PACKAGE...: makes a Debian with these packages in a directory for tests, unless an earlier call has made
# it, and prints the directory.
#
# It needs root, debootstrap and a mirror of Debian.
set -eu

die() { echo "debian: $*" >&2; exit 1; }
[ $# -gt 0 ] || die 'usage: debian.sh NAME PACKAGE...'
[ "$(id -u)" = 0 ] || die 'run it as root'
command -v debootstrap >/dev/null || die "debootstrap is not installed (Debian's package of that name)"
dir=${TMPDIR:-/tmp}/bolt-test-$1-$(id -u)
shift
(umask 077 && mkdir -p "$dir")
[ -O "$dir" ] && [ ! -h "$dir" ] || die "$dir belongs to another user: remove it"
root=$dir/bookworm
if [ ! -e "$root/complete" ]; then
	rm -rf "$root"
	debootstrap --variant=minbase bookworm "$root" >&2
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	echo '127.0.0.1 localhost' >"$root/etc/hosts"
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no package starts a service
	chmod 755 "$root/usr/sbin/policy-rc.d"
	# Packages of Java need /proc.
	unshare --mount --propagation private -- sh -c 'mount -t proc proc "$0/proc" && chroot "$0" "$@" >&2; exit' "$root" \
		env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
	touch "$root/complete"
fi
echo "$root"
