#!/bin/sh
# Configures an agent that was just installed: settings in puppet.conf, the
# attributes of its certificate request, and its service.
. "$PT__installdir/sh_task_helper/files/task_helper.sh"
task=configure
. "$PT__installdir/openvox_bootstrap/files/common.sh"

settings=$(given "${PT_puppet_conf-}" '{}')
attributes=$(given "${PT_csr_attributes-}" '{}')
running=$(given "${PT_puppet_service_running-}" true)
enabled=$(given "${PT_puppet_service_enabled-}" true)
separator=$(printf '\037')

# pairs FORM: reads a JSON object of objects of strings from the variable json.
# It prints the pairs as lines of SECTION, KEY and VALUE with separator between
# them, or as YAML if the form is yaml. Status 2 means that the text has another
# form, and status 3 that a string has a control character.
pairs() {
	form=$1 separator=$separator json=$json LC_ALL=C awk '
		function stop(with) {
			status = with
			exit with
		}
		function take(c) {
			while (substr(text, at, 1) ~ /[ \t\r\n]/) at++
			if (substr(text, at, 1) != c) return 0
			at++
			return 1
		}
		function need(c) { if (!take(c)) stop(2) }
		# unit reads the four digits of an escape.
		function unit(    n, i, digit) {
			n = 0
			for (i = 0; i < 4; i++) {
				digit = index("0123456789abcdef", tolower(substr(text, at, 1)))
				if (digit == 0 || substr(text, at++, 1) == "") stop(2)
				n = n * 16 + digit - 1
			}
			return n
		}
		function utf8(n) {
			if (n < 128) return sprintf("%c", n)
			if (n < 2048) return sprintf("%c%c", 192 + int(n / 64), 128 + n % 64)
			if (n < 65536) return sprintf("%c%c%c", 224 + int(n / 4096), 128 + int(n / 64) % 64, 128 + n % 64)
			return sprintf("%c%c%c%c", 240 + int(n / 262144), 128 + int(n / 4096) % 64, 128 + int(n / 64) % 64, 128 + n % 64)
		}
		function escaped(    c, n) {
			c = substr(text, at++, 1)
			if (c == "\"" || c == "\\" || c == "/") return c
			if (c != "u") stop(index("bfnrt", c) && c != "" ? 3 : 2)
			n = unit()
			if (n >= 55296 && n < 56320 && substr(text, at, 2) == "\\u") {
				at += 2
				n = 65536 + (n - 55296) * 1024 + unit() - 56320
			}
			if (n < 32 || n >= 127 && n < 160) stop(3)
			return utf8(n)
		}
		function string(    value, c) {
			need("\"")
			value = ""
			for (;;) {
				c = substr(text, at++, 1)
				if (c == "") stop(2)
				if (c == "\"") return value
				if (c == delete_character || c < " ") stop(3)
				value = value (c == "\\" ? escaped() : c)
			}
		}
		function quoted(value) {
			gsub(/["\\]/, "\\\\&", value)
			return "\"" value "\""
		}
		function pair(section,    key, value) {
			key = string()
			need(":")
			value = string()
			if (yaml) print "  " quoted(key) ": " quoted(value)
			else print section ENVIRON["separator"] key ENVIRON["separator"] value
		}
		function object(    section) {
			section = string()
			need(":")
			need("{")
			if (take("}")) {
				if (yaml) print section ": {}"
				return
			}
			if (yaml) print section ":"
			do pair(section); while (take(","))
			need("}")
		}
		BEGIN {
			text = ENVIRON["json"]
			yaml = ENVIRON["form"] == "yaml"
			delete_character = sprintf("%c", 127)
			at = 1
			if (yaml) print "---"
			need("{")
			if (!take("}")) {
				do object(); while (take(","))
				need("}")
			}
			take(" ")
			if (at <= length(text)) stop(2)
		}
		END { exit status }' </dev/null
}

# read_pairs NAME JSON FORM FILE: writes what pairs prints to a file.
read_pairs() {
	json=$2
	pairs "$3" >"$4"
	case $? in
	0) ;;
	3) fail "$1 has a control character in a string" ;;
	*) fail "$1 must be an object of objects of strings" ;;
	esac
}

for value in "$running" "$enabled"; do
	case $value in
	true | false) ;;
	*) fail "puppet_service_running and puppet_service_enabled must be true or false: $value" ;;
	esac
