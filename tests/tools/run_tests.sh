#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run cmocka programs one after the other and sum up:
#
#   run_tests.sh build/release/tests/unit/test_x build/asan/tests/unit/test_x ...
#
# The last line is "N passed, N failed, N skipped".  Status 1 if a test failed
# (a program that crashes, hangs or loses a test counts), or, with CI=true, if
# one of those that need BPF (e2e) was skipped; 2 if nothing ran at all.
#
#   T=substring   only programs whose path contains it; if there is none,
#                 only the tests whose name contains it
#   SEED=n        is handed on to the programs
#   LIMIT=s       seconds for a program (default 900)

set -u
T=${T-}
LIMIT=${LIMIT:-900}
here=$(dirname "$0")
work=$(mktemp -d)
rm -f build/summary
child=
finish()
{
	# `timeout` hands the signal on to what it started.
	[ -n "$child" ] && kill "$child" 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

# A filter by program, else by test.
programs=
for p in "$@"; do
	case $p in
	*"$T"*) programs="$programs $p" ;;
	esac
done
if [ -z "$programs" ]; then
	programs=$*
	export TEST_FILTER="*$T*"
fi

fixed="setarch $(uname -m) -R"
$fixed true 2>/dev/null || fixed=

passed=0
failed=0
skipped=0
e2e_skipped=0
: >"$work/skips"
: >"$work/failures"

for p in $programs; do
	config=${p#build/}
	config=${config%%/*}
	name=$config/${p#*/tests/}
	start=$(date +%s)
	# Sanitizers want their address range free: no randomisation.
	case $config in
	asan* | tsan*) wrap=$fixed ;;
	*) wrap= ;;
	esac
	BUILD=${BUILD:-build/release} timeout -k 5 "$LIMIT" $wrap "$p" \
		>"$work/out" 2>&1 </dev/null &
	child=$!
	wait "$child"
	status=$?
	child=
	awk -v status="$status" -v limit="$LIMIT" -f "$here/cmocka.awk" \
		"$work/out" >"$work/result"
	read -r ok bad skip <"$work/result"
	passed=$((passed + ok))
	failed=$((failed + bad))
	skipped=$((skipped + skip))
	sed -n 's/^skip /  /p' "$work/result" |
		while IFS= read -r l; do echo "  $name:$l"; done >>"$work/skips"
	sed -n 's/^fail /  /p' "$work/result" |
		while IFS= read -r l; do echo "  $name:$l"; done >>"$work/failures"
	case $p in
	*/tests/e2e/*) e2e_skipped=$((e2e_skipped + skip)) ;;
	esac
	# Of a filtered run only what had something to say.
	if [ -z "${TEST_FILTER-}" ] || [ $((ok + bad + skip)) -gt 0 ]; then
		printf '%-46s %4d passed %3d failed %3d skipped %4ds\n' "$name" \
			"$ok" "$bad" "$skip" $(($(date +%s) - start))
	fi
	if [ "$bad" -gt 0 ]; then
		echo "----- output of $p"
		cat "$work/out"
		echo "----- end of $p (status $status)"
	fi
done

if [ -s "$work/skips" ]; then
	echo 'Skipped:'
	cat "$work/skips"
fi
if [ -s "$work/failures" ]; then
	echo 'Failed:'
	cat "$work/failures"
fi
if [ "${CI-}" = true ] && [ "$e2e_skipped" -gt 0 ]; then
	echo "$e2e_skipped tests that need BPF were skipped, which CI does not" \
		"allow: run it as root on a kernel that permits BPF."
fi
echo "$passed passed, $failed failed, $skipped skipped" |
	tee build/summary
[ "$failed" -eq 0 ] || exit 1
[ $((passed + skipped)) -gt 0 ] || exit 2
[ "${CI-}" != true ] || [ "$e2e_skipped" -eq 0 ]
