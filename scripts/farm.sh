#!/bin/bash
# farm.sh start DIR N [OPTION...]   start N targets and write what reaches them to DIR
# farm.sh stop DIR                  stop them (DIR stays)
# farm.sh status DIR                say whether they run
#
# A throwaway farm of real OpenSSH servers on loopback addresses from 127.0.2.1, one port for all, with keys of its
# own. It touches no system service and no file outside DIR, and works for root and for an ordinary user: each
# target logs in as whoever started the farm.
#
# Options of start:
#   --homes           sessions on a target start in a folder of its own, DIR/targets/ADDRESS, not all in one home;
#                     stop ends what still runs there, as services that they have started
#   --max-startups V  sshd's MaxStartups (default: no limit that a test would meet)
#   -o 'Key value'    another line for sshd_config (may be repeated)
#
# DIR then holds: inventory.yaml (groups web and db, names web01..., tmpdir DIR/tmp), hosts (the addresses), port,
# id_ed25519, and home/.ssh/{config,known_hosts}: with HOME=DIR/home bolt checks host keys as it would in real life,
# and "ssh -F DIR/home/.ssh/config ADDRESS" does the same.
set -eu

readonly per=15 # one sshd takes at most 16 listening addresses
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

die() { echo "farm: $*" >&2; exit 1; }
usage() { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }

# address I: the I-th target's.
address() { echo "127.0.$((2 + ($1 - 1) / 250)).$((1 + ($1 - 1) % 250))"; }

# servers: the process ids of the farm's servers that run.
servers() {
	local f pid
	for f in "$dir"/sshd-*.pid; do
		[ -s "$f" ] || continue
		pid=$(<"$f")
		# A stale file may name a process that is none of ours.
		if tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF "$dir/sshd_config"; then
			echo "$pid"
		fi
	done
}

# left: the process ids of what runs in the folders of targets.
left() {
	find /proc/[0-9]*/cwd -maxdepth 0 -lname "$dir/targets/*" 2>/dev/null | cut -d/ -f3
}

stop() {
	local pids
	pids="$(servers) $(left)"
	# shellcheck disable=SC2086 # a list of words
	[ "$pids" = ' ' ] || kill $pids 2>/dev/null || true
	for _ in {1..250}; do
		[ -n "$(servers)$(left)" ] || break
		sleep 0.02
	done
	rm -f "$dir"/sshd-*.pid "$dir"/sshd-*.log "$dir/port"
}

keys() {
	local k
	for k in id_ed25519 host_ed25519; do
		[ -f "$dir/$k" ] || ssh-keygen -q -t ed25519 -N '' -C "farm $k" -f "$dir/$k"
	done
	cp "$dir/id_ed25519.pub" "$dir/authorized_keys"
}

# SHLVL keeps bash from reading ~/.bashrc, which it does where it thinks that sshd is its parent.
server_config() {
	cat <<-EOF
		HostKey $dir/host_ed25519
		AuthorizedKeysFile $dir/authorized_keys
		StrictModes no
		PermitRootLogin prohibit-password
		PasswordAuthentication no
		KbdInteractiveAuthentication no
		UsePAM no
		UseDNS no
		PrintMotd no
		MaxStartups $max_startups
		SetEnv SHLVL=1
		Subsystem sftp internal-sftp
	EOF
	# Unknown to servers older than 9.8, which have no such penalties.
	if sshd -t -f /dev/null -h "$dir/host_ed25519" -o PerSourcePenalties=no 2>/dev/null; then
		echo "PerSourcePenalties no"
	fi
	if [ -n "$homes" ]; then
		# The third word of SSH_CONNECTION is the address that the client asked for.
		# shellcheck disable=SC2016 # expanded by the session's shell
		printf 'ForceCommand set -- $SSH_CONNECTION; cd "%s/targets/$3" && exec "$SHELL" ${SSH_ORIGINAL_COMMAND:+-c "$SSH_ORIGINAL_COMMAND"}\n' "$dir"
	fi
	printf '%s\n' ${extra[@]+"${extra[@]}"}
}

