/* SPDX-License-Identifier: MIT */
/*
 * A set of numbers below n: a bit for each, and where there are several words
 * of these, above them a bit for each word that is not 0.  To go through the
 * set takes time for its members and n / 4096.
 */
#ifndef HY_BITS_H
#define HY_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t hy_bits_lower(size_t n)
{
	return (n + 63) / 64;
}

/* The words of a set; the caller has them, zeroed for an empty set. */
static inline size_t hy_bits_words(size_t n)
{
	size_t lower = hy_bits_lower(n);

	return lower > 1 ? lower + hy_bits_lower(lower) : lower;
}

static inline uint64_t hy_bits_one(size_t i)
{
	return (uint64_t)1 << (i % 64);
}

static inline void hy_bits_add(uint64_t *bits, size_t n, size_t i)
{
	bits[i / 64] |= hy_bits_one(i);
	if (n > 64)
		bits[hy_bits_lower(n) + i / 4096] |= hy_bits_one(i / 64);
}

static inline void hy_bits_remove(uint64_t *bits, size_t n, size_t i)
{
	bits[i / 64] &= ~hy_bits_one(i);
	if (n > 64 && !bits[i / 64])
		bits[hy_bits_lower(n) + i / 4096] &= ~hy_bits_one(i / 64);
}

/* The first bit that is set from `from` on, or `n`. */
static inline size_t hy_bits_scan(const uint64_t *words, size_t n, size_t from)
{
	uint64_t mask = ~(uint64_t)0 << (from % 64);

	for (size_t w = from / 64; w < hy_bits_lower(n); w++) {
		uint64_t word = words[w] & mask;

		if (word)
			return w * 64 + (size_t)__builtin_ctzll(word);
		mask = ~(uint64_t)0;
	}
	return n;
}

/* The least member that is `from` or more, or `n`. */
static inline size_t hy_bits_next(const uint64_t *bits, size_t n, size_t from)
{
	size_t lower = hy_bits_lower(n), w;
	uint64_t word;

	if (from >= n)
		return n;
	word = bits[from / 64] & (~(uint64_t)0 << (from % 64));
	if (word)
		return from / 64 * 64 + (size_t)__builtin_ctzll(word);
	if (n <= 64)
		return n;
	w = hy_bits_scan(bits + lower, lower, from / 64 + 1);
	return w == lower ? n : w * 64 + (size_t)__builtin_ctzll(bits[w]);
}

#endif
