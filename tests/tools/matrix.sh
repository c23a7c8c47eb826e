#!/bin/sh
# SPDX-License-Identifier: MIT
#
# matrix.sh FOLDER CC OPT [NAME]: build the library and tests/e2e/prog_all.c in
# many ways, or in one, for the tests that read what comes out.
#
#   CC    gcc, clang
#   OPT   O0, O1, O2, O3, lto (-O2 -flto), sections (-O2 and a section for each
#         function, which gives --gc-sections and --icf something to do)
#
# Makes FOLDER/CC-OPT-FORM-LINKER-VARIANT, and for each also what strip leaves
# of it, in FOLDER/...-stripped:
#
#   form     so, pie, static, static-pie
#   linker   bfd, gold, lld
#   variant  plain, gc (--gc-sections), icf (--gc-sections --icf=all)
#
# FOLDER, an absolute path, is for one run: objects that are there already are taken as they are.
# Prints "built NAME", "left out NAME" where the toolchain cannot link an empty
# program that way, or "failed NAME" with what the linker said.

set -u
folder=$1
cc=$2
opt=$3
only=${4-}
# Everything by relative paths: that of the tree may have blanks.
cd "$(dirname "$0")/../.." || exit 1
objects=$folder/obj-$cc-$opt
mkdir -p "$objects"

case $opt in
lto) flags='-O2 -flto' ;;
sections) flags='-O2 -ffunction-sections -fdata-sections' ;;
*) flags=-$opt ;;
esac
# As the Makefile does, but for the warnings and debug information.
flags="$flags -std=gnu11 -fPIC -fno-omit-frame-pointer
	-fno-optimize-sibling-calls -fvisibility=hidden -D_GNU_SOURCE
	-DHYPHAE_PROBES=1 -Iinclude -Isrc -I."

for source in src/*/*.c tests/e2e/prog_all.c; do
	name=$(basename "$(dirname "$source")")_$(basename "$source" .c)
	echo "$source $objects/$name.o"
done >"$objects/list"
while read -r source object; do
	printf '%s\0%s\0' "$source" "$object"
done <"$objects/list" |
	FLAGS=$flags CC=$cc xargs -0 -P 2 -n 2 sh -c \
		'[ -f "$2" ] || $CC $FLAGS -c -o "$2" "$1"' sh || exit 1

program=$objects/e2e_prog_all.o
library=$(ls "$objects"/*.o | grep -v -e e2e_prog_all -e empty)
echo 'int main(void) { return 0; }' >"$objects/empty.c"
# shellcheck disable=SC2086
$cc $flags -c -o "$objects/empty.o" "$objects/empty.c" || exit 1

link()
{
	output=$1
	form=$2
	shift 2
	case $form in
	so)
		# shellcheck disable=SC2086
		"$cc" -shared -Wl,-z,defs "$@" -o "$output" $library -lpthread
		;;
	*)
		case $form in
		pie) how=-pie ;;
		static) how='-static -no-pie' ;;
		static-pie) how=-static-pie ;;
		esac
		# shellcheck disable=SC2086
		"$cc" $how "$@" -o "$output" $program $library -lpthread
		;;
	esac
}

# Can this toolchain link anything at all that way?
can_link()
{
	(
		library=$objects/empty.o
		program=
		link "$objects/empty" "$@"
	) >/dev/null 2>&1
}

[ "$opt" = lto ] && lto=-flto || lto=
# All forms where linkers have something to do, two elsewhere.
case $opt in
sections | O2) forms='so pie static static-pie' ;;
*) forms='so static' ;;
esac

# Each link of lto compiles it all again: what discards most is tried.
hardest()
{
	case $1 in
	bfd-gc | gold-icf | lld-icf) return 0 ;;
	esac
	return 1
}

for linker in bfd gold lld; do
	for variant in plain gc icf; do
		case $variant in
		plain) extra= ;;
		gc) extra=-Wl,--gc-sections ;;
		icf)
			extra='-Wl,--gc-sections -Wl,--icf=all'
			[ "$linker" != bfd ] || continue
			;;
		esac
		[ "$opt" != lto ] || hardest "$linker-$variant" || continue
		for form in $forms; do
			name=$cc-$opt-$form-$linker-$variant
			[ -z "$only" ] || [ "$name" = "${only%-stripped}" ] ||
				continue
			# lld would make an empty library of what only gcc
			# can read.
			if [ "$cc $opt $linker" = 'gcc lto lld' ]; then
				echo "left out $name"
				continue
			fi
			# shellcheck disable=SC2086
			if link "$folder/$name" "$form" -fuse-ld=$linker \
				$lto -O2 $extra 2>"$objects/said"; then
				echo "built $name"
				strip -s -o "$folder/$name-stripped" \
					"$folder/$name" &&
					echo "built $name-stripped"
			elif can_link "$form" -fuse-ld=$linker $lto -O2 \
				$extra; then
				echo "failed $name"
				head -5 "$objects/said"
			else
				echo "left out $name"
			fi
		done
	done
done
