/* SPDX-License-Identifier: MIT */
/*
 * Texts that came out of another process: each kept once, and clean.  A
 * reference is 4 bytes, so a million cells that share sites, types and
 * operators cost little.
 */
#ifndef HYPHAE_BPF_TEXT_H
#define HYPHAE_BPF_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text_pool {
	char **chunks; /* which never move */
	size_t nchunks;
	size_t used;	 /* of the last chunk */
	uint32_t *slots; /* hash table of references; 0 is a free one */
	size_t mask, texts;
};

#define TEXT_MOST 4096

/* The reference of the empty text; also what an untold name is. */
#define TEXT_EMPTY 0

/*
 * The reference of `length` bytes of text, at most TEXT_MOST.  What is not UTF-8 in it is
 * replaced by U+FFFD.  TEXT_EMPTY when there is no memory.
 */
uint32_t text_add(struct text_pool *pool, const char *text, size_t length);

/* The text; valid until text_done(). */
const char *text_get(const struct text_pool *pool, uint32_t reference);

void text_done(struct text_pool *pool);

/*
 * The length of the UTF-8 sequence at `text`, at most `length` bytes; 0 if it
 * is none.  *ret_code gets its code point.
 */
size_t text_utf8(const char *text, size_t length, uint32_t *ret_code);

/* Replace, in place, control characters and what is not UTF-8 by '?'. */
void text_plain(char *text);

/*
 * Copy to at most `columns` columns of a terminal and `size` bytes: control
 * characters become '?', what does not fit ends in "~".  Returns the columns.
 */
int text_fit(char *to, size_t size, const char *from, int columns);

#endif
