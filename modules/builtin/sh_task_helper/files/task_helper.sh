# What tasks in POSIX sh have in common. A task that names
# "sh_task_helper/files/task_helper.sh" among the files in its metadata reads it
# with
#
#   . "$PT__installdir/sh_task_helper/files/task_helper.sh"
#
# Values become JSON by json_string and json_object; fail ends a task with an
# error, and must runs a command that has to succeed. Patterns are not expanded
# to names of files from here on (set -f).

# zsh divides words and names parameters as sh does only when it is told to.
[ -z "${ZSH_VERSION-}" ] || emulate sh
set -f
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH

newline='
'
escape=$(printf '\033')

# json_string TEXT: prints TEXT as a JSON string.
json_string() {
	# Letters stand here one by one, as what lies between two of them depends
	# on the locale.
	case $1 in
	*[!ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789' _.,:;/+=@~%()'-]*) printf '%s' "$1" | json_text ;;
	*) printf '"%s"' "$1" ;;
	esac
}

# json_text: prints standard input as a JSON string, in ASCII. What is not UTF-8
# becomes U+FFFD. It goes by the numbers of bytes, since not every awk can read
# bytes as they are.
json_text() {
	od -An -v -t x1 | LC_ALL=C awk '
		function escape(n) { printf "\\u%s%s", hex[int(n / 256)], hex[n % 256] }
		function character(n) {
			if (n == 34 || n == 92) printf "\\%c", n
			else if (n == 10) printf "\\n"
			else if (n == 9) printf "\\t"
			else if (n >= 32 && n < 127) printf "%c", n
			else if (n < 65536) escape(n)
			else {
				n -= 65536
				escape(55296 + int(n / 1024))
				escape(56320 + n % 1024)
			}
		}
		function more(n, bits, least, most) {
			rest = n
			code = bits
			low = least
			high = most
		}
		BEGIN {
			digits = "0123456789abcdef"
			for (i = 0; i < 256; i++) {
				h = substr(digits, int(i / 16) + 1, 1) substr(digits, i % 16 + 1, 1)
				hex[i] = h
				number[h] = i
			}
			printf "\""
		}
		{
			for (i = 1; i <= NF; i++) {
				b = number[$i]
				if (rest > 0) {
					if (b >= low && b <= high) {
						code = code * 64 + b - 128
						low = 128
						high = 191
						if (--rest == 0) character(code)
						continue
					}
					rest = 0
					escape(65533)
				}
				if (b < 128) character(b)
				else if (b >= 194 && b < 224) more(1, b - 192, 128, 191)
				else if (b == 224) more(2, 0, 160, 191)
				else if (b == 237) more(2, 13, 128, 159)
				else if (b > 224 && b < 240) more(2, b - 224, 128, 191)
				else if (b == 240) more(3, 0, 144, 191)
				else if (b > 240 && b < 244) more(3, b - 240, 128, 191)
				else if (b == 244) more(3, 4, 128, 143)
				else escape(65533)
			}
		}
		END {
			if (rest > 0) escape(65533)
			printf "\""
		}'
}

# json_object [KEY VALUE]...: prints an object of strings on one line.
json_object() {
	json_comma=
	printf '{'
	while [ $# -gt 1 ]; do
		printf '%s' "$json_comma"
		json_string "$1"
		printf ':'
		json_string "$2"
		json_comma=,
		shift 2
	done
	printf '}\n'
}

# noop_object [KEY VALUE]...: prints json_object's object with "_noop": true, the
# result of a task that has changed nothing because of --noop.
noop_object() {
	json_object "$@" | sed 's/}$/,"_noop":true}/'
}

# fail MESSAGE [STATUS]: ends the task with an error.
fail() {
	printf '{"status":"failure","_error":{"kind":"bash-error","msg":'
	json_string "$1"
	printf ',"details":{}}}\n'
	exit "${2:-1}"
}

# must COMMAND [ARGUMENT]...: runs a command without input; its output is
# dropped. If it fails, so does the task, with what the command had to say.
must() {
	try "$@" || fail "$(said "$@")"
}

# try COMMAND [ARGUMENT]...: runs a command without input and keeps what it
# prints for said. The output goes to files and not through a pipe, since a
# daemon that a command starts would keep a pipe open.
try() {
	"$@" </dev/null >"$PT__installdir/.output.$$" 2>"$PT__installdir/.errors.$$"
	tried=$?
	return $tried
}

# said COMMAND...: the end of what the command of the last try wrote to standard
# error; if that is nothing, to standard output.
said() {
	for said_file in "$PT__installdir/.errors.$$" "$PT__installdir/.output.$$"; do
		if [ -s "$said_file" ]; then
			tail -c 16384 "$said_file" | colourless
			return
		fi
	done
	printf '%s' "$1 ended with status $tried"
}

# colourless: takes what is for terminals out of a text. There are programs that
# use colours wherever their output goes.
colourless() {
	LC_ALL=C sed -e "s/${escape}\\[[0-9;?]*[A-Za-z]//g" -e "s/${escape}[()][A-Za-z0-9]//g"
}

# output: what the command of the last try wrote to standard output.
output() {
	cat "$PT__installdir/.output.$$"
}

# plain WHAT VALUE: ends the task if a value could be taken for an option, or is
# more than one line.
plain() {
	case $2 in
	'') fail "$1 is empty" 255 ;;
	-*) fail "$1 begins with a hyphen: $2" 255 ;;
	*"$newline"*) fail "$1 has more than one line: $2" 255 ;;
	esac
}

# only WHAT VALUE CHARACTERS: ends the task if a value has other characters than
# these, a set as tr(1) takes it.
only() {
	[ -z "$(printf '%s' "$2" | LC_ALL=C tr -d "$3")" ] || fail "$1 has characters that are not allowed in it: $2" 255
}

# first_of PROGRAM...: the first one of the programs that is there.
first_of() {
	for first_of in "$@"; do
		if command -v "$first_of" >/dev/null 2>&1; then
			printf '%s' "$first_of"
			return
		fi
	done
	return 1
}
