// Instructions that the kernels rely on, each as a function with a plain C++ version.
//
// NVRTC or nvcc compiles the device versions. The tests compile the same kernels as host C++: cuda_host.hpp (tests/cuda_host) then supplies
// threads, barriers and shuffles, and the plain versions below define what each instruction means.
// DPX functions (__vimax3_u16x2, ...) are single instructions on compute capability 9.0; before it CUDA's headers emulate them.
#pragma once

#ifdef __CUDACC_RTC__  // NVRTC has no standard headers
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned;
using uint64_t = unsigned long;
#else
#include <stdint.h>
#endif

#ifdef __CUDACC__
#define DEVICE __device__ __forceinline__
#else
#include "cuda_host.hpp"
#define DEVICE inline
#endif

// A kernel for blocks of up to `threads` threads, with few enough registers that a multiprocessor holds at least `blocks` blocks.
#define KERNEL(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)

// The same, with clusters of `cluster` blocks. Compute capability 9.0; for older ones such a kernel compiles, but cannot run.
#ifndef __CUDACC__
#define KERNEL_IN_CLUSTERS(threads, blocks, cluster)                                   \
  static const unsigned blocks_in_a_cluster = cuda_host::blocks_per_cluster = cluster; \
  KERNEL(threads, blocks)
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define KERNEL_IN_CLUSTERS(threads, blocks, cluster) KERNEL(threads, blocks)
#else
#define KERNEL_IN_CLUSTERS(threads, blocks, cluster) KERNEL(threads, blocks) __cluster_dims__(cluster, 1, 1)
#endif

// Declares `name`, the shared memory whose size the host gives at the launch.
#ifdef __CUDACC__
#define DYNAMIC_SHARED(name, alignment)  \
  extern __shared__ __align__(alignment) \
  unsigned char name[]
#else
#define DYNAMIC_SHARED(name, alignment) unsigned char* const name = cuda_host::shared_memory->begin(alignment)
#endif

// Checks that an argument struct has the size that gpu/kernels/argument_structs.py fills; Python passes SIZE_OF_... as macros.
#define SAME_AS_ON_HOST(type) static_assert(sizeof(type) == SIZE_OF_##type, #type " is another one in gpu/kernels/argument_structs.py")

// Loaded and stored by one instruction.
struct alignas(16) SixteenBytes {
  uint32_t word[4];
};

constexpr unsigned kAllLanes = 0xffffffffu;
#ifdef __CUDACC__
constexpr int kLanes = 32;  // threads of a warp
#endif

// ---- words of two unsigned 16-bit numbers, whose sums must stay within 0 .. 65,535, and words of bytes

