#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh BUILD [quick|once]: install what peers need, build and run them all,
# and hyphae and the work by hand beside them.
#
# Results go to build/peers/results.jsonl; table.js makes tables of them.
# Without root, or without apt or npm, what is missing is left out and named.

set -eu
build=$1
effort=${2:+--$2}
here=bench/peers
out=build/peers
node=$out/node
results=$out/results.jsonl
mkdir -p $out

# Packages of Debian, of which each line may name alternatives.
packages()
{
	sed -n 's,^// package: ,,p' $here/native/*.cpp | sort -u
	command -v g++ >/dev/null || echo g++
	command -v pkg-config >/dev/null || echo pkg-config
	command -v node >/dev/null || echo nodejs
	command -v npm >/dev/null || echo npm
}

# The first of a|b that is to be had.
choose()
{
	for name in $(echo "$1" | tr '|' ' '); do
		if apt-cache policy "$name" 2>/dev/null |
			grep 'Candidate:' | grep -qv '(none)'; then
			echo "$name"
			return
		fi
	done
}

install_packages()
{
	command -v apt-get >/dev/null || return 0
	missing=
	for p in $(packages); do
		name=$(choose "$p")
		[ -z "$name" ] || dpkg -s "$name" >/dev/null 2>&1 ||
			missing="$missing $name"
	done
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		echo "Not installed, and only root can:$missing"
		return 0
	fi
	echo "Installing:$missing"
	# shellcheck disable=SC2086
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
		-o DPkg::Lock::Timeout=120 --no-install-recommends \
		install $missing >$out/apt.log 2>&1 ||
		echo "apt-get failed: see $out/apt.log"
}

# Exactly the versions of the lock file; beside them copies of our files,
# which look for them there.
install_modules()
{
	command -v npm >/dev/null || return 1
	mkdir -p $node
	if ! cmp -s $here/node/package-lock.json $node/installed; then
		echo "Installing: the libraries of $here/node/package.json"
		cp $here/node/*.json $node
		(cd $node && npm ci --ignore-scripts --no-audit --no-fund) \
			>$out/npm.log 2>&1 || {
			echo "npm failed: see $out/npm.log"
			return 1
		}
		cp $here/node/package-lock.json $node/installed
	fi
	cp $here/node/*.js $node
}

# On one processor, and when it fails the others are run all the same.
one()
{
	taskset -c "$processor" "$@" >>$results || echo "failed: $*"
}

node_peers='alien-signals @preact/signals-core @vue/reactivity s-js solid-js
	mobx rxjs'
shapes='set_1 get map_1 chain_10 chain_100 chain_1000 fan_10 fan_1000
	fan_10000 diamond_10 batch_1000 create derive subscribe bytes'

run_native()
{
	for program in "$out"/bin/hyphae "$out"/bin/*; do
		[ "$program" = "$out/bin/hyphae" ] && [ -s $results ] && continue
		echo "  $program"
		# shellcheck disable=SC2086
		one "$program" $effort
	done
	one "$build/bin/speed" ${effort:+--quick} --json bytes
}

run_node()
{
	for peer in $node_peers; do
		echo "  $peer"
		for shape in $shapes; do
			# shellcheck disable=SC2086
			one node --expose-gc $node/shapes.js $effort \
				"$peer" "$shape"
		done
	done
}

run_reactivity()
{
	quick=${effort:+--quick}
	for suite in kairo cellx dynamic sbench; do
		echo "  reactivity: $suite"
		# shellcheck disable=SC2086
		one "$build/bin/reactivity" $quick --json $suite
		for peer in alien-signals @preact/signals-core; do
			$have_node || continue
			# shellcheck disable=SC2086
			one node --expose-gc $node/reactivity.js $quick \
				$peer $suite
		done
	done
}

install_packages
have_node=true
install_modules || have_node=false
$here/build.sh "$build"
processor=$(($(nproc) - 1))
: >$results
run_native
if $have_node; then run_node; fi
run_reactivity
if $have_node; then
	node $here/table.js $results
else
	cat $results
fi
echo "One line of JSON a result: $results"
