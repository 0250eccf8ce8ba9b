#!/bin/sh
# Takes the system down a few seconds from now, so that the result of this task
# still arrives.
. "$PT__installdir/sh_task_helper/files/task_helper.sh"

timeout=${PT_timeout:-3}
message=${PT_message-}
# A parameter that a plan gives as undef is null.
[ "$timeout" != null ] || timeout=3
[ "$message" != null ] || message=
case $timeout in
*[!0123456789]* | ??????????*) fail "timeout is not a number of seconds: $timeout" 255 ;;
esac
# A number with a zero in front would be octal to some shells.
while [ "${timeout#0}" != "$timeout" ] && [ "$timeout" != 0 ]; do
	timeout=${timeout#0}
done
[ "$timeout" -ge 3 ] || timeout=3
case $message in
*'|'* | *'&'*) fail 'message has a | or & in it' 255 ;;
esac
[ "$(id -u)" = 0 ] || fail 'only root can reboot the system: connect as root, or use --run-as root'

set -- -r
now=reboot
if [ "${PT_shutdown_only-}" = true ]; then
	set -- -h -P
	now=poweroff
fi
program=$(first_of shutdown "$now") || fail "there is neither shutdown nor $now on this system"

if [ "${PT__noop-}" = true ]; then
	# The timeout is a number, so it is not for noop_object.
	printf '{"status":"not queued","timeout":%s,"change":"%s","_noop":true}\n' "$timeout" "$now"
	exit 0
fi

# later SECONDS COMMAND...: runs a command by itself, beyond the end of this
# task and of its connection.
later() {
	apart=$(first_of setsid nohup) || apart=
	# shellcheck disable=SC2016 # for that shell
	$apart sh -c 'sleep "$1"; shift; exec "$@"' sh "$@" </dev/null >/dev/null 2>&1 &
}

if [ "$program" = shutdown ]; then
	# shutdown counts in minutes, so the rest is slept before.
	minutes=$((timeout / 60))
	if [ "$minutes" = 0 ] && [ -n "$message" ] && command -v wall >/dev/null; then
		# Nobody sees the message of a shutdown that is at once.
		printf '%s\n' "$message" | wall >/dev/null 2>&1 || :
	fi
	later $((timeout % 60)) shutdown "$@" -- "+$minutes" ${message:+"$message"}
else
	later "$timeout" "$now"
fi
# A moment for the new process to come apart from this one.
sync
printf '{"status":"queued","timeout":%s}\n' "$timeout"
