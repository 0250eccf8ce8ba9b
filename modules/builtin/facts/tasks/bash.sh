#!/bin/sh
# Collects facts under the names and with the values of facter 4, as far as a
# shell can tell them.
. "$PT__installdir/sh_task_helper/files/task_helper.sh"

# Where facter is installed it knows more, above all the facts that people added
# to it. As the task facts::bash this file does not ask it.
facter() {
	PATH=$PATH:/opt/puppetlabs/bin
	facter_version=$(command facter --version 2>/dev/null) || return 1
	case ${facter_version%%.*} in
	1 | 2) set -- facter -p --json ;;
	3) set -- facter -p --json --show-legacy ;;
	*)
		case $(puppet --version 2>/dev/null) in
		'' | [123456].*) set -- facter --json --show-legacy ;;
		*) set -- puppet facts show --show-legacy --render-as json ;;
		esac
		;;
	esac
	# It fails if it may not read some file, and tells the other facts.
	facter_output=$(command "$@" 2>/dev/null </dev/null)
	case $facter_output in
	'{'*'}') printf '%s\n' "$facter_output" ;;
	*) return 1 ;;
	esac
}

if [ "${PT__task-}" = facts ] && facter; then
	exit 0
fi

. "$PT__installdir/sh_task_helper/files/os.sh"

# pair KEY VALUE: a key with a string, or with null if that is empty.
pair() {
	printf '"%s":' "$1"
	if [ -n "$2" ]; then
		json_string "$2"
	else
		printf null
	fi
}

# known KEY VALUE: a comma and pair, if there is a value.
known() {
	[ -z "$2" ] || {
		printf ,
		pair "$1" "$2"
	}
}

release() {
	printf '"release":{'
	pair full "$os_full"
	printf ,
	pair major "$os_major"
	known minor "$os_minor"
	printf '}'
}

os() {
	hardware=$(uname -m)
	architecture=$hardware
	case $architecture in
	i[3456]86 | *pentium*) architecture=i386 ;;
	x86_64) [ "$os_family" != Debian ] || architecture=amd64 ;;
	esac
	printf '"os":{'
	pair name "$os_name"
	printf ',"distro":{'
	pair codename "$os_codename"
	known description "$os_description"
	known id "$os_id"
	printf ,
	release
	printf '},'
	release
	printf ,
	pair family "$os_family"
	printf ,
	pair architecture "$architecture"
	printf ,
	pair hardware "$hardware"
	printf '}'
}

kernel() {
	kernelrelease=$(uname -r)
	kernelversion=${kernelrelease%%[!0123456789.]*}
	kernelminor=${kernelversion#*.}
	pair kernel "$(uname -s)"
	printf ,
	pair kernelrelease "$kernelrelease"
	printf ,
	pair kernelversion "$kernelversion"
	printf ,
	pair kernelmajversion "${kernelversion%%.*}.${kernelminor%%.*}"
}

# addresses: a line "interface address prefix" for each address of an interface.
addresses() {
	if command -v ip >/dev/null; then
		ip -o addr 2>/dev/null | awk '$3 == "inet" || $3 == "inet6" {
			name = $2
			sub(/@.*/, "", name)
			split($4, part, "/")
			print name, part[1], part[2] == "" ? 32 : part[2]
		}'
	elif command -v ifconfig >/dev/null; then
		ifconfig -a 2>/dev/null | awk '
			/^[^ \t]/ { name = $1; sub(/:$/, "", name) }
			$1 == "inet" {
				sub(/^addr:/, "", $2)
				mask = ""
				for (i = 3; i <= NF; i++) {
					if ($i == "netmask") mask = $(i + 1)
					else if ($i ~ /^Mask:/) mask = substr($i, 6)
				}
				bits = 0
				n = split(mask, part, ".")
				for (i = 1; i <= n; i++) for (b = part[i] + 0; b > 0; b = int(b / 2)) bits += b % 2
				print name, $2, bits
			}'
	fi
}

# interfaces: a line "interface mtu mac" for each interface.
interfaces() {
	set +f
	for net in /sys/class/net/*; do
		[ -r "$net/mtu" ] || continue
		printf '%s %s %s\n' "${net##*/}" "$(cat "$net/mtu")" "$(cat "$net/address" 2>/dev/null)"
	done
	set -f
}

