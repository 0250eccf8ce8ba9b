#!/bin/sh
# Talks to HAProxy by its runtime socket: https://docs.haproxy.org/2.6/management.html#9.3
set -eu

ask() { echo "$1" | socat - UNIX-CONNECT:haproxy.sock; }

# field SERVER N: one column of the statistics; 3 are requests that wait, 5 those that are open, 18 is the state.
field() {
	stat=$(ask 'show stat')
	echo "$stat" | awk -F, -v server="$1" -v n="$2" '$1 == "web" && $2 == server { print $n }'
}

# fail TEXT: ends the task with a message.
fail() {
	printf '{"_error": {"kind": "shop/balancer", "msg": "%s", "details": {}}}\n' "$1"
	exit 1
}

# reached SERVER: whether it is where it shall go.
reached() {
	case $PT_action in
	drain) [ "$(field "$1" 3) $(field "$1" 5)" = '0 0' ] ;;
	ready) [ "$(field "$1" 18)" = UP ] ;;
	esac
}

status() {
	stat=$(ask 'show stat')
	echo "$stat" | awk -F, '
		$1 == "web" && $2 != "BACKEND" { list = list (list ? ", " : "") "\"" $2 "\": \"" $18 "\"" }
		END { print "{\"servers\": {" list "}}" }'
}

# change: asks for it on all servers, and then waits for each.
change() {
	for server in $servers; do
		answer=$(ask "set server web/$server state $PT_action" | tr -d '\n')
		[ -z "$answer" ] || fail "HAProxy about $server: $answer"
	done
	end=$(($(date +%s) + PT_wait))
	for server in $servers; do
		until reached "$server"; do
			[ "$(date +%s)" -lt "$end" ] ||
				fail "after $PT_wait seconds $server is $(field "$server" 18) and has $(field "$server" 5) requests"
			sleep 0.1
		done
	done
}

servers=$(printf '%s' "$PT_servers" | tr -d '[]"' | tr ',' ' ')
case $PT_action in
status) status ;;
*) change ;;
esac
