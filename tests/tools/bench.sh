#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run the benches, those that measure.
#
#   bench.sh NAME...           a table; the lines go to build/bench.json, a plot
#                              of the ratios to build/bench.svg
#   bench.sh --plots NAME...   how it grows: draws bench/plots/*.svg
#
# A bench that measures has lines in its head that say with which options:
# "bench:", "bench-quick:", "bench-grow:".  With --json it prints a line for
# each result (bench/lib/result.h).  Status 77: it cannot be measured here, and
# it has said why.
#
#   BUILD=build/release   where the programs are
#   QUICK=1               fewer and shorter rounds
#   JSON=FILE             another place for the lines

set -u
: "${BUILD:=build/release}"
: "${JSON:=build/bench.json}"
plots=
if [ "${1-}" = --plots ]; then
	plots=1
	shift
fi
lines=$(mktemp)
trap 'rm -f "$lines" "$lines.status"' EXIT
report=$BUILD/bin/report
failed=

# options_of NAME KIND: the options behind "KIND:" in its head; status 1 if
# there is no such line.
options_of()
{
	for source in "bench/$1.c" "bench/$1/main.c"; do
		[ -f "$source" ] || continue
		sed -n "s/^ \* $2:\( .*\)\{0,1\}\$/=\1/p" "$source" | head -1
		return
	done
}

run()
{
	name=$1
	shift
	echo "$name $*" >&2
	{
		"$@"
		echo $? >"$lines.status"
	} | tee -a "$lines" | "$report" table
	case $(cat "$lines.status") in
	0 | 77) ;;
	*) failed="$failed $name" ;;
	esac
}

measure()
{
	kind=bench
	[ -z "${QUICK-}" ] || kind=bench-quick
	"$report" head
	for name in "$@"; do
		options=$(options_of "$name" $kind)
		# Where there is no quick way, the usual one is quick.
		[ -n "$options" ] || options=$(options_of "$name" bench)
		[ -n "$options" ] || continue
		# shellcheck disable=SC2086
		run "$name" "$BUILD/bin/$name" ${options#=} --json
	done
	[ -n "${QUICK-}" ] || run probes bench/probes.sh
	cp "$lines" "$JSON"
	"$report" ratios <"$lines" >build/bench.svg
	echo "The lines are in $JSON, the plot is in build/bench.svg."
}

# draw PLOT X Y
draw()
{
	"$report" growth "$1" "$2" "$3" <"$lines" >"bench/plots/$1.svg" ||
		failed="$failed $1"
}

draw_plots()
{
	for name in "$@"; do
		options=$(options_of "$name" bench-grow)
		[ -n "$options" ] || continue
		# shellcheck disable=SC2086
		run "$name" "$BUILD/bin/$name" ${options#=} ${QUICK:+--quick}
	done
	draw chain 'derived cells in the chain' 'ns per cell'
	draw fan 'subscribers of one cell' 'ns per subscriber'
	draw near 'cells in the graph' 'ns per set of the same 10 cells'
	draw far 'cells in the graph' 'ns per set of 10 cells at random'
	draw threads 'threads that set' 'ns per set, all threads together'
	echo 'The plots are in bench/plots/.'
}

if [ -n "$plots" ]; then
	draw_plots "$@"
else
	measure "$@"
fi
[ -z "$failed" ] || echo "These failed:$failed"
[ -z "$failed" ]
