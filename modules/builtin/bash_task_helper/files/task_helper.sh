# shellcheck shell=bash
# What tasks in bash have in common. A task that names
# "bash_task_helper/files/task_helper.sh" among the files in its metadata, and
# "environment" as its input method, reads it with
#
#   source "$PT__installdir/bash_task_helper/files/task_helper.sh"
#
# From there on a parameter is a variable of its own name ($PT_name is $name,
# too), and what the task prints is kept in a file. When the task ends, by
# task-succeed, task-fail or in any other way, its result is printed as JSON:
# the values of task-output, and under _output what was kept if the task failed.
#
# The descriptors 6 and 7 are in use. A task that has a trap for EXIT of its own
# calls task-exit at the end of it.
#
# Needs nothing newer than bash 3.2, and works with set -e and set -u.

# Colours, for what goes to a terminal.
green='' red='' reset=''
if [[ -t 1 ]] && tput colors >/dev/null 2>&1; then
	green=$(tput setaf 2)
	red=$(tput setaf 1)
	reset=$(tput sgr0)
fi

for _task_name in ${!PT_*}; do
	# Names that bash keeps for itself (UID) cannot be set.
	[[ ${_task_name#PT_} == [0-9]* ]] || printf -v "${_task_name#PT_}" %s "${!_task_name}" 2>/dev/null || :
done

_task_keys=()
_task_values=()
_task_message=''
_task_verbose=false
_task_shell=$BASH_SUBSHELL

# task-json-escape: prints standard input as it stands between the quotes of a
# string in JSON, in ASCII. What is not UTF-8 becomes U+FFFD.
task-json-escape() {
	od -An -v -t x1 | LC_ALL=C awk '
		function unit(n) { printf "\\u%04x", n }
		function emit(n) {
			if (n == 34 || n == 92) printf "\\%c", n
			else if (n == 10) printf "\\n"
			else if (n == 13) printf "\\r"
			else if (n == 9) printf "\\t"
			else if (n >= 32 && n < 127) printf "%c", n
			else if (n < 65536) unit(n)
			else {
				unit(55296 + int((n - 65536) / 1024))
				unit(56320 + n % 1024)
			}
		}
		# A first byte: how many follow, its own bits, and the range of the next.
		function begin(count, bits, least, most) { left = count; code = bits; low = least; high = most }
		BEGIN {
			for (i = 0; i < 256; i++) number[sprintf("%02x", i)] = i
		}
		{
			for (i = 1; i <= NF; i++) {
				b = number[$i]
				if (left > 0) {
					if (b >= low && b <= high) {
						code = code * 64 + b - 128
						low = 128
						high = 191
						if (--left == 0) emit(code)
						continue
					}
					left = 0
					unit(65533)
				}
				if (b < 128) emit(b)
				else if (b >= 194 && b < 224) begin(1, b - 192, 128, 191)
				else if (b >= 224 && b < 240) begin(2, b - 224, b == 224 ? 160 : 128, b == 237 ? 159 : 191)
				else if (b >= 240 && b < 245) begin(3, b - 240, b == 240 ? 144 : 128, b == 244 ? 143 : 191)
				else unit(65533)
			}
		}
		END { if (left > 0) unit(65533) }'
}

# task-output KEY TEXT: puts a text into the result.
task-output() {
	task-output-json "${1-}" "\"$(printf %s "${2-}" | task-json-escape)\""
}

# task-output-json KEY JSON: puts a value into the result that is JSON already.
task-output-json() {
	local i
	for ((i = 0; i < ${#_task_keys[@]}; i++)); do
		[[ ${_task_keys[i]} != "${1-}" ]] || break
	done
	_task_keys[i]=${1-}
	_task_values[i]=${2-null}
}

# task-verbose-output [true|false]: whether the result has all that the task
# printed if it succeeds, too.
task-verbose-output() {
	_task_verbose=${1:-true}
}

# task-succeed [MESSAGE]: ends the task.
task-succeed() {
	task-output status success
	_task_message=${1-}
	task-exit 0
}

# task-fail [MESSAGE [STATUS]]: ends the task with an error.
task-fail() {
	task-output status error
	_task_message=${1-}
	# An error has a status other than 0.
	[[ ${2-} =~ ^[0-9]*[1-9][0-9]*$ ]] || set -- "${1-}" 1
	task-exit "$2"
}

# Names that task-succeed and task-fail had once.
success() {
	task-output _deprecation_warning 'success is an old name: use task-succeed'
	task-succeed "$@"
}
fail() {
	task-output _deprecation_warning 'fail is an old name: use task-fail'
	task-fail "$@"
}

# task-exit [STATUS]: prints the result and ends the task. For traps.
task-exit() {
	local status=${1:-$?} kept i
	set +eu
	if ((BASH_SUBSHELL > _task_shell)); then
		# The shell that the subshell belongs to has a result of its own to print.
		[[ -z $_task_message ]] || printf '%s\n' "$_task_message"
		exit "$status"
	fi
	trap - EXIT
	exec 1>&6 2>&7 6>&- 7>&-
	if ((status != 0)) || [[ $_task_verbose == true ]]; then
		kept=$(tr -d '\000' <"$_task_kept")
		[[ -z $kept || -z $_task_message ]] || kept+=$'\n'
		task-output _output "$kept$_task_message"
	elif [[ -n $_task_message ]]; then
		task-output _output "$_task_message"
	fi
	rm -f "$_task_kept"

	printf '{'
	for ((i = 0; i < ${#_task_keys[@]}; i++)); do
		((i == 0)) || printf ','
		printf '\n  "%s": %s' "$(printf %s "${_task_keys[i]}" | task-json-escape)" "${_task_values[i]}"
	done
	printf '\n}\n'
	exit "$status"
}

if ! _task_kept=$(mktemp); then
	printf '{"_error": {"kind": "bash-task-helper/no-file", "msg": "%s", "details": {}}}\n' \
		'cannot store the output of the task: mktemp failed'
	exit 1
fi
trap task-exit EXIT
exec 6>&1 7>&2 >>"$_task_kept" 2>&1
