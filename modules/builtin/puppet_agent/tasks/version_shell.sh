#!/bin/sh
# Tells the version of the agent, as its packages write it down.
. "$PT__installdir/sh_task_helper/files/task_helper.sh"

file=/opt/puppetlabs/puppet/VERSION
if [ -r "$file" ]; then
	json_object version "$(cat "$file")" source "$file"
else
	printf '{"version":null,"source":null}\n'
fi
