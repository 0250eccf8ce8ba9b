#!/bin/sh
# setup.sh [demo|test|bench]: installs what the demo, the test suite (which is meant without a word) or the
# measurements need beside Go and git. Idempotent, and quick when nothing is missing.
#
# As root on a Debian-like system it uses apt-get and lets no new service start. Otherwise it only says what is
# missing and ends with status 1.
set -eu

# "program package...": the program is what counts, looked for on PATH and in the sbin folders; or a path that must be there.
servers='
sshd openssh-server
ssh openssh-client
'
# For examples/rolling-upgrade.
shop='
busybox busybox
haproxy haproxy
socat socat
'
tests='
augtool augeas-tools
bzip2 bzip2
curl curl
/usr/sbin/iptables iptables
make make
gcc gcc
sudo sudo
doas opendoas
debootstrap debootstrap
python3 python3
ps procps
fish fish
ksh ksh
mksh mksh
openssl openssl
ruby ruby
puppet puppet-agent
/usr/lib/ruby/vendor_ruby/sys/filesystem.rb ruby-sys-filesystem
tcsh tcsh
unzip unzip
xz xz-utils
krb5kdc krb5-kdc
kadmin.local krb5-admin-server
kinit krb5-user
zsh zsh
locale-gen locales
nft nftables
duk duktape
/usr/share/python-wheels python3-venv
/usr/lib/postgresql postgresql
mariadbd mariadb-server
/usr/share/puppetdb/puppetdb.jar puppetdb dbconfig-no-thanks
'
peers='
clush clustershell
pdsh pdsh
parallel-ssh pssh
ansible ansible-core
debootstrap debootstrap
puppet puppet-agent
/usr/lib/ruby/vendor_ruby/puppet/resource_api.rb ruby-puppet-resource-api
/usr/share/rubygems-integration/all/gems/scanf-1.0.0/lib/scanf.rb ruby-scanf
'
needs=$servers
headers=
case ${1-test} in
demo) needs=$needs$shop ;;
test)
	needs=$needs$shop$tests
	headers=/usr/include/stdlib.h # the race detector links with the C library
	;;
bench) needs=$needs$peers ;;
*)
	echo "usage: setup.sh [demo|test|bench]" >&2
	exit 2
	;;
esac

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
missing=$(echo "$needs" | while read -r program package; do
	case $program in
	'') ;;
	/*) [ -e "$program" ] || echo "$package" ;; # another directory has the name puppet, too
	*) command -v "$program" >/dev/null || echo "$package" ;;
	esac
done)
[ -z "$headers" ] || [ -e "$headers" ] || missing="$missing libc6-dev"
# shellcheck disable=SC2086,SC2116
missing=$(echo $missing) # on one line
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	cat >&2 <<-EOF
	setup: missing packages (Debian's names): $missing
	setup: install them as root, for example with
	    apt-get install --no-install-recommends $missing
	EOF
	exit 1
fi

# Nothing that is installed here may start a service of its own.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod 755 $policy
	trap 'rm -f $policy' EXIT
	trap 'exit 1' HUP INT TERM
fi
export DEBIAN_FRONTEND=noninteractive
apt() { apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >&2; }
echo "setup: installing $missing" >&2
# shellcheck disable=SC2086 # a list of words
apt install -y --no-install-recommends $missing 2>/dev/null ||
	{ apt update && apt install -y --no-install-recommends $missing; } ||
	{ echo "setup: apt-get could not install: $missing" >&2; exit 1; }
