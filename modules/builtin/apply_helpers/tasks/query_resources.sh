#!/bin/sh
# Tells the state of resources. It is Puppet that knows them, so this looks for
# the Ruby that has Puppet.
. "$PT__installdir/sh_task_helper/files/task_helper.sh"

# ruby_of PROGRAM: the Ruby that runs a program of Puppet, by its first line. If
# that is no Ruby, the program stands in front of another, and Ruby is where
# programs are.
ruby_of() {
	first_line=
	IFS= read -r first_line <"$1" || :
	case $first_line in
	'#!'*/ruby | '#!'*/ruby[0123456789.]*) printf '%s' "${first_line#'#!'}" | tr -d ' ' ;;
	*) printf ruby ;;
	esac
}

ruby=/opt/puppetlabs/puppet/bin/ruby
if [ ! -x "$ruby" ]; then
	puppet=$(command -v puppet) && ruby=$(ruby_of "$puppet") && command -v "$ruby" >/dev/null ||
		fail 'Puppet is not installed on the target: resources are looked up by it. The task puppet_agent::install installs it.'
fi
exec "$ruby" "$PT__installdir/apply_helpers/files/query_resources.rb"