networking() {
	hostname=$(hostname 2>/dev/null || uname -n)
	domain=
	fqdn=
	case $hostname in
	*.*) domain=${hostname#*.} hostname=${hostname%%.*} ;;
	esac
	if [ -z "$domain" ]; then
		fqdn=$(hostname -f 2>/dev/null)
		case $fqdn in
		"$hostname".?*) domain=${fqdn#*.} ;;
		esac
		if [ -z "$domain" ] && [ -r /etc/resolv.conf ]; then
			domain=$(awk '$1 == "domain" && d == "" { d = $2 } $1 == "search" && s == "" { s = $2 } END { print d == "" ? s : d }' /etc/resolv.conf)
		fi
	fi
	primary=$(awk 'NR > 1 && $2 == "00000000" && $8 == "00000000" && $1 != "*" { print $1; exit }' /proc/net/route 2>/dev/null)

	printf '"networking":{'
	pair hostname "$hostname"
	printf ,
	pair fqdn "$hostname${domain:+.$domain}"
	known domain "$domain"
	{
		interfaces
		echo
		addresses
	} | LC_ALL=C awk -v primary="$primary" '
		function string(s) {
			gsub(/[\\"]/, "\\\\&", s) # names that the kernel gives have nothing else to escape
			return "\"" s "\""
		}
		# network ADDRESS with the bits after the prefix cleared; "255.255.255.255" gives the netmask.
		function masked(address, bits,    part, i, size, s) {
			split(address, part, ".")
			for (i = 1; i <= 4; i++) {
				size = bits >= 8 ? 1 : bits <= 0 ? 256 : 2 ^ (8 - bits)
				s = s (i > 1 ? "." : "") (part[i] - part[i] % size)
				bits -= 8
			}
			return s
		}
		function members(name,    s) {
			if (name in ip) {
				s = s ",\"ip\":" string(ip[name])
				s = s ",\"netmask\":" string(masked("255.255.255.255", bits[name]))
				s = s ",\"network\":" string(masked(ip[name], bits[name]))
			}
			if (name in ip6) s = s ",\"ip6\":" string(ip6[name])
			if (name in mac) s = s ",\"mac\":" string(mac[name])
			if (name in mtu) s = s ",\"mtu\":" mtu[name]
			return s
		}
		NF == 0 { second = 1; next }
		!second {
			names[++count] = $1
			if ($2 ~ /^[0-9]+$/) mtu[$1] = $2
			if ($3 ~ /^..:..:..:..:..:../ && $3 !~ /^[0:]+$/) mac[$1] = $3
			next
		}
		# The first address counts, unless it is one of those that only this link knows.
		$2 ~ /^[0-9]+\.[0-9.]+$/ {
			if (!($1 in ip) || (ip[$1] ~ /^(127|169\.254)\./ && $2 !~ /^(127|169\.254)\./)) {
				ip[$1] = $2
				bits[$1] = $3
			}
			next
		}
		$2 ~ /:/ {
			if (!($1 in ip6) || (ip6[$1] ~ /^fe80:/ && $2 !~ /^fe80:/)) ip6[$1] = $2
		}
		END {
			if (primary == "") {
				for (i = 1; i <= count && primary == ""; i++) {
					if (names[i] in ip && ip[names[i]] !~ /^(127|169\.254)\./) primary = names[i]
				}
			}
			if (primary != "") printf ",\"primary\":%s%s", string(primary), members(primary)
			printf ",\"interfaces\":{"
			for (i = 1; i <= count; i++) {
				s = members(names[i])
				printf "%s%s:{%s}", (i > 1 ? "," : ""), string(names[i]), substr(s, 2)
			}
			printf "}"
		}'
	printf '}'
}

memory() {
	LC_ALL=C awk '
		function human(n,    units, i) {
			split("bytes KiB MiB GiB TiB PiB EiB", units, " ")
			for (i = 1; n >= 1024 && i < 7; i++) n /= 1024
			return i == 1 ? n " bytes" : sprintf("%.2f %s", n, units[i])
		}
		function kind(name, total, available,    used) {
			used = total - available
			return sprintf("\"%s\":{\"total\":\"%s\",\"total_bytes\":%.0f,\"available\":\"%s\",\"available_bytes\":%.0f,\"used\":\"%s\",\"used_bytes\":%.0f,\"capacity\":\"%.2f%%\"}",
				name, human(total), total, human(available), available, human(used), used, used / total * 100)
		}
		{ bytes[$1] = $2 * 1024 }
		END {
			if (!("MemTotal:" in bytes)) exit
			available = "MemAvailable:" in bytes ? bytes["MemAvailable:"] : bytes["MemFree:"] + bytes["Buffers:"] + bytes["Cached:"]
			printf ",\"memory\":{%s", kind("system", bytes["MemTotal:"], available)
			if (bytes["SwapTotal:"] > 0) printf ",%s", kind("swap", bytes["SwapTotal:"], bytes["SwapFree:"])
			printf "}"
		}' /proc/meminfo 2>/dev/null
}

processors() {
	# Models are the firmware's words, so each becomes a string on its own.
	models=$(awk -F: '{ key = $1; gsub(/[ \t]+$/, "", key) } key == "model name" || key == "cpu" { sub(/^[ \t]+/, "", $NF); print $NF }' /proc/cpuinfo 2>/dev/null)
	count=$(grep -c '^processor[[:space:]]*:' /proc/cpuinfo 2>/dev/null)
	[ "${count:-0}" -gt 0 ] || return 0
	isa=$(uname -p 2>/dev/null)
	printf ',"processors":{"count":%s,"models":[' "$count"
	comma=
	last_model=
	while IFS= read -r model; do
		[ -n "$model" ] || continue
		# Nearly always they are all the same.
		[ "$model" = "$last_model" ] || last_json=$(json_string "$model")
		last_model=$model
		printf '%s%s' "$comma" "$last_json"
		comma=,
	done <<-EOF
		$models
	EOF
	printf '],'
	pair isa "${isa##*.}"
	printf '}'
}

uptime() {
	[ -r /proc/uptime ] || return 0
	awk '{
		seconds = int($1)
		days = int(seconds / 86400)
		minutes = int(seconds / 60) % 60
		hours = int(seconds / 3600)
		text = days == 0 ? sprintf("%d:%02d hours", hours, minutes) : days == 1 ? "1 day" : days " days"
		printf ",\"system_uptime\":{\"seconds\":%d,\"hours\":%d,\"days\":%d,\"uptime\":\"%s\"}", seconds, hours, days, text
	}' /proc/uptime
}

identity() {
	printf ',"identity":{"uid":%s,"gid":%s' "$(id -u)" "$(id -g)"
	known user "$(id -un 2>/dev/null)"
	known group "$(id -gn 2>/dev/null)"
	privileged=false
	[ "$(id -u)" != 0 ] || privileged=true
	printf ',"privileged":%s}' "$privileged"
}

printf '{'
os
printf ,
kernel
printf ,
networking
memory
processors
uptime
identity
printf '}\n'
