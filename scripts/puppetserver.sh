#!/bin/bash
# puppetserver.sh COMMAND...: makes a Debian with a Puppet Server, in a directory that stays for the next time, starts
# the server on loopback, and runs a command. BOLT_TEST_PUPPETSERVER is then the URL of the server,
# BOLT_TEST_PUPPETSERVER_CODE the directory of its environments, and BOLT_TEST_PUPPETSERVER_SSL a directory with
# ca.pem, client.pem and client.key. The server ends with the command.
#
# It needs root, debootstrap and a mirror of Debian, some minutes for the first time, and about 1 GB of memory.
set -eu

readonly port=18140
readonly patience=300 # seconds until it answers, on a busy machine

die() { echo "puppetserver: $*" >&2; exit 1; }

[ $# -gt 0 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
[ "$(id -u)" = 0 ] || die 'it needs root'
command -v debootstrap >/dev/null || die "debootstrap is not installed (Debian's package of that name)"
dir=${TMPDIR:-/tmp}/bolt-test-puppetserver
(umask 077 && mkdir -p "$dir")
[ -O "$dir" ] && [ ! -h "$dir" ] || die "$dir belongs to another user: remove it"
root=$dir/bookworm

# What is started with these words runs in the root, with its own /proc. All its processes end with it: the first one is
# sh, which the kernel ends with unshare. A process that changes its user, as setpriv does, would stay.
inside=(unshare --mount --pid --fork --kill-child --propagation private --
	sh -c 'mount -t proc proc "$0/proc" && chroot "$0" "$@"; exit' "$root")

if [ ! -e "$dir/complete" ]; then
	rm -rf "$root"
	debootstrap --variant=minbase bookworm "$root"
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	echo '127.0.0.1 localhost' >"$root/etc/hosts"
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no package starts a service
	chmod 755 "$root/usr/sbin/policy-rc.d"
	"${inside[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends puppetserver
	printf '[main]\ncertname = localhost\nserver = localhost\n' >"$root/etc/puppet/puppet.conf"
	conf=$root/etc/puppet/puppetserver/conf.d
	sed -i "s/ssl-host: .*/ssl-host: 127.0.0.1/; s/ssl-port: .*/ssl-port: $port/" "$conf/webserver.conf"
	sed -i '\|/puppet/v4/catalog|,/deny:/ s/deny: .*/allow: "client"/' "$conf/auth.conf"
	"${inside[@]}" puppetserver ca setup --certname localhost
	"${inside[@]}" puppetserver ca generate --certname client --ca-client
	touch "$dir/complete"
fi
ssl=$dir/ssl
mkdir -p "$ssl"
cp "$root/etc/puppet/puppetserver/ca/ca_crt.pem" "$ssl/ca.pem"
cp "$root/var/lib/puppet/ssl/certs/client.pem" "$ssl/client.pem"
cp "$root/var/lib/puppet/ssl/private_keys/client.pem" "$ssl/client.key"
code=$root/etc/puppet/code/environments
rm -rf "$code"
mkdir -p "$code/production/manifests" "$root/run/puppetserver"
"${inside[@]}" chown -R puppet:puppet /run/puppetserver

log=$dir/log
# Little memory, and a quick start: what its quick compiler makes is quick enough.
"${inside[@]}" setpriv --reuid=puppet --regid=puppet --clear-groups java -Xmx1g -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
	-Djava.security.egd=file:/dev/urandom -Djruby.lib=/usr/share/jruby/lib -jar /usr/share/puppetserver/puppetserver.jar \
	--config /etc/puppet/puppetserver/conf.d --bootstrap-config /etc/puppet/puppetserver/services.d \
	--restart-file /run/puppetserver/restart >"$log" 2>&1 </dev/null &
server=$! # unshare, which heeds no other signal while it waits
trap 'kill -KILL "$server" 2>/dev/null; wait "$server" 2>/dev/null || true' EXIT
trap 'exit 1' HUP INT TERM
waited=0
until curl -fsS -m 5 --cacert "$ssl/ca.pem" "https://localhost:$port/status/v1/simple" 2>/dev/null | grep -q running; do
	[ $((waited++)) -lt $patience ] && kill -0 "$server" 2>/dev/null || die "it does not answer: $(tail -n 20 "$log")"
	sleep 1
done
export BOLT_TEST_PUPPETSERVER=https://localhost:$port BOLT_TEST_PUPPETSERVER_CODE=$code BOLT_TEST_PUPPETSERVER_SSL=$ssl
"$@"
