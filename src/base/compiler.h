/* SPDX-License-Identifier: MIT */
/* Attributes and small macros. */
#ifndef HY_COMPILER_H
#define HY_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define container_of(pointer, type, member)                                    \
	((type *)((char *)(pointer)-offsetof(type, member)))

#define NOINLINE __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* AddressSanitizer looks on. */
#ifdef __SANITIZE_ADDRESS__
#define HY_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HY_ASAN
#endif
#endif

/*
 * A function that stays a frame of its own in every stack and holds the one
 * site of its probe: not inlined, not cloned, not dropped.  Its callers'
 * calls are followed by HY_FRAME_END, so that none becomes a jump.  It begins
 * a cache line: a set takes a twentieth longer where it does not.
 */
#ifdef __clang__
#define HY_FRAME __attribute__((noinline, used, aligned(64)))
#else
#define HY_FRAME __attribute__((noinline, noclone, noipa, used, aligned(64)))
#endif
/*
 * For a frame whose paths meet at the probe: clang -O3 would give each path a
 * copy of so short an end.
 */
#ifdef __clang__
#define HY_ONE_END __attribute__((minsize))
#else
#define HY_ONE_END
#endif
#define HY_FRAME_END() __asm__ volatile("" : : : "memory")

/* An argument that is not looked at: what the register happens to hold. */
static ALWAYS_INLINE uint64_t hy_whatever(void)
{
	uint64_t x;

	/* Volatile: or one is kept for many calls, in a register. */
	__asm__ volatile("" : "=r"(x));
	return x;
}

/*
 * Fields that hyphae_*_get() reads without the graph's lock.  The orders are
 * those of a published value: what was written before the store is seen
 * after the load.  On x86-64 both are plain moves.
 */
#define load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
/* Only if it is *expected. */
#define replace_release(p, expected, v)                                        \
	__atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_RELEASE,   \
				    __ATOMIC_RELAXED)
#define load_relaxed(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define store_relaxed(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)

#endif
