#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What probes cost while nobody is attached: instructions of a run in a build
# with probes, beyond those in one without, counted by callgrind.  The target
# is a nop for each site, and two instructions for each look at the semaphores.
#
#   BUILD=build/release, WITHOUT=build/release-noprobes

set -u
: "${BUILD:=build/release}" "${WITHOUT:=build/release-noprobes}"
if ! command -v valgrind >/dev/null; then
	echo 'probes: valgrind is not installed.' >&2
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Without debug information, of which valgrind cannot read every kind.
strip -s -o "$work/with" "$BUILD/bin/speed" &&
	strip -s -o "$work/without" "$WITHOUT/bin/speed" || exit 1

# instructions PROGRAM BENCH RUNS
instructions()
{
	valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-fd=1 \
		"$1" --steady "$3" "$2" | sed -n 's/.*Collected : //p'
}

# Of one run: what a hundred more take, start-up cancelled out.
per_run()
{
	echo $((($(instructions "$1" "$2" 200) -
		$(instructions "$1" "$2" 100)) / 100))
}

# tell BENCH NOPS CHECKS
tell()
{
	with=$(per_run "$work/with" "$1")
	without=$(per_run "$work/without" "$1")
	printf '{"bench":"probes_%s","instructions":%d,"target":%d,' \
		"$1" $((with - without)) $(($2 + 2 * $3))
	printf '"with":%d,"without":%d,"unit":"run"}\n' "$with" "$without"
}

# A source: notify, write_value, fanout.  A cell: compute, write_value, fanout.
tell set_1 3 3
tell map_1 6 5
tell chain_10 33 23
tell fan_10 3 3
tell diamond_10 36 25
# Four sources in a batch, and 4,000 cells.
tell grid 12013 8014
