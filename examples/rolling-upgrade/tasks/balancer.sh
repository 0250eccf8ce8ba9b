#!/bin/sh
# HAProxy as a service: on machines with systemd this is the built-in task service.
set -eu
. "$PT__installdir/shop/files/process.sh"
PATH=$PATH:/usr/local/sbin:/usr/sbin # where it is, and where not every login looks
pid=$(cat haproxy.pid 2>/dev/null || true)

case $PT_action in
start)
	# If one runs already, the new one takes over, and the old one answers what it has begun.
	running "$pid" || pid=
	haproxy -D -f haproxy.cfg ${pid:+-sf "$pid"}
	;;
stop)
	end "$pid"
	rm -f haproxy.pid
	;;
esac
