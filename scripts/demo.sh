#!/bin/bash
# demo.sh [BOLT]: shows what bolt does, on a throwaway farm of real SSH servers. Each command is printed before it
# runs. Everything lives in a temporary folder and is gone afterwards, also after ^C. TARGETS (12) sets the size.
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
bolt=$(realpath "${1:-$here/../bin/bolt}")
[ -x "$bolt" ] || { echo "demo: no program at $bolt; build it with: make build" >&2; exit 1; }

# Below /tmp, so that the paths that the demo prints stay short.
dir=$(mktemp -d /tmp/bolt-demo.XXXXXX)
export BOLT_POOL_SOCKET=$dir/pool/pool.sock # a daemon of its own
customers=
trap '[ -z "$customers" ] || kill "$customers"; "$bolt" pool stop >/dev/null; "$here/farm.sh" stop "$dir/farm"; rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

if [ -t 1 ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); else bold='' plain=''; fi
say() { printf '\n%s# %s%s\n' "$bold" "$1" "$plain"; }

# try STATUS LINE: prints the line, runs it, and insists on the exit status.
try() {
	local want=$1 got=0
	printf '%s$ %s%s\n' "$bold" "$2" "$plain"
	bash -c "$2" || got=$?
	[ "$got" = "$want" ] || { echo "demo: exit status $got, expected $want" >&2; exit 1; }
}

"$here/farm.sh" start "$dir/farm" "${TARGETS:-12}" --homes

# The demo is a user of its own: his home holds the keys, known_hosts and the project.
mkdir -p "$dir/bin" "$dir/project"
ln -s "$bolt" "$dir/bin/bolt"
export HOME=$dir/farm/home PATH=$dir/bin:$PATH
cd "$dir/project"
cp "$dir/farm/inventory.yaml" inventory.yaml
echo 'name: demo' >bolt-project.yaml
printf 'listen: 8080\nworkers: 4\n' >app.conf
cat >report.sh <<'EOF'
#!/bin/sh
# Any language will do, as long as the target has its interpreter.
echo "$1: $(wc -l <app.conf) lines, checksum $(cksum <app.conf | cut -d' ' -f1)"
EOF

say 'The inventory: names and groups'
try 0 'bolt inventory show'
say 'A command on a group, results as they arrive'
try 0 'bolt command run uptime -t web'
say 'The same answer is shown once'
try 0 'bolt command run "uname -sr" -t all --fold'
say 'Files go up, to every target a copy'
try 0 'bolt file upload app.conf app.conf -t all'
say 'A script with an argument'
try 0 'bolt script run report.sh configuration -t db'
say 'Files come down, a folder for each target'
try 0 'bolt file download app.conf collected -t db'
try 0 'find collected -type f | sort'
say 'For machines: JSON'
try 0 'bolt command run "cat app.conf" -t web01 --format json'
say 'One target is down, the others are not held up, and the exit status tells'
try 1 'bolt command run "hostname >/dev/null && echo fine" -t web01,web02,ssh://127.0.2.1:1'
say 'Only where it failed'
try 1 'bolt command run "echo still there?" --rerun failure'
say 'The whole fleet, timed: each connection opened anew, and kept open by the pool daemon'
try 0 'time bolt command run true -t all --format json --pool off >/dev/null'
try 0 'time bolt command run true -t all --format json >/dev/null'
say 'What the daemon holds'
try 0 'bolt pool status'

# The same code in two versions, compiled for the machines of the farm.
cp -r "$here/../examples/control-repo/environments" environments
git init -q -b main . && git add environments && git -c user.name=demo -c user.email=demo@localhost commit -q -m 'version 1'
say 'Catalogs: what each machine should look like, in the order of application'
try 0 'bolt catalog compile --environment-path environments -t all --output catalogs'
try 0 'bolt catalog show catalogs/web01.json'
say 'A change of the data: what it changes, and on which machines'
sed -i 's/8080/8443/' environments/production/data/common.yaml
try 2 'bolt catalog diff main --environment-path environments -t all --exit-code'

