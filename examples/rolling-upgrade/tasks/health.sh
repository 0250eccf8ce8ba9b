#!/bin/sh
# Asks the service on this machine until it is well, or its time is over.
set -eu
listen=$(sed -n 's/^listen=//p' shared/settings)
wanted=${PT_version-}

# ask: sets $answer to what the service says, or what is wrong with that, and fails unless it is well.
ask() {
	reply=$(printf 'GET /cgi-bin/health HTTP/1.0\r\n\r\n' | busybox nc -w 5 "${listen%:*}" "${listen##*:}" 2>/dev/null) || reply=
	answer=$(printf '%s\n' "$reply" | sed '1,/^\r*$/d' | tr -d '"\\\r')
	case $reply in
	'HTTP/'*' 200 '*)
		[ "$answer" = "${wanted:-$answer}" ] && return
		answer="$answer answers, and not $wanted"
		false
		;;
	'') answer="nothing answers at $listen" && false ;;
	*) false ;;
	esac
}

end=$(($(date +%s) + PT_wait))
until ask; do
	if [ "$(date +%s)" -ge "$end" ]; then
		printf '{"_error": {"kind": "shop/not-well", "msg": "%s", "details": {}}}\n' "$answer"
		exit 1
	fi
	sleep 0.1
done
printf '{"version": "%s"}\n' "$answer"
