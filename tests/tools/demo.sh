#!/bin/sh
# SPDX-License-Identifier: MIT
#
# demo.sh BUILD: start the system monitor and look into it with hyphae-top for
# some seconds (DEMO_SECONDS, 6).  On a terminal that is the live screen, else
# text.  Ends what it started, also when interrupted, and nothing else.

set -u
build=$1
seconds=${DEMO_SECONDS:-6}
monitor=
top=
report=$(mktemp)
finish()
{
	for pid in $top $monitor; do
		kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	rm -f "$report"
}
trap finish EXIT
trap 'echo; echo "Interrupted. What the demo started has ended."; exit 0' INT
trap 'exit 143' TERM HUP

if [ "$(id -u)" -ne 0 ]; then
	echo 'Looking into a process needs root: sudo make demo.'
	exit 1
fi

# In its own words when it cannot go on.
monitor_says()
{
	echo "$1 It said:"
	cat "$report"
	exit 1
}

"$build/bin/sysmon" >"$report" 2>&1 </dev/null &
monitor=$!
sleep 1
kill -0 "$monitor" 2>/dev/null ||
	monitor_says 'The system monitor did not start.'
echo "$build/bin/sysmon runs as process $monitor. What hyphae-top -p $monitor" \
	"sees of it in $seconds seconds:"
if [ -t 1 ] && [ -t 0 ]; then
	# In the foreground: it reads keys.
	"$build/bin/hyphae-top" -p "$monitor" -d 1 -n "$seconds"
	status=$?
else
	"$build/bin/hyphae-top" -p "$monitor" -d "$seconds" -n 1 </dev/null &
	top=$!
	wait "$top"
	status=$?
	top=
fi
kill -0 "$monitor" 2>/dev/null ||
	monitor_says 'The system monitor ended while it was watched.'
[ "$status" -eq 0 ] || exit "$status"
cat <<END

That was $build/bin/sysmon, process $monitor, for $seconds seconds, seen from
outside by hyphae-top. The monitor has ended. To go on by yourself, start it
in one terminal and look into it from another:

    $build/bin/sysmon
    sudo $build/bin/hyphae-top sysmon
    sudo probes/fanouts.bt -p \$(pidof sysmon)

README.md has a program of 20 lines to start with; bench/sysmon.c is the one
that you have just seen.
END