# launch PORT: starts the servers; fails if one of the addresses is taken there.
launch() {
	local i=1 n=0 args heard=0
	while [ "$i" -le "$count" ]; do
		n=$((n + 1))
		args=()
		while [ "$i" -le "$count" ] && [ ${#args[@]} -lt $((2 * per)) ]; do
			args+=(-o "ListenAddress=$(address "$i")")
			i=$((i + 1))
		done
		"$(command -v sshd)" -f "$dir/sshd_config" -E "$dir/sshd-$n.log" -p "$1" -o "PidFile=$dir/sshd-$n.pid" "${args[@]}" ||
			{ sed 's/^/farm: /' "$dir/sshd-$n.log" >&2; return 1; }
	done
	# sshd goes on when it could not listen on some of its addresses, so count them; it does so a moment after
	# it has become a daemon.
	for _ in {1..250}; do
		heard=$(cat "$dir"/sshd-*.log | grep -c '^Server listening on ') || true
		[ "$heard" -lt "$count" ] || return 0
		if grep -q 'Bind to port' "$dir"/sshd-*.log; then
			return 1
		fi
		sleep 0.02
	done
	return 1
}

inventory() {
	local i name width=${#count} group webs=$(((2 * count + 2) / 3))
	[ "$width" -ge 2 ] || width=2
	cat <<-EOF
		config:
		  transport: ssh
		  ssh:
		    user: $(id -un)
		    port: $port
		    private-key: $dir/id_ed25519
		    host-key-check: true
		    tmpdir: $dir/tmp
		groups:
	EOF
	for group in web db; do
		printf '  - name: %s\n    vars:\n      role: %s\n    targets:\n' $group $group
		[ "$group" = web ] || [ "$webs" -lt "$count" ] || echo '      []'
		for ((i = 1; i <= count; i++)); do
			if [ "$i" -le "$webs" ]; then
				[ $group = web ] || continue
				name=$(printf "web%0${width}d" "$i")
			else
				[ $group = db ] || continue
				name=$(printf "db%0${width}d" $((i - webs)))
			fi
			printf '      - name: %s\n        uri: %s\n' "$name" "$(address "$i")"
		done
	done
}

client_files() {
	local i a key
	key=$(cut -d' ' -f1,2 "$dir/host_ed25519.pub")
	: >"$dir/hosts"
	: >"$dir/home/.ssh/known_hosts"
	for ((i = 1; i <= count; i++)); do
		a=$(address "$i")
		echo "$a" >>"$dir/hosts"
		echo "[$a]:$port $key" >>"$dir/home/.ssh/known_hosts"
		[ -z "$homes" ] || mkdir -p "$dir/targets/$a"
	done
	cat >"$dir/home/.ssh/config" <<-EOF
		Host 127.0.*
		    Port $port
		    User $(id -un)
		    IdentityFile $dir/id_ed25519
		    IdentitiesOnly yes
		    UserKnownHostsFile $dir/home/.ssh/known_hosts
		    StrictHostKeyChecking yes
		    BatchMode yes
	EOF
	chmod 600 "$dir/home/.ssh/config" "$dir/home/.ssh/known_hosts"
	inventory >"$dir/inventory.yaml"
}

start() {
	local tries p
	command -v sshd >/dev/null || die "sshd is missing: run scripts/setup.sh"
	[ -z "$(servers)" ] || die "already running in $dir; stop it first"
	mkdir -p "$dir/home/.ssh" "$dir/tmp"
	chmod 700 "$dir/home/.ssh"
	keys
	server_config >"$dir/sshd_config"
	# sshd wants this folder where it can drop privileges, that is as root.
	if [ "$(id -u)" = 0 ]; then mkdir -p /run/sshd; fi
	for tries in {1..20}; do
		p=$((20000 + RANDOM % 12000)) # below the ports that the kernel hands out itself
		if launch $p; then
			port=$p
			client_files
			echo "$port" >"$dir/port"
			echo "farm: $count targets on port $port, inventory in $dir/inventory.yaml"
			return
		fi
		[ "$tries" = 20 ] || stop
	done
	die "the servers did not start, see $dir/sshd-*.log"
}

[ $# -ge 2 ] || usage
verb=$1
case $verb in start | stop | status) ;; *) usage ;; esac
mkdir -p "$2"
dir=$(cd "$2" && pwd -P)
shift 2
case $verb in
start)
	[[ ${1-} =~ ^[1-9][0-9]*$ ]] || usage
	count=$1
	[ "$count" -le 60000 ] || die "at most 60000 targets"
	shift
	homes='' max_startups=10000 extra=()
	while [ $# -gt 0 ]; do
		case $1 in
		--homes) homes=yes ;;
		--max-startups) max_startups=${2?} && shift ;;
		-o) extra+=("${2?}") && shift ;;
		*) usage ;;
		esac
		shift
	done
	start
	;;
stop) stop ;;
status)
	if [ -n "$(servers)" ]; then
		echo "farm: running on port $(<"$dir/port")"
	else
		echo "farm: not running"
		exit 1
	fi
	;;
esac
