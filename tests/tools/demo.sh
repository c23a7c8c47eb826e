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
trap 'exit 130' INT TERM HUP

if [ "$(id -u)" -ne 0 ]; then
	echo 'Looking into a process needs root: sudo make demo.'
	exit 1
fi

"$build/bin/sysmon" >"$report" 2>&1 </dev/null &
monitor=$!
sleep 1
if ! kill -0 "$monitor" 2>/dev/null; then
	echo 'The system monitor did not start. It said:'
	cat "$report"
	exit 1
fi
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
if ! kill -0 "$monitor" 2>/dev/null; then
	echo 'The system monitor ended while it was watched. It said:'
	cat "$report"
	exit 1
fi
exit "$status"
