#!/bin/sh
# Reads and changes settings in puppet.conf. Changes leave all other lines as
# they are, and the file's owner and mode.
. "$PT__installdir/sh_task_helper/files/task_helper.sh"

action=${PT_action-}
section=${PT_section-}
setting=${PT_setting-}
[ -n "$section" ] && [ "$section" != null ] || section=main

# fail MESSAGE: ends the task with an error, which is there as plain text, too.
fail() {
	printf '{"status":"failure","error":'
	json_string "$1"
	printf ',"_error":{"kind":"bash-error","msg":'
	json_string "$1"
	printf ',"details":{}}}\n'
	exit 1
}
plain setting "$setting"
only setting "$setting" 'A-Za-z0-9_'
plain section "$section"
only section "$section" 'A-Za-z0-9_:.-'

# done_with STATUS: prints the result.
done_with() {
	json_object status "$1" setting "$setting" section "$section"
	exit 0
}

# Puppet knows its file. Without it, that is where the agent's packages have it,
# or else distributions.
puppet=/opt/puppetlabs/bin/puppet
[ -x "$puppet" ] || puppet=$(command -v puppet) || puppet=
if [ -n "$puppet" ]; then
	try "$puppet" config print config || fail "$(said puppet)"
	file=$(output)
elif [ "$(id -u)" != 0 ]; then
	file=${HOME-}/.puppetlabs/etc/puppet/puppet.conf
elif [ -d /etc/puppet ] && [ ! -d /etc/puppetlabs/puppet ]; then
	file=/etc/puppet/puppet.conf
else
	file=/etc/puppetlabs/puppet/puppet.conf
fi
# What a link leads to is what changes.
[ ! -L "$file" ] || file=$(readlink -f "$file")

# edit ACTION: prints the file after an action on the setting, or for "get" the
# setting's value. What was removed goes to standard error. The status is 1 if
# the setting is not there and should be.
#
# A new setting goes where Puppet puts it: behind the last one of its section.
# What comes before the first section belongs to main.
edit() {
	# The value comes through the environment, as it is: -v reads backslashes.
	action=$1 section=$section setting=$setting value=${value-} LC_ALL=C awk '
		BEGIN {
			action = ENVIRON["action"]
			section = ENVIRON["section"]
			setting = ENVIRON["setting"]
			added = setting " = " ENVIRON["value"]
			inside = section == "main"
		}
		{ line[NR] = $0 }
		/^[ \t]*\[[^]]*\]/ {
			name = $0
			sub(/^[ \t]*\[/, "", name)
			sub(/\].*$/, "", name)
			inside = name == section
			if (inside) header = NR
			next
		}
		inside && /^[ \t]*[A-Za-z0-9_]+[ \t]*=/ {
			last = NR
			name = $0
			sub(/^[ \t]*/, "", name)
			sub(/[ \t]*=.*$/, "", name)
			if (name == setting && !found) found = NR
		}
		END {
			if (found) {
				value = line[found]
				sub(/^[^=]*=[ \t]*/, "", value)
				head = substr(line[found], 1, length(line[found]) - length(value))
				tail = value
				sub(/[ \t\r]*$/, "", value)
				tail = substr(tail, length(value) + 1)
			}
			if (action == "get" && found) print value
			if (action == "delete" && found) print value | "cat >&2"
			if (action != "set" && !found) exit 1
			if (action == "get") exit
			after = found ? 0 : last ? last : header
			if (!found && !after && section == "main") {
				print "[main]"
				print added
			}
			for (i = 1; i <= NR; i++) {
				if (i != found) print line[i]
				else if (action == "set") print head ENVIRON["value"] tail
				if (i == after) print added
			}
			if (!found && !after && section != "main") {
				print "[" section "]"
				print added
			}
		}' "$file"
}

# replace ACTION: puts the edited file into the place of the file, at once.
replace() {
	new=$(mktemp "${file%/*}/.puppet.conf.XXXXXX") || fail "cannot write to ${file%/*}"
	trap 'rm -f "$new"' EXIT
	trap 'exit 1' HUP INT TERM
	{
		cp -p "$file" "$new" && edit "$1" >"$new" 2>"$PT__installdir/.removed.$$"
	} || return 1
	mv -f "$new" "$file" || fail "cannot replace $file"
}

case $action in
get)
	if [ -n "$puppet" ]; then
		try "$puppet" config print --section "$section" "$setting" || fail "$(said puppet)"
		done_with "$(output)"
	fi
	if [ -r "$file" ]; then
		found=$(edit get) && done_with "$found"
		[ "$section" = main ] || { found=$(section=main edit get) && done_with "$found"; }
	fi
	fail "$setting is not in $file, and puppet is not installed, so its default is unknown"
	;;
set)
	value=${PT_value-}
	case $value in
	'' | null) fail 'the action set needs a value' ;;
	*"$newline"*) fail 'value has more than one line' ;;
	esac
	[ -d "${file%/*}" ] || fail "${file%/*} does not exist; is Puppet installed?"
	[ -e "$file" ] || : >"$file" || fail "cannot write $file"
	replace set || fail "cannot change $file"
	done_with "$value"
	;;
delete)
	[ -r "$file" ] || done_with ''
	if replace delete; then
		done_with "Deleted setting from '$section': '$setting = $(cat "$PT__installdir/.removed.$$")'"
	fi
	done_with ''
	;;
*) fail "unknown action '$action': use get, set or delete" ;;
esac
