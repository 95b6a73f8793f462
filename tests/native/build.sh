#!/usr/bin/env bash
# Compiles check_kernels.cpp with every kernel variant of the compiler's target:  build.sh OUTPUT [COMPILER [FLAG...]]
# Examples:  build.sh /tmp/check g++ -fsanitize=address,undefined
#            build.sh /tmp/check aarch64-linux-gnu-g++ -static   (then: qemu-aarch64 /tmp/check)
set -euo pipefail
output=$1
compiler=${2:-g++}
flags=(-std=c++17 -O2 -g -Wall -Wextra -Wno-psabi -Wno-maybe-uninitialized "${@:3}")
source=$(cd "$(dirname "$0")/../../cpu/src" && pwd)
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

variant() { "$compiler" "${flags[@]}" -DGPUALIGN_ISA="$1" "${@:2}" -c "$source/variant.cpp" -o "$objects/$1.o"; }
variant baseline -DGPUALIGN_PORTABLE &
case $("$compiler" -dumpmachine) in
  x86_64*)
    define=GPUALIGN_X86_VARIANTS
    variant sse41 -msse4.1 -mpopcnt &
    variant avx2 -mavx2 -mpopcnt &
    variant avx512bw -mavx512bw -mavx512vl -mavx512dq -mpopcnt
    ;;
  aarch64* | arm64*)
    define=GPUALIGN_NEON_VARIANT
    variant neon &
    ;;
  *) define=GPUALIGN_BASELINE_ONLY ;;
esac
wait
"$compiler" "${flags[@]}" -D"$define" -I"$source" "$(dirname "$0")/check_kernels.cpp" "$source"/{tile,pairs,dispatch,lane_paths,pair_paths,path_tile,local_tile,local_paths}.cpp "$objects"/*.o -o "$output"