#ifdef __CUDACC__
DEVICE uint32_t max3_u16x2(uint32_t a, uint32_t b, uint32_t c) { return __vimax3_u16x2(a, b, c); }
DEVICE uint32_t add_max_u16x2(uint32_t a, uint32_t b, uint32_t c) { return __viaddmax_u16x2(a, b, c); }  // max(a + b, c)
// Maxima of numbers up to 0x7c00 (infinity as a half float): the order of positive half floats is that of their bits. Compute capability
// 8.0.
DEVICE uint32_t max_h16x2(uint32_t a, uint32_t b) {
  uint32_t r;
  asm("max.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
DEVICE int32_t max3_s32(int32_t a, int32_t b, int32_t c) { return __vimax3_s32(a, b, c); }
DEVICE int32_t add_max_s32(int32_t a, int32_t b, int32_t c) { return __viaddmax_s32(a, b, c); }
// Selects four bytes of a (0 - 3) and b (4 - 7) by the nibbles of `selector`; a nibble plus 8 gives eight copies of the byte's sign bit.
DEVICE uint32_t pick_bytes(uint32_t a, uint32_t b, uint32_t selector) {
  uint32_t r;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(selector));
  return r;
}
// a * b + c on the FMA pipe, which maxima and logic leave idle. b must not be a compile-time constant, else the compiler uses other
// instructions; hence the kernel argument `one`.
DEVICE uint32_t multiply_add(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t r;
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
// c + a x + b y, with x and y the lower, or the upper, two signed bytes of `bytes`. On the FMA pipe.
DEVICE uint32_t add_lower_products(uint32_t bytes, uint16_t a, uint16_t b, uint32_t c) {
  uint32_t r;
  asm("dp2a.lo.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a | static_cast<uint32_t>(b) << 16), "r"(bytes), "r"(c));
  return r;
}
DEVICE uint32_t add_upper_products(uint32_t bytes, uint16_t a, uint16_t b, uint32_t c) {
  uint32_t r;
  asm("dp2a.hi.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a | static_cast<uint32_t>(b) << 16), "r"(bytes), "r"(c));
  return r;
}
// c plus the signed byte `number` of `bytes`; `number` is a constant.
DEVICE int32_t add_byte(uint32_t bytes, int number, int32_t c) {
  int32_t r;
  asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(bytes), "r"(1u << 8 * number), "r"(c));
  return r;
}
#else
namespace plain {
inline uint32_t lo(uint32_t x) { return x & 0xffff; }
inline uint32_t hi(uint32_t x) { return x >> 16; }
inline uint32_t pair(uint32_t l, uint32_t h) { return (l & 0xffff) | h << 16; }
template <class T>
T larger(T a, T b) {
  return a > b ? a : b;
}
inline uint32_t larger_each(uint32_t a, uint32_t b) { return pair(larger(lo(a), lo(b)), larger(hi(a), hi(b))); }
}  // namespace plain
DEVICE uint32_t max3_u16x2(uint32_t a, uint32_t b, uint32_t c) { return plain::larger_each(plain::larger_each(a, b), c); }
DEVICE uint32_t max_h16x2(uint32_t a, uint32_t b) {
  constexpr uint32_t kInfinity = 0x7c00;
  for (const uint32_t word : {a, b})
    if (plain::lo(word) > kInfinity || plain::hi(word) > kInfinity) __builtin_trap();  // NaN, which is not ordered
  return plain::larger_each(a, b);
}
DEVICE uint32_t add_max_u16x2(uint32_t a, uint32_t b, uint32_t c) {
  return plain::larger_each(plain::pair(plain::lo(a) + plain::lo(b), plain::hi(a) + plain::hi(b)), c);
}
DEVICE int32_t max3_s32(int32_t a, int32_t b, int32_t c) { return plain::larger(plain::larger(a, b), c); }
DEVICE int32_t add_max_s32(int32_t a, int32_t b, int32_t c) { return plain::larger(a + b, c); }
DEVICE uint32_t pick_bytes(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  uint32_t out = 0;
  for (int i = 0; i < 4; i++) {
    const unsigned nibble = selector >> (4 * i) & 15;
    uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (nibble & 7))) & 255;
    if (nibble & 8) byte = byte & 128 ? 255 : 0;
    out |= byte << (8 * i);
  }
  return out;
}
DEVICE uint32_t multiply_add(uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }
DEVICE uint32_t add_lower_products(uint32_t bytes, uint16_t a, uint16_t b, uint32_t c) {
  return c + a * static_cast<uint32_t>(static_cast<int8_t>(bytes)) + b * static_cast<uint32_t>(static_cast<int8_t>(bytes >> 8));
}
DEVICE uint32_t add_upper_products(uint32_t bytes, uint16_t a, uint16_t b, uint32_t c) { return add_lower_products(bytes >> 16, a, b, c); }
DEVICE int32_t add_byte(uint32_t bytes, int number, int32_t c) { return c + static_cast<int8_t>(bytes >> 8 * number); }
#endif
DEVICE uint32_t add_by_fma(uint32_t a, uint32_t b, uint32_t one) { return multiply_add(a, one, b); }

#ifdef __CUDACC__
DEVICE bool any_lane(uint32_t value) { return __any_sync(kAllLanes, value != 0); }
#endif

// word * 2 + [x < 0]
#ifdef __CUDACC__
DEVICE uint32_t append_sign(uint32_t word, int32_t x) { return __funnelshift_l(static_cast<uint32_t>(x), word, 1); }
#else
DEVICE uint32_t append_sign(uint32_t word, int32_t x) { return word << 1 | (x < 0); }
#endif
DEVICE uint32_t append_sign(uint32_t word, int64_t x) { return append_sign(word, static_cast<int32_t>(x >> 32)); }

// word >> 1, with the lowest bit of `above` as the new highest bit
#ifdef __CUDACC__
DEVICE uint64_t shift_in(uint64_t word, uint32_t above) {
  const uint32_t low = static_cast<uint32_t>(word), high = static_cast<uint32_t>(word >> 32);
  return static_cast<uint64_t>(__funnelshift_r(high, above, 1)) << 32 | __funnelshift_r(low, high, 1);
}
#else
DEVICE uint64_t shift_in(uint64_t word, uint32_t above) { return word >> 1 | static_cast<uint64_t>(above) << 63; }
#endif

// ---- three-input logic, by name: the compiler's own choice takes a fifth more instructions

#ifdef __CUDACC__
#define LOGIC3(name, table, expression)                                             \
  DEVICE uint32_t name(uint32_t a, uint32_t b, uint32_t c) {                        \
    uint32_t r;                                                                     \
    asm("lop3.b32 %0, %1, %2, %3, " #table ";" : "=r"(r) : "r"(a), "r"(b), "r"(c)); \
    return r;                                                                       \
  }
#else
#define LOGIC3(name, table, expression) \
  DEVICE uint32_t name(uint32_t a, uint32_t b, uint32_t c) { return expression; }
#endif
LOGIC3(or3, 0xFE, a | b | c)
LOGIC3(xor3, 0x96, a ^ b ^ c)
LOGIC3(majority, 0xE8, (a & b) | (a & c) | (b & c))
LOGIC3(and3, 0x80, a & b & c)
LOGIC3(or_xor, 0xF6, a | (b ^ c))
LOGIC3(or_and_not, 0xF4, a | (b & ~c))
LOGIC3(not_or_and_not, 0x4F, ~a | (b & ~c))
LOGIC3(or_nor, 0xF1, a | ~(b | c))
LOGIC3(and_of_either, 0xE0, a&(b | c))

#ifdef __CUDACC__
DEVICE int32_t count_bits(uint32_t word) { return __popc(word); }
DEVICE int lowest_bit(uint64_t word) { return __ffsll(static_cast<long long>(word)) - 1; }  // -1 if there is none
#else
DEVICE int32_t count_bits(uint32_t word) { return __builtin_popcount(word); }
DEVICE int lowest_bit(uint64_t word) { return word ? __builtin_ctzll(word) : -1; }
#endif

// ---- lists that many threads append to

// Appends one entry to a list for every lane with `has`, and returns the index of the lane's own entry. Called by all lanes of a warp
// together, as it takes one atomic addition per warp.
template <class Count>
DEVICE Count append_index(Count* length, bool has) {
  const unsigned appending = __ballot_sync(kAllLanes, has);
  if (appending == 0) return 0;
  const int lane = static_cast<int>(threadIdx.x) % kLanes, first = __ffs(static_cast<int>(appending)) - 1;
  Count index = 0;
  if (lane == first) index = atomicAdd(length, static_cast<Count>(count_bits(appending)));
  return __shfl_sync(kAllLanes, index, first) + count_bits(appending & ((1u << lane) - 1));
}

// ---- doubles as the host computes them: no fused multiply-add

#ifdef __CUDACC__
DEVICE double double_product(double a, double b) { return __dmul_rn(a, b); }
DEVICE double double_sum(double a, double b) { return __dadd_rn(a, b); }
DEVICE int64_t floor_of(double x) { return __double2ll_rd(x); }
#else
DEVICE double double_product(double a, double b) { return a * b; }
DEVICE double double_sum(double a, double b) { return a + b; }
DEVICE int64_t floor_of(double x) {
  const int64_t cut = static_cast<int64_t>(x);
  return cut - (static_cast<double>(cut) > x);
}
#endif

// ---- global memory that other blocks write while this one runs: bypasses the L1 cache, which is not coherent

#ifdef __CUDACC__
template <int ALIGNMENT>
struct WordOf {
  using type = uint32_t;
};
template <>
struct WordOf<8> {
  using type = uint2;
};
template <>
struct WordOf<16> {
  using type = uint4;
};
template <class T>
DEVICE T load_shared_by_blocks(const T* p) {
  using Word = typename WordOf<alignof(T)>::type;
  T value;
#pragma unroll
  for (int k = 0; k < sizeof(T) / sizeof(Word); k++) reinterpret_cast<Word*>(&value)[k] = __ldcg(reinterpret_cast<const Word*>(p) + k);
  return value;
}
template <class T>
DEVICE void store_shared_by_blocks(T* p, const T& value) {
  using Word = typename WordOf<alignof(T)>::type;
#pragma unroll
  for (int k = 0; k < sizeof(T) / sizeof(Word); k++) __stcg(reinterpret_cast<Word*>(p) + k, reinterpret_cast<const Word*>(&value)[k]);
}
// For words that carry a tag which shows whether they have been written (chain.cuh). Orders no other access.
DEVICE uint32_t load_relaxed(const uint32_t* p) {
  uint32_t value;
  asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}
DEVICE uint64_t load_relaxed(const uint64_t* p) {
  uint64_t value;
  asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(value) : "l"(p) : "memory");
  return value;
}
// Stores if `stores`, by a predicate: before a branch a warp would wait for all of its loads.
DEVICE void store_relaxed_if(bool stores, uint64_t* p, uint64_t value) {
  asm volatile(
      "{\n.reg .pred wanted;\nsetp.ne.u32 wanted, %0, 0;\n@wanted st.relaxed.gpu.u64 [%1], %2;\n}" ::"r"(static_cast<uint32_t>(stores)),
      "l"(p), "l"(value)
      : "memory");
}
DEVICE void store_relaxed_if(bool stores, uint32_t* p, uint32_t value) {
  asm volatile(
      "{\n.reg .pred wanted;\nsetp.ne.u32 wanted, %0, 0;\n@wanted st.relaxed.gpu.u32 [%1], %2;\n}" ::"r"(static_cast<uint32_t>(stores)),
      "l"(p), "r"(value)
      : "memory");
}
DEVICE int load_relaxed(const int* p) {
  int value;
  asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}
// What was written before the store that this load sees is visible after it.
DEVICE int load_acquire(const int* p) {
  int value;
  asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}
// A thread that acquires the value also sees what this thread wrote, or saw at a barrier, before.
DEVICE void store_release(int* p, int value) { asm volatile("st.release.gpu.s32 [%0], %1;" ::"l"(p), "r"(value) : "memory"); }
DEVICE void wait_a_little() { __nanosleep(100); }
DEVICE void atomic_max(int32_t* p, int32_t value) { atomicMax(p, value); }
DEVICE void atomic_max(int64_t* p, int64_t value) { atomicMax(reinterpret_cast<long long*>(p), static_cast<long long>(value)); }
#endif

// Waits until a flag that another block raises is at least `minimum`, and returns it; what that block wrote before is then visible. Polling
// is relaxed, because an acquiring load invalidates the L1 cache each time.
DEVICE int wait_for_flag(const int* p, int minimum) {
  while (load_relaxed(p) < minimum) wait_a_little();
  return load_acquire(p);
}
// Sets a flag. A thread that sees it also sees all that this thread wrote, or saw at a barrier, before.
DEVICE void raise_flag(int* p, int value) { store_release(p, value); }

// ---- asynchronous copies into shared memory, from global memory that other blocks write

#ifdef __CUDACC__
DEVICE uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
// Words in shared memory, by addresses that are computed with 32-bit arithmetic. They must have been written before a barrier.
class SharedWords {
 public:
  DEVICE explicit SharedWords(const void* words) : begin_(shared_address(words)) {}
  DEVICE uint32_t begin() const { return begin_; }
  // Loads the word that is OFFSET bytes behind an address.
  template <int OFFSET>
  DEVICE uint32_t load(uint32_t address) const {
    uint32_t word;
    asm("ld.shared.u32 %0, [%1 + %2];" : "=r"(word) : "r"(address), "n"(OFFSET));
    return word;
  }

 private:
  uint32_t begin_;
};
// Copies 16 bytes to a shared address. Compute capability 8.0.
DEVICE void copy_ahead(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
// Returns the same pointer to shared memory, kept in a register: the compiler would recompute it wherever it is used, which takes a dozen
// clocks on compute capability 9.0. (It cannot see through a shuffle.)
template <class T>
DEVICE T* in_register(T* p) {
  const uint32_t address = __shfl_sync(kAllLanes, shared_address(p), threadIdx.x % kLanes);
  return static_cast<T*>(__cvta_shared_to_generic(address));
}
#else
class SharedWords {
 public:
  explicit SharedWords(const void* words) : words_(static_cast<const char*>(words)) {}
  uint32_t begin() const { return 0; }
  template <int OFFSET>
  uint32_t load(uint32_t address) const {
    return *reinterpret_cast<const uint32_t*>(words_ + address + OFFSET);
  }

 private:
  const char* words_;
};
template <class T>
DEVICE T* in_register(T* p) {
  return p;
}
#endif
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
DEVICE void copy_ahead(void* to, const void* from) { copy_ahead(shared_address(to), from); }  // 16 bytes
// Closes a group of this thread's copies, which may be empty.
DEVICE void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until this thread's copies of all groups but the YOUNGER latest ones have arrived.
template <int YOUNGER>
DEVICE void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(YOUNGER) : "memory");
}
#elif defined(__CUDACC__)  // synchronous; tests/cuda_host has its own
DEVICE void copy_ahead(void* to, const void* from) { *static_cast<uint4*>(to) = __ldcg(static_cast<const uint4*>(from)); }
DEVICE void end_copies() {}
template <int YOUNGER>
DEVICE void wait_for_copies() {}
#endif
