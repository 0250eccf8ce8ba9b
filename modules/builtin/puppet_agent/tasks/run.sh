#!/bin/sh
# Runs the agent once, in the foreground.
. "$PT__installdir/sh_task_helper/files/task_helper.sh"

# stop KIND MESSAGE: ends the task with an error.
stop() {
	printf '{"_error":{"kind":"puppet_agent/%s","msg":' "$1"
	json_string "$2"
	printf ',"details":{}}}\n'
	exit 1
}

puppet=/opt/puppetlabs/bin/puppet
[ -x "$puppet" ] || puppet=$(command -v puppet) || stop no-puppet-bin-error 'puppet is not installed; the task puppet_agent::install installs it'

set -- agent --test --color false
[ "${PT_noop-}" != true ] || set -- "$@" --noop
case ${PT_environment-} in
'' | null) ;;
*) set -- "$@" "--environment=$PT_environment" ;;
esac
case ${PT_tags-} in
'' | null | '[]') ;;
'['*) # a list in JSON; tags have no characters that JSON escapes
	set -- "$@" "--tags=$(printf '%s' "$PT_tags" | LC_ALL=C tr -d '[]" ')"
	;;
*) set -- "$@" "--tags=$PT_tags" ;;
esac

lock=$("$puppet" config print --section agent agent_disabled_lockfile 2>/dev/null)
[ ! -e "$lock" ] || stop agent-disabled-error "the agent is disabled by $lock"

"$puppet" "$@" </dev/null >"$PT__installdir/.run.$$" 2>&1
ended=$?
# 2 says that something changed, 4 that something failed; 1 that nothing ran.
case $ended in
0 | 2)
	printf '{"exitcode":%s,"_output":' "$ended"
	json_text <"$PT__installdir/.run.$$"
	printf '}\n'
	;;
*)
	stop agent-run-error "the run of the agent failed with status $ended:
$(tail -c 16384 "$PT__installdir/.run.$$")"
	;;
esac
