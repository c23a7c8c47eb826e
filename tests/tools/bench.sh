#!/bin/sh
# SPDX-License-Identifier: MIT
#
# bench.sh NAME...: run the benches, those that end by themselves: the names
# that begin with bench_, or have a line "bench:" with arguments in their head.

set -eu
: "${BUILD:=build/release}"
for name in "$@"; do
	source=bench/$name.c
	[ -f "$source" ] || source=bench/$name/main.c
	[ -f "$source" ] || continue
	args=$(sed -n 's/^ \* bench: \{0,1\}//p' "$source" | head -1)
	case $name in
	bench_*) ;;
	*) [ -n "$args" ] || continue ;;
	esac
	echo "$BUILD/bin/$name $args"
	# shellcheck disable=SC2086
	"$BUILD/bin/$name" $args
done
