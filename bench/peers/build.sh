#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build.sh BUILD: build the peers that are installed into build/peers/bin.
#
# A line "// needs: MODULE" (of pkg-config) or "// header: FILE" in its head
# says what a peer needs, "// package: NAME|OTHER" what to install for it.

set -eu
build=$1
native=bench/peers/native
out=build/peers
CXX=${CXX:-g++}
mkdir -p $out/bin

# said KEY FILE: what the head of a peer says
said()
{
	sed -n "s,^// $1: ,,p" "$2"
}

is_there()
{
	module=$(said needs "$1")
	header=$(said header "$1")
	[ -z "$module" ] || pkg-config --exists "$module" 2>/dev/null || return 1
	[ -z "$header" ] || printf '#include <%s>\n' "$header" |
		$CXX -E -x c++ - >/dev/null 2>&1
}

moc()
{
	for m in "$(command -v moc6 || true)" /usr/lib/qt6/libexec/moc \
		/usr/lib64/qt6/libexec/moc /usr/lib/qt6/moc; do
		if [ -x "$m" ]; then
			"$m" "$@"
			return
		fi
	done
	return 1
}

# compile NAME SOURCE FLAGS...
compile()
{
	name=$1
	shift
	# shellcheck disable=SC2046,SC2086
	$CXX -std=c++17 -O2 -g -Wall -Wextra -fPIC -Ibench -Iinclude -I$out \
		-o "$out/bin/$name" $native/driver.cpp "$@" \
		$(ls "$build"/obj/bench/speed/*.o "$build"/obj/bench/lib/*.o) \
		"$build/lib/libhyphae.a" $libs -ljansson -lpthread -lm
}

# peer NAME SOURCE FLAGS...
peer()
{
	if ! is_there "$2"; then
		echo "left out: $1 (package $(said package "$2"))"
		return
	fi
	module=$(said needs "$2")
	flags=
	libs=
	version=
	if [ -n "$module" ]; then
		flags=$(pkg-config --cflags "$module")
		version=$(pkg-config --modversion "$module")
		libs=$(pkg-config --libs "$module")
	fi
	if [ "$(said moc "$2")" = yes ]; then
		moc "$2" -o "$out/$1.moc"
	fi
	# shellcheck disable=SC2086
	compile "$@" "-DPEER_VERSION=\"$version\"" $flags
}

libs=
compile hyphae -DHYPHAE -DHYPHAE_VERSION="\"$(
	sed -n 's/^#define HYPHAE_VERSION "\(.*\)"/\1/p' \
		include/hyphae/hyphae.h)\""
for source in "$native"/*.cpp; do
	name=$(basename "$source" .cpp)
	[ "$name" != driver ] || continue
	peer "$name" "$source"
done
peer wl_signal_mutable $native/wl_signal.cpp -DPEER_SAFE
