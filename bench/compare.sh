#!/bin/sh
# SPDX-License-Identifier: MIT
#
# compare.sh BASE [NEW]: builds both revisions in worktrees of their own, in
# build/compare/, runs their benches in turn, and says for each bench whether
# it changed by more than the runs of one revision differ among themselves.
# NEW is HEAD: commit before you compare.  Each revision runs its own benches.
#
#   RUNS=5         runs of each
#   BENCHES=speed  programs
#   CC=gcc         compiler

set -eu
: "${RUNS:=5}" "${BENCHES:=speed}" "${CC:=gcc}"
if [ -z "${1-}" ]; then
	echo 'Which revision? make bench-compare BASE=v0.1' >&2
	exit 2
fi
place=build/compare
mkdir -p "$place"
rm -f "$place"/*.json

# prepare NAME REVISION
prepare()
{
	revision=$(git rev-parse --verify "$2^{commit}")
	if [ -e "$place/$1/.git" ]; then
		git -C "$place/$1" checkout -q --detach --force "$revision"
	else
		git worktree prune
		git worktree add -q --detach --force "$place/$1" "$revision"
	fi
	echo "$1: $(git log -1 --format='%h %s' "$revision")"
	for bench in $BENCHES; do
		make -C "$place/$1" --no-print-directory -s CC="$CC" \
			"build/release/bin/$bench"
	done
}

run()
{
	for bench in $BENCHES; do
		"$place/$1/build/release/bin/$bench" --quick --json \
			>>"$place/$1.json" || [ $? -eq 77 ]
	done
}

prepare base "$1"
prepare new "${2:-HEAD}"
i=0
while [ "$i" -lt "$RUNS" ]; do
	run base
	run new
	i=$((i + 1))
	printf '\rrun %d of %d ' "$i" "$RUNS" >&2
done
printf '\r                \r' >&2
"${BUILD:-build/release}"/bin/report compare "$place/base.json" \
	"$place/new.json"