# Each machine has a state directory and files of its own in the directory in which its sessions start.
printf 'apply-settings:\n  dir: state\n' >>bolt-project.yaml
cat >site.pp <<EOF
\$home = "$dir/farm/targets/\${facts['ip']}"
file { 'etc': path => "\$home/etc", ensure => directory }
-> file { 'app.conf': path => "\$home/etc/app.conf", content => "listen: 8080\nworkers: 4\n", mode => '0644' }
~> exec { '/bin/echo reloaded >>log': cwd => \$home, refreshonly => true }
EOF
sed -i 's/^\( *\)uri: \(.*\)/&\n\1facts: {ip: \2}/' inventory.yaml
say 'A manifest, applied on machines without Puppet: what it would change, and the changes'
try 0 'cat site.pp'
try 0 'bolt apply site.pp -t web --noop'
try 0 'time bolt apply site.pp -t web'
say 'Applied again, it changes nothing'
try 0 'time bolt apply site.pp -t web'
say 'Somebody edits a file by hand. The next apply shows the difference, and puts it right'
try 0 'bolt command run "echo debug: on >>etc/app.conf; rm -f log" -t web01 --no-verbose'
try 0 'bolt apply site.pp -t web --noop'
try 0 'bolt apply site.pp -t web'
try 0 'bolt command run "cat etc/app.conf log" -t web01'

# rollouts shows staged rollouts of releases. It ends the demo.
rollouts() {
	cd "$dir/project"
	cat >web.pp <<EOF
\$home = "$dir/farm/targets/\${facts['ip']}"
file { 'app.conf': path => "\$home/etc/app.conf", content => "listen: 8080\nworkers: 8\n" }
EOF
	cat >strategy.yaml <<'EOF'
rollout: web
order: [name]
strategy:
  waves: [{name: canary, count: 1}, {rest: true}]
  failures: {count: 0}
  on_failure: rollback
gates:
  - {name: workers, at: [wave], command: 'grep -q "workers: [1-9]" etc/app.conf'}
EOF
	say 'Release 1 reaches one machine, then a gate, then the rest'
	try 0 'bolt release create web.pp -t web'
	try 0 'cat strategy.yaml'
	try 0 'bolt rollout plan --strategy strategy.yaml'
	try 0 'bolt rollout start --strategy strategy.yaml --yes'
	say 'Release 2 is bad. It stops after the canary, which gets release 1 again'
	sed -i 's/workers: 8/workers: 0/' web.pp
	try 0 'bolt release create web.pp -t web'
	try 1 'bolt rollout start --strategy strategy.yaml --yes'
	try 0 'bolt command run "cat etc/app.conf" -t web --fold'
	say 'Release 3 is slow. The process that drives it is killed in the middle. The next one asks the machines and goes on'
	printf "exec { '/bin/sleep 2': }\n" >>web.pp
	sed -i 's/workers: 0/workers: 9/' web.pp
	try 0 'bolt release create web.pp -t web'
	try 0 'bolt rollout start --strategy strategy.yaml --yes & sleep 1.5; kill -9 $!; wait $! || true'
	try 0 'bolt rollout resume'
	try 0 'bolt rollout watch'
	try 0 'bolt rollout history'
}

# examples/rolling-upgrade is made for the first five machines. The port of the service is free where that of the
# farm is: nobody else has a farm with it.
[ "$(wc -l <"$dir/farm/hosts")" -ge 5 ] || { rollouts; exit 0; }
port=$(($(<"$dir/farm/port") - 12000))
cp -r "$here/../examples/rolling-upgrade" "$dir/shop"
sed -i "s/8080/$port/" "$dir/shop/inventory.yaml"
cd "$dir/shop"
orders() {
	./customers.sh "http://127.0.2.1:$port" >orders &
	customers=$!
}
counted() {
	kill $customers
	wait $customers || customers=
	try 0 'sort orders | uniq -c'
	! grep -m 3 -v '^ordered from shop' orders || { echo 'demo: orders were lost' >&2; exit 1; }
}

say 'A web service: four machines behind a load balancer'
try 0 'bolt plan run shop::setup version=1.0 --no-verbose'
say 'Customers order all the time, while each machine gets release 2.0'
orders
try 0 'bolt plan run shop::upgrade version=2.0 --no-verbose'
say 'What they got: no order is lost'
counted
say 'Release 3.0 wants a setting that web03 lacks, so that all machines go back to 2.0'
try 0 'bolt command run "echo payment=card >>shared/settings" -t web01,web02,web04 --no-verbose'
orders
try 1 'bolt plan run shop::upgrade version=3.0 at_once=2 wait=3 --no-verbose'
counted
say 'What the balancer has'
try 0 'bolt task run shop::backend -t lb --format json'
rollouts
