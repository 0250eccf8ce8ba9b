#!/bin/bash
# puppetserver.sh COMMAND...: makes a Debian with a Puppet Server, in a directory that stays for the next time, starts
# the server on loopback, and runs a command. BOLT_TEST_PUPPETSERVER is then the URL of the server,
# BOLT_TEST_PUPPETSERVER_CODE the directory of its environments, and BOLT_TEST_PUPPETSERVER_SSL a directory with
# ca.pem, client.pem and client.key. The server ends with the command.
#
# It needs root, debootstrap, curl and a mirror of Debian, some minutes for the first time, and about 1 GB of memory.
set -eu

readonly port=18140
readonly patience=300 # seconds until it answers, on a busy machine

die() { echo "puppetserver: $*" >&2; exit 1; }

[ $# -gt 0 ] || die 'usage: puppetserver.sh COMMAND...'
root=$("$(dirname "$0")/debian.sh" puppetserver puppetserver)
conf=$root/etc/puppet/puppetserver

# What is started with these words runs in the root, with its own /proc. All its processes end with it: the first one is
# sh, which the kernel ends with unshare. A process that changes its user, as setpriv does, would stay.
inside=(unshare --mount --pid --fork --kill-child --propagation private --
	sh -c 'mount -t proc proc "$0/proc" && chroot "$0" "$@"; exit' "$root")

if [ ! -e "$root/configured" ]; then
	printf '[main]\ncertname = localhost\nserver = localhost\n' >"$root/etc/puppet/puppet.conf"
	sed -i "s/ssl-host: .*/ssl-host: 127.0.0.1/; s/ssl-port: .*/ssl-port: $port/" "$conf/conf.d/webserver.conf"
	sed -i '\|/puppet/v4/catalog|,/deny:/ s/deny: .*/allow: "client"/' "$conf/conf.d/auth.conf"
	rm -rf "$conf/ca" "$root/var/lib/puppet/ssl"
	"${inside[@]}" puppetserver ca setup --certname localhost
	"${inside[@]}" puppetserver ca generate --certname client --ca-client
	touch "$root/configured"
fi
dir=$(dirname "$root")
ssl=$dir/ssl
mkdir -p "$ssl"
cp "$conf/ca/ca_crt.pem" "$ssl/ca.pem"
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
