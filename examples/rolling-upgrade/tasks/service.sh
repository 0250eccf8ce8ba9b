#!/bin/sh
# A pid file and a session of its own: the service outlives the SSH session that starts it. On machines with systemd
# this is the built-in task service.
set -eu
. "$PT__installdir/shop/files/process.sh"
pid=$(cat server.pid 2>/dev/null || true)

stop() {
	end "$pid" "-$pid" # the service, and the requests that it works on
	rm -f server.pid
	pid=
}

start() {
	if ! running "$pid"; then
		listen=$(sed -n 's/^listen=//p' shared/settings)
		setsid current/bin/serve "$listen" </dev/null >>server.log 2>&1 &
		echo $! >server.pid
	fi
}

case $PT_action in
start) start ;;
stop) stop ;;
restart)
	stop
	start
	;;
esac