done
read_pairs puppet_conf "$settings" lines "$PT__installdir/.settings.$$"
read_pairs csr_attributes "$attributes" lines "$PT__installdir/.attributes.$$"
read_pairs csr_attributes "$attributes" yaml "$PT__installdir/.yaml.$$"
while IFS=$separator read -r section key value; do
	plain 'a section of puppet_conf' "$section"
	only 'a section of puppet_conf' "$section" 'A-Za-z0-9_:.-'
	plain 'a setting of puppet_conf' "$key"
	only 'a setting of puppet_conf' "$key" 'A-Za-z0-9_'
done <"$PT__installdir/.settings.$$"
while IFS=$separator read -r section key value; do
	case $section in
	custom_attributes | extension_requests) ;;
	*) fail "csr_attributes must have no keys but custom_attributes and extension_requests: $section" ;;
	esac
	only 'a name in csr_attributes' "$key" 'A-Za-z0-9_.'
done <"$PT__installdir/.attributes.$$"

puppet=$(puppet_program) || fail 'Puppet is not installed: /opt/puppetlabs/bin/puppet does not exist, and puppet is not in PATH'

# part NAME: begins a part of the result.
results=
part() {
	results=$results${results:+,}\"$1\":
}
# failed NAME: notes that a part failed.
failures=
failed() {
	failures=$failures${failures:+, }$1
}

# all_output: prints both outputs of the command of the last try.
all_output() {
	{
		output
		cat "$PT__installdir/.errors.$$"
	} | colourless
}

set_settings() {
	errors=
	while IFS=$separator read -r section key value; do
		try "$puppet" config set --section "$section" "$key" "$value" ||
			errors=$errors${errors:+,}$(json_string "--section=$section $key=$value"):$(json_string "$(all_output)")
	done <"$PT__installdir/.settings.$$"
	contents=
	[ ! -r "$confdir/puppet.conf" ] || contents=$(cat "$confdir/puppet.conf" && printf .) contents=${contents%.}
	part puppet_conf
	results=$results'{"path":'$(json_string "$confdir/puppet.conf")',"contents":'$(json_string "$contents")
	if [ -n "$errors" ]; then
		failed puppet_conf
		results=$results',"successful":false,"errors":{'$errors'}}'
	else
		results=$results',"successful":true}'
	fi
}

# write_attributes: the file takes its place whole, with its final owner and
# mode, since it may hold a shared secret.
write_attributes() {
	file=$confdir/csr_attributes.yaml
	new=$(mktemp "$confdir/.csr_attributes.XXXXXX") || fail "cannot write to $confdir"
	trap 'rm -f "$new"' EXIT
	trap 'exit 1' HUP INT TERM
	cat "$PT__installdir/.yaml.$$" >"$new" || fail "cannot write to $confdir"
	if id -u puppet >/dev/null 2>&1; then
		must chown puppet "$new"
	fi
	if grep -q '^puppet:' /etc/group; then
		must chgrp puppet "$new"
	fi
	must chmod 640 "$new"
	must mv -f "$new" "$file"
	part csr_attributes
	contents=$(cat "$file")
	results=$results'{"path":'$(json_string "$file")',"contents":'$(json_string "$contents$newline")',"successful":true}'
}

manage_service() {
	ensure=stopped
	[ "$running" = false ] || ensure=running
	manifest="service { 'puppet': ensure => $ensure, enable => $enabled, }"
	try "$puppet" apply --detailed-exitcodes -e "$manifest"
	# Status 2 means that the run made changes.
	successful=true
	case $tried in
	0 | 2) ;;
	*) successful=false && failed puppet_service ;;
	esac
	part puppet_service
	results=$results'{"command":'$(json_string "$puppet apply --detailed-exitcodes -e $manifest")',"output":'$(json_string "$(all_output)")',"successful":'$successful'}'
}

if [ "$settings" != '{}' ] || [ "$attributes" != '{}' ]; then
	try "$puppet" config print confdir || fail "$(said "$puppet")"
	confdir=$(output | tail -n 1)
	[ -d "$confdir" ] || fail "the configuration directory of Puppet does not exist: $confdir"
fi
[ "$settings" = '{}' ] || set_settings
[ "$attributes" = '{}' ] || write_attributes
manage_service
if [ -n "$failures" ]; then
	printf '{%s,"_error":{"kind":"openvox_bootstrap/configure-error","msg":' "$results"
	json_string "configuration failed: $failures"
	printf ',"details":{}}}\n'
	exit 1
fi
printf '{%s}\n' "$results"
