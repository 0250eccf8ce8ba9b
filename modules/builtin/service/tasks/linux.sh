#!/bin/sh
# Starts, stops, enables and looks at services with the system's service manager.
. "$PT__installdir/sh_task_helper/files/task_helper.sh"

LC_MESSAGES=C
export LC_MESSAGES

action=${PT_action-}
name=${PT_name-}
plain name "$name"
# systemctl takes patterns, too, and a path is no name.
only name "$name" 'A-Za-z0-9._+:~@%\\-'
case $action in
start | stop | restart | enable | disable | status) ;;
*) fail "there is no action '$action': start, stop, restart, enable, disable and status are" 255 ;;
esac

# words COMMAND...: what a command prints, on one line.
words() {
	try "$@" || :
	{
		output
		cat "$PT__installdir/.errors.$$"
	} | awk '{ for (i = 1; i <= NF; i++) { printf "%s%s", space, $i; space = " " } }'
}

systemd() {
	[ "$action" = status ] || must systemctl --no-ask-password "$action" -- "$name"
	try systemctl show --no-pager -p LoadState -p MainPID -p ActiveState -- "$name" || fail "$(said systemctl)"
	state=$(output | awk 'NF { printf "%s%s", comma, $0; comma = "," }')
	case $action in
	status | enable | disable)
		json_object status "$state" enabled "$(words systemctl is-enabled -- "$name")"
		;;
	*) json_object status "$state" ;;
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
	[ -e "/etc/init.d/$name" ] || rc-service --exists "$name" || fail "there is no service $name"
	case $action in
	start | stop | restart) must rc-service "$name" "$action" ;;
	enable) must rc-update add "$name" default ;;
	disable) [ "$(openrc_enabled)" = disabled ] || must rc-update --all del "$name" ;;
	esac
	# The status of a service that is stopped is no failure, and " * status: started".
	try rc-service --nocolor "$name" status || :
	state=$(output | awk '/status:/ { print $NF; exit }')
	[ -n "$state" ] || state=$(words rc-service --nocolor "$name" status)
	case $action in
	status | enable | disable) json_object status "$state" enabled "$(openrc_enabled)" ;;
	*) json_object status "$state" ;;
	esac
}

# change COMMAND...: runs a command that may fail where there is nothing to do.
change() {
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
init() {
	case $action in
	start | stop | restart) change service "$name" "$action" ;;
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
	case $action in
	status | enable | disable) json_object status "$(words service "$name" status)" enabled "$(init_enabled)" ;;
	*) json_object status "$(words service "$name" status)" ;;
	esac
}

upstart() {
	case $action in
	start | stop | restart) change initctl "$action" "$name" ;;
	enable | disable) fail "upstart has no action $action" 255 ;;
	esac
	if [ "$action" = status ]; then
		json_object status "$(words initctl status "$name")" enabled "$(words initctl show-config "$name")"
	else
		json_object status "$(words initctl status "$name")"
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
'') program=$(own_manager) || fail 'there is no service manager that is known here: systemctl, rc-service, service and initctl are' 255 ;;
systemd) program=systemctl ;;
openrc) program=rc-service ;;
init | debian | redhat | service) program=service ;;
upstart) program=initctl ;;
*) fail "there is no provider '$provider': systemd, openrc, init and upstart are" 255 ;;
esac
command -v "$program" >/dev/null || fail "there is no $program on this system" 255
case $program in
systemctl) systemd ;;
rc-service) openrc ;;
service) init ;;
initctl) upstart ;;
esac
