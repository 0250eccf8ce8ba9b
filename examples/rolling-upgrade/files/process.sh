# shellcheck shell=sh
# For tasks that start and stop processes.

# running PID: whether there is such a process. One that has ended, and that nobody has asked about yet (Z), is none.
running() {
	[ -n "$1" ] && state=$(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null) && [ "$state" != Z ]
}

# end PID [-GROUP]: ends it, or its group, and returns when it has.
end() {
	if running "$1"; then
		kill -TERM "${2-$1}"
		while running "$1"; do sleep 0.05; done
	fi
}
