#!/bin/sh
# Starts, stops, enables and looks at services with the system's service manager.
. "$PT__installdir/sh_task_helper/files/task_helper.sh"

# Messages are looked at; LC_ALL would go before LC_MESSAGES.
if [ -n "${LC_ALL-}" ]; then
	LC_CTYPE=$LC_ALL
	export LC_CTYPE
	unset LC_ALL
fi
LC_MESSAGES=C
export LC_MESSAGES

action=${PT_action-}
name=${PT_name-}
plain name "$name"
# systemctl takes patterns, too, and a path is no name.
only name "$name" 'A-Za-z0-9._+:~@%\\-'
case $action in
start | stop | restart | enable | disable | status) ;;
*) fail "unknown action '$action': use start, stop, restart, enable, disable or status" 255 ;;
esac

# With --noop, nothing is done and the action is only foreseen.
noop= todo=$action
[ "${PT__noop-}" != true ] || noop=true todo=none

# result KEY VALUE...: prints the result.
result() {
	if [ -n "$noop" ]; then
		noop_object "$@" change "$change"
	else
		json_object "$@"
	fi
}

# foresee RUNS ENABLED: sets change to what the action would do to a service that
# runs and is enabled: "yes", or something else. A state that no action changes is
# "fixed".
change=
foresee() {
	case $action:$1:$2 in
	status:* | start:yes:* | enable:*:yes | enable:*:fixed) ;;
	start:* | enable:* | restart:* | stop:yes:* | disable:*:yes) change=$action ;;
	esac
}

# words COMMAND...: what a command prints, on one line.
words() {
	try "$@" || :
	all_said
}
all_said() {
	{
		output
		cat "$PT__installdir/.errors.$$"
	} | colourless | awk '{ for (i = 1; i <= NF; i++) { printf "%s%s", space, $i; space = " " } }'
}

# missing REASON: ends the task since there is no such service.
missing() {
	fail "service $name does not exist: $1"
}

# systemd_knows: whether there is such a unit. One that runs or has failed may
# have lost its file.
systemd_knows() {
	try systemctl show --no-pager -p LoadState -p MainPID -p ActiveState -- "$name" || fail "${reason:-$(said systemctl)}"
	case $(output) in
	*LoadState=not-found*ActiveState=inactive* | *ActiveState=inactive*LoadState=not-found*) return 1 ;;
	esac
}
systemd() {
	# What systemctl can act upon is for it to say: there are names, as those of
	# templates, of which it knows no state.
	reason=
	if [ -z "$noop" ] && [ "$action" != status ] && ! try systemctl --no-ask-password "$action" -- "$name"; then
		reason=$(said systemctl)
		systemd_knows || missing "$reason"
		fail "$reason"
	fi
	# After an action, the last unit file may be gone: "disable" removes links.
	# After a foreseen one, nothing is gone.
	systemd_knows || case $todo in
	status | none) missing 'systemd has no such unit' ;;
	esac
	state=$(output | awk 'NF { printf "%s%s", comma, $0; comma = "," }')
	enabled=
	case $action in
	status | enable | disable) enabled=$(words systemctl is-enabled -- "$name") ;;
	esac
	runs= boots=
	case ,$state, in
	*,ActiveState=active,* | *,ActiveState=activating,* | *,ActiveState=reloading,*) runs=yes ;;
	esac
	case $enabled in
	enabled | enabled-runtime) boots=yes ;;
	static | alias | indirect | generated | transient) boots=fixed ;; # neither enable nor disable changes it
	esac
	foresee "$runs" "$boots"
	case $action in
	status | enable | disable) result status "$state" enabled "$enabled" ;;
	*) result status "$state" ;;
	esac
}

openrc_enabled() {
	try rc-update show -v || :
	output | awk -F'|' -v name="$name" '
		{ service = $1; gsub(/[ \t]/, "", service); levels = $2; gsub(/[ \t]/, "", levels) }
		service == name && levels != "" { found = 1 }
		END { print (found ? "enabled" : "disabled") }'
}
openrc() {
	[ -e "/etc/init.d/$name" ] || rc-service --exists "$name" || missing 'OpenRC has no such script'
	case $todo in
	start | stop | restart) must rc-service "$name" "$action" ;;
	enable) must rc-update add "$name" default ;;
	disable) [ "$(openrc_enabled)" = disabled ] || must rc-update --all del "$name" ;;
	esac
	# The status of a service that is stopped is no failure, and " * status: started".
	try rc-service --nocolor "$name" status || :
	state=$(output | awk '/status:/ { print $NF; exit }')
	[ -n "$state" ] || state=$(words rc-service --nocolor "$name" status)
	runs= boots= enabled=
	[ "$state" != started ] || runs=yes
	case $action in
	status | enable | disable) enabled=$(openrc_enabled) ;;
	esac
	[ "$enabled" != enabled ] || boots=yes
	foresee "$runs" "$boots"
	case $action in
	status | enable | disable) result status "$state" enabled "$enabled" ;;
	*) result status "$state" ;;
	esac
}

