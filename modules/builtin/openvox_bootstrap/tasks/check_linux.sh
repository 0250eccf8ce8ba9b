#!/bin/sh
# Compares the version of Puppet that is installed with another version.
. "$PT__installdir/sh_task_helper/files/task_helper.sh"
task=check
. "$PT__installdir/openvox_bootstrap/files/common.sh"

version=$(given "${PT_version-}" '')
test=$(given "${PT_test-}" eq)
case $test in
eq | lt | le | gt | ge) ;;
*) fail "test must be eq, lt, le, gt or ge: $test" ;;
esac
case $version in
'') ;;
[0123456789]*) only version "$version" 'A-Za-z0-9.-' ;;
*) fail "version is not a version number: $version" ;;
esac

puppet=$(puppet_program) || fail 'Puppet is not installed: /opt/puppetlabs/bin/puppet does not exist, and puppet is not in PATH'
try "$puppet" --version || fail "$(said "$puppet")"
installed=$(output | tail -n 1)
case $installed in
[0123456789]*) only "the version that $puppet prints" "$installed" 'A-Za-z0-9.-' ;;
*) fail "$puppet printed no version: $installed" ;;
esac

# compare A B: prints lt, eq or gt. The order is that of versions in RubyGems:
# a part in letters is less than a number, zeros at the end of the numbers have
# no effect, and a hyphen begins a pre-release.
compare() {
	LC_ALL=C awk -v a="$1" -v b="$2" '
		# parse splits a version into numbers and words, without the zeros before
		# the first word and at the end.
		function parse(text, parts,    n, word) {
			gsub(/-/, ".pre.", text)
			n = 0
			while (match(text, /[0-9]+|[A-Za-z]+/)) {
				word = substr(text, RSTART, RLENGTH)
				text = substr(text, RSTART + RLENGTH)
				if (word ~ /[A-Za-z]/ && !seen) {
					while (n > 0 && parts[n] ~ /^0+$/) delete parts[n--]
					seen = 1
				}
				parts[++n] = word
			}
			while (n > 0 && parts[n] ~ /^0+$/) delete parts[n--]
			seen = 0
			return n
		}
		function order(x, y) {
			if (x ~ /[A-Za-z]/ && y ~ /[A-Za-z]/) return x "" < y "" ? -1 : x "" > y "" ? 1 : 0
			if (x ~ /[A-Za-z]/) return -1
			if (y ~ /[A-Za-z]/) return 1
			return x + 0 < y + 0 ? -1 : x + 0 > y + 0 ? 1 : 0
		}
		BEGIN {
			n = parse(a, left)
			m = parse(b, right)
			if (m > n) n = m
			found = 0
			for (i = 1; i <= n && !found; i++) found = order(i in left ? left[i] : 0, i in right ? right[i] : 0)
			print (found < 0 ? "lt" : found > 0 ? "gt" : "eq")
		}'
}

if [ -z "$version" ]; then
	printf '{"puppet_version":"%s","valid":true}\n' "$installed"
	exit 0
fi
valid=false code=1
case $test:$(compare "$installed" "$version") in
eq:eq | lt:lt | le:lt | le:eq | gt:gt | ge:gt | ge:eq) valid=true code=0 ;;
esac
printf '{"puppet_version":"%s","test":"%s","test_version":"%s","valid":%s}\n' "$installed" "$test" "$version" "$valid"
exit "$code"
