#!/bin/bash
# pictures.sh [BOLT]: records the animated pictures of README.md and docs/tutorial.md in docs/pictures, from real runs on a throwaway farm
# of 20 SSH servers. It needs termtosvg (Debian package). Look at the pictures before you commit them.
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
bolt=$(realpath "${1:-$here/../bin/bolt}")
out=$here/../docs/pictures
command -v termtosvg >/dev/null || { echo "pictures: install termtosvg" >&2; exit 1; }

dir=$(mktemp -d /tmp/bolt-pictures.XXXXXX)
export BOLT_POOL_SOCKET=$dir/pool/pool.sock
trap '"$bolt" pool stop >/dev/null 2>&1 || true; "$here/farm.sh" stop "$dir/farm" >/dev/null; rm -rf "$dir"' EXIT
"$here/farm.sh" start "$dir/farm" 20 --homes >/dev/null
mkdir -p "$dir/bin" "$dir/project/plans" "$out"
ln -s "$bolt" "$dir/bin/bolt"
export HOME=$dir/farm/home PATH=$dir/bin:$PATH
cd "$dir/project"
cp "$dir/farm/inventory.yaml" .
echo 'name: site' >bolt-project.yaml
cat >plans/deploy.yaml <<'EOF'
parameters:
  targets: {type: TargetSpec}
steps:
  - {name: stopped, command: "sleep 0.3", targets: $targets, serial: [1, "50%"], description: "stop the service"}
  - {name: copied, upload: bolt-project.yaml, destination: app.conf, targets: $targets}
  - {name: started, command: "sleep 0.5; test -s app.conf", targets: $targets, description: "start the service"}
EOF
"$bolt" command run 'echo "app 2.1" >release' -t all >/dev/null # also opens connections
"$bolt" command run 'echo "app 2.0" >release' -t web07 >/dev/null

# record NAME ROWS LINE...: types each line at a prompt, runs it, and records the terminal.
record() {
	local name=$1 rows=$2
	shift 2
	for line; do
		printf 'printf "\\033[1;32m$\\033[0m "; sleep 0.4; printf %%s %q | while IFS= read -rn1 c; do printf %%s "$c"; sleep 0.02; done; echo; %s; sleep 1\n' "$line" "$line"
	done >"$dir/$name.sh"
	# termtosvg reads the settings of a terminal.
	script -qefc "termtosvg $out/$name.svg -g 90x$rows -m 30 -D 3000 -t gjm8 -c 'bash $dir/$name.sh'" /dev/null >"$dir/log" </dev/null
}

record progress 14 "bolt command run 'sleep 0.\$((RANDOM % 20 + 5)); uptime -p' -t all --no-verbose"
record fold 14 "bolt command run 'uname -sr' -t all --fold" "bolt command run 'cat release' -t all --fold"
record plan 14 "bolt plan run site::deploy -t web"
ls -l "$out"
