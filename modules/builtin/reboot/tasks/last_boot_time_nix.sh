#!/bin/sh
# Tells when the system was started. The kernel's boot_id, where there is one,
# tells two starts apart even if the clock was changed in between.
. "$PT__installdir/sh_task_helper/files/task_helper.sh"

started=
if [ -r /proc/stat ]; then
	seconds=$(awk '$1 == "btime" { print $2 }' /proc/stat)
	started=$(LC_ALL=C date -d "@$seconds" 2>/dev/null)
fi
[ -n "$started" ] || started=$( (last -1 -F reboot || last -1 reboot) 2>/dev/null | sed -n '1s/[[:space:]]-[[:space:]].*$//p')
[ -n "$started" ] || started=$(who -b 2>/dev/null)
[ -n "$started" ] || fail 'this system does not tell when it was started'

if [ -r /proc/sys/kernel/random/boot_id ]; then
	json_object _output "$started" boot_id "$(cat /proc/sys/kernel/random/boot_id)"
else
	json_object _output "$started"
fi
