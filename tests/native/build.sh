#!/usr/bin/env bash
# Compiles a check with every kernel variant of the compiler's target:  build.sh kernels|distance|near|simd OUTPUT [COMPILER [FLAG...]]
# Examples:  build.sh kernels /tmp/check g++ -fsanitize=address,undefined
#            build.sh distance /tmp/check aarch64-linux-gnu-g++ -static   (then: qemu-aarch64 /tmp/check)
set -euo pipefail
what=$1
output=$2
compiler=${3:-g++}
flags=(-std=c++17 -O1 -g1 -Wall -Wextra -Wno-psabi -Wno-maybe-uninitialized -pthread "${@:4}")
# AddressSanitizer's checks as calls, which compile in half the time of what it writes at every load and store of a vector.
if [[ ${flags[*]} == *address* && $("$compiler" --version) != *clang* ]]; then flags+=(--param asan-instrumentation-with-call-threshold=0); fi
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
case $what in
  kernels)
    variants=alignment/src/variant.cpp
    files=("$root"/cpu/alignment/src/{tile,pairs,slice_masks,slice_tables,lane_paths,sliced_paths,pair_paths,band_bound,band_paths,list_paths,path_tile,local_tile,local_paths,hit_bounds,box_paths,local_pairs}.cpp)
    ;;
  distance)
    variants=distance/src/distance_variant.cpp
    files=("$root"/core/distance/src/alignment_{scanner,reader}.cpp)
    ;;
  near)
    variants=near_pairs/src/near_variant.cpp
    files=("$root"/cpu/near_pairs/src/{near_{records,verify,tile},column_{distances,tree}}.cpp)
    ;;
  simd)
    variants=../tests/native/check_simd.cpp
    files=()
    ;;
esac
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

# One source for all: undefined behaviour is looked for in the baseline, which is the slower half of a sanitized build.
variant() {
  local own=("${flags[@]}")
  if [[ $1 != baseline ]]; then own=("${own[@]/address,undefined/address}"); fi
  "$compiler" "${own[@]}" -DGPUALIGN_ISA="$1" "${@:2}" -I"$root" -c "$root/cpu/$variants" -o "$objects/$1.o"
}
avx512=(-mavx512bw -mavx512vl -mavx512dq -mpopcnt)
variant baseline -DGPUALIGN_PORTABLE &
case $("$compiler" -dumpmachine) in
  x86_64*)
    define=GPUALIGN_X86_VARIANTS
    variant sse41 -msse4.1 -mpopcnt &
    variant avx2 -mavx2 -mpopcnt &
    if [[ $what != kernels ]]; then variant avx512popcnt "${avx512[@]}" -mavx512vpopcntdq & fi
    variant avx512bw "${avx512[@]}"
    ;;
  aarch64* | arm64*)
    define=GPUALIGN_NEON_VARIANT
    variant neon &
    ;;
  *) define=GPUALIGN_BASELINE_ONLY ;;
esac
wait
"$compiler" "${flags[@]}" -D"$define" -I"$root" "$here/check_$what.cpp" "${files[@]}" "$objects"/*.o -o "$output"
