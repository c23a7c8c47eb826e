#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Which packages are missing?
#
#   packages.sh need build|check       fail, naming them, if some are
#   packages.sh install [build|check]  install them (root, apt)
#
# What counts is whether the command, header or pkg-config module is there, not
# the package: a self-built one will do.  "a|b" are names of different releases
# of a distribution; the first that it knows is taken.

set -u
PATH=$PATH:/usr/sbin:/sbin
CC=${CC:-gcc}

# purpose, test, thing, Debian and Ubuntu, Fedora, Arch
table='
build command gcc       build-essential     gcc                    base-devel
build header  stdio.h   libc6-dev           glibc-devel            glibc
build command clang     clang               clang                  clang
build header  bpf/libbpf.h libbpf-dev       libbpf-devel           libbpf
build header  sys/sdt.h systemtap-sdt-dev   systemtap-sdt-devel    systemtap
build header  gelf.h    libelf-dev          elfutils-libelf-devel  libelf
build header  zlib.h    zlib1g-dev          zlib-devel             zlib
build runs    bpftool   bpftool|linux-tools-generic bpftool        bpf
build header  curses.h  libncurses-dev      ncurses-devel          ncurses
build header  jansson.h libjansson-dev      jansson-devel          jansson
check header  cmocka.h  libcmocka-dev       libcmocka-devel        cmocka
check command bpftrace  bpftrace            bpftrace               bpftrace
check command valgrind  valgrind            valgrind               valgrind
check command objdump   binutils            binutils               binutils
check command ld.gold   binutils-gold|binutils binutils-gold       binutils
check command ld.lld    lld                 lld                    lld
check runs    perf      linux-perf|linux-tools-generic perf        perf
check command g++      build-essential|g++ gcc-c++                gcc
check command pkg-config pkg-config|pkgconf pkgconf-pkg-config     pkgconf
check module  libuv     libuv1-dev          libuv-devel            libuv
check module  glib-2.0  libglib2.0-dev      glib2-devel            glib2
'

have_header()
{
	# CC may be several words, as in CC="ccache gcc".
	# shellcheck disable=SC2086
	if command -v ${CC%% *} >/dev/null 2>&1; then
		printf '#include <stdio.h>\n#include <%s>\n' "$1" |
			$CC -E -x c - >/dev/null 2>&1
	else
		ls "/usr/include/$1" /usr/include/*/"$1" >/dev/null 2>&1
	fi
}

# Does the command, or its copy for another kernel, really start?
runs()
{
	for c in "$1" /usr/lib/linux-tools/*/"$1" /usr/lib/linux-tools-*/"$1"; do
		"$c" version >/dev/null 2>&1 </dev/null && return 0
	done
	return 1
}

have()
{
	case $1 in
	command) command -v "$2" >/dev/null 2>&1 ;;
	header) have_header "$2" ;;
	module) pkg-config --exists "$2" 2>/dev/null ;;
	runs) runs "$2" ;;
	esac
}

# missing PURPOSE COLUMN: package names, one a line
missing()
{
	printf '%s\n' "$table" | while read -r purpose test thing names; do
		[ -n "$purpose" ] || continue
		[ "$1" = check ] || [ "$purpose" = build ] || continue
		have "$test" "$thing" && continue
		# shellcheck disable=SC2086
		set -- "$1" "$2" $names
		case $2 in
		debian) echo "$3" ;;
		fedora) echo "$4" ;;
		arch) echo "$5" ;;
		esac
	done | sort -u
}

line()
{
	missing "$1" "$2" | tr '\n' ' '
}

print_missing()
{
	# An alternative reads "a or b" to people.
	echo "  Debian, Ubuntu: apt install $(line "$1" debian |
		sed 's/|\([a-z-]*\)/ (or \1)/g')"
	echo "  Fedora:         dnf install $(line "$1" fedora)"
	echo "  Arch:           pacman -S $(line "$1" arch)"
}

need()
{
	[ -z "$(missing "$1" debian)" ] && return 0
	if [ "$1" = build ]; then
		echo 'hyphae cannot be built: some packages are missing.'
	else
		echo 'The tests cannot be built: some packages are missing.'
	fi
	print_missing "$1"
	echo 'On Debian and Ubuntu, `sudo make setup` installs them.'
	return 1
}

# The first of a|b that apt can install.
choose()
{
	for name in $(echo "$1" | tr '|' ' '); do
		if apt-cache policy "$name" 2>/dev/null |
			grep 'Candidate:' | grep -qv '(none)'; then
			echo "$name"
			return
		fi
	done
	echo "${1%%|*}"
}

install_missing()
{
	[ -z "$(missing "$1" debian)" ] && return 0
	if ! command -v apt-get >/dev/null 2>&1; then
		echo 'Packages are missing, and only apt can install them from here.'
		print_missing "$1"
		return 1
	fi
	if [ "$(id -u)" -ne 0 ]; then
		echo 'Packages are missing; root can install them: sudo make setup.'
		print_missing "$1"
		return 1
	fi
	export DEBIAN_FRONTEND=noninteractive
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	apt-get -qq update >"$log" 2>&1 </dev/null || true
	names=
	for name in $(missing "$1" debian); do
		names="$names $(choose "$name")"
	done
	names=$(printf '%s\n' $names | sort -u | tr '\n' ' ')
	echo "Installing: $names"
	# shellcheck disable=SC2086
	if ! apt-get -qq -y -o DPkg::Lock::Timeout=120 \
		--no-install-recommends install $names >"$log" 2>&1 </dev/null
	then
		cat "$log"
		echo "apt-get could not install: $names"
		return 1
	fi
	left=$(line "$1" debian)
	if [ -n "$left" ]; then
		echo "Installed, but not found by their commands or headers: $left"
		return 1
	fi
}

case ${1-} in
need) need "${2:-build}" ;;
install) install_missing "${2:-check}" ;;
*)
	echo 'usage: packages.sh need build|check, packages.sh install [build]'
	exit 2
	;;
esac >&2