# act COMMAND...: runs a command that may fail where there is nothing to do.
act() {
	try "$@" || case $(said "$@") in
	*'already running'* | *'Unknown instance:'* | *'is not running'*) ;;
	*) fail "$(said "$@")" ;;
	esac
}

init_enabled() {
	if command -v chkconfig >/dev/null; then
		words chkconfig --list "$name"
		return
	fi
	set +f
	set -- /etc/rc[2345].d/S[0-9][0-9]"$name"
	set -f
	if [ -e "$1" ]; then
		printf enabled
	else
		printf disabled
	fi
}
# init_status: the status of the service. A service that is stopped has a status,
# and its script fails; one that is not there is told by what "service" says:
# that of Debian and Red Hat, of FreeBSD, of OpenWrt, and systemctl where it is
# called instead.
init_status() {
	try service "$name" status || case $(all_said) in
	"$name: unrecognized service" | "$name does not exist in "* | "Service \"$name\" not found"* | \
		"Unit $name could not be found." | "Unit $name.service could not be found." | \
		"Redirecting to "*" Unit $name could not be found." | "Redirecting to "*" Unit $name.service could not be found.")
		missing "$(all_said)"
		;;
	esac
	runs=
	[ "$tried" != 0 ] || runs=yes
	state=$(all_said)
}
init() {
	init_status
	case $todo in
	start | stop | restart) act service "$name" "$action" ;;
	enable | disable)
		if command -v update-rc.d >/dev/null; then
			[ "$action" = disable ] || must update-rc.d "$name" defaults
			must update-rc.d "$name" "$action"
		elif command -v chkconfig >/dev/null; then
			if [ "$action" = enable ]; then
				must chkconfig "$name" on
			else
				must chkconfig "$name" off
			fi
		else
			fail "the action $action needs update-rc.d or chkconfig, and this system has neither" 255
		fi
		;;
	esac
	[ "$action" = status ] || [ -n "$noop" ] || init_status
	enabled= boots=
	case $action in
	status | enable | disable) enabled=$(init_enabled) ;;
	esac
	case $enabled in
	enabled | *:on*) boots=yes ;;
	esac
	foresee "$runs" "$boots"
	case $action in
	status | enable | disable) result status "$state" enabled "$enabled" ;;
	*) result status "$state" ;;
	esac
}

# upstart_status: the status of the job. That of a stopped one is no failure,
# unless it is one of many instances.
upstart_status() {
	try initctl status "$name" || case $(said initctl) in
	*'Unknown job:'*) missing "$(said initctl)" ;;
	*'Unknown instance:'*) ;;
	*) fail "$(said initctl)" ;;
	esac
	state=$(all_said)
}
upstart() {
	upstart_status
	case $action:$noop in
	start: | stop: | restart:)
		act initctl "$action" "$name"
		upstart_status
		;;
	enable:* | disable:*) fail "upstart has no action $action" 255 ;;
	esac
	runs=
	case $state in
	*start/*) runs=yes ;;
	esac
	foresee "$runs" ''
	if [ "$action" = status ]; then
		result status "$state" enabled "$(words initctl show-config "$name")"
	else
		result status "$state"
	fi
}

# own_manager: what runs the services here. systemctl is there in containers
# that have no systemd running.
own_manager() {
	if [ -d /run/systemd/system ] && first_of systemctl; then
		return
	fi
	first_of rc-service service initctl systemctl
}

provider=${PT_provider-}
[ "$provider" != null ] || provider= # undef in a plan
case $provider in
'') program=$(own_manager) || fail 'could not find a known service manager: systemctl, rc-service, service or initctl' 255 ;;
systemd) program=systemctl ;;
openrc) program=rc-service ;;
init | debian | redhat | service) program=service ;;
upstart) program=initctl ;;
*) fail "unknown provider '$provider': use systemd, openrc, init or upstart" 255 ;;
esac
command -v "$program" >/dev/null || fail "$program is not installed" 255
case $program in
systemctl) systemd ;;
rc-service) openrc ;;
service) init ;;
initctl) upstart ;;
esac
