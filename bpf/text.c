// SPDX-License-Identifier: MIT
/* Texts that came out of another process; see text.h. */
#include "bpf/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define REPLACEMENT "\xef\xbf\xbd"

size_t text_utf8(const char *text, size_t length, uint32_t *ret_code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *s = (const unsigned char *)text;
	size_t n, i;
	uint32_t code;

	if (!length)
		return 0;
	if (s[0] < 0x80) {
		*ret_code = s[0];
		return 1;
	}
	n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 0;
	if (!n || s[0] > 0xf4 || n > length)
		return 0;
	code = s[0] & (0x7fu >> n);
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least[n] || code > 0x10ffff ||
	    (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return n;
}

static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h ^ h >> 29;
}

/* A reference is the chunk and the place in it. */
#define CHUNK 65536

const char *text_get(const struct text_pool *pool, uint32_t reference)
{
	if (!reference || reference / CHUNK >= pool->nchunks)
		return "";
	return pool->chunks[reference / CHUNK] + reference % CHUNK;
}

/* Have `size` bytes free at the end of the last chunk. */
static int make_room(struct text_pool *pool, size_t size)
{
	char **chunks;

	if (pool->nchunks && pool->used + size <= CHUNK)
		return 0;
	if (pool->nchunks == UINT32_MAX / CHUNK)
		return -ENOMEM;
	chunks = realloc(pool->chunks, (pool->nchunks + 1) * sizeof(*chunks));
	if (!chunks)
		return -ENOMEM;
	pool->chunks = chunks;
	chunks[pool->nchunks] = malloc(CHUNK);
	if (!chunks[pool->nchunks])
		return -ENOMEM;
	/* Place 0 of the first chunk would be TEXT_EMPTY. */
	pool->used = pool->nchunks++ ? 0 : 1;
	return 0;
}

static int grow_slots(struct text_pool *pool)
{
	size_t n = pool->slots ? (pool->mask + 1) * 2 : 256, i, at;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (i = 0; pool->slots && i <= pool->mask; i++) {
		if (!pool->slots[i])
			continue;
		at = hash(text_get(pool, pool->slots[i])) & (n - 1);
		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = pool->slots[i];
	}
	free(pool->slots);
	pool->slots = slots;
	pool->mask = n - 1;
	return 0;
}

/* Copy, clean, to where there is room for three times the length. */
static void copy_clean(char *to, const char *text, size_t length)
{
	uint32_t code;
	size_t n;

	while (length && *text) {
		n = text_utf8(text, length, &code);
		if (n) {
			memcpy(to, text, n);
			to += n;
		} else {
			memcpy(to, REPLACEMENT, 3);
			to += 3;
			n = 1;
		}
		text += n;
		length -= n;
	}
	*to = '\0';
}

uint32_t text_add(struct text_pool *pool, const char *text, size_t length)
{
	char *clean;
	size_t at;

	if (!length || !*text || length > TEXT_MOST)
		return TEXT_EMPTY;
	if (make_room(pool, length * 3 + 1))
		return TEXT_EMPTY;
	if ((!pool->slots || pool->texts * 2 > pool->mask) && grow_slots(pool))
		return TEXT_EMPTY;
	clean = pool->chunks[pool->nchunks - 1] + pool->used;
	copy_clean(clean, text, length);
	for (at = hash(clean) & pool->mask; pool->slots[at];
	     at = (at + 1) & pool->mask)
		if (!strcmp(text_get(pool, pool->slots[at]), clean))
			return pool->slots[at];
	pool->slots[at] = (uint32_t)((pool->nchunks - 1) * CHUNK + pool->used);
	pool->used += strlen(clean) + 1;
	pool->texts++;
	return pool->slots[at];
}

void text_done(struct text_pool *pool)
{
	size_t i;

	for (i = 0; i < pool->nchunks; i++)
		free(pool->chunks[i]);
	free(pool->chunks);
	free(pool->slots);
	memset(pool, 0, sizeof(*pool));
}

/*
 * What a terminal may obey instead of showing it: control characters, also
 * those above 0x7f, and what turns the direction of writing.
 */
static bool is_control(uint32_t code)
{
	return code < ' ' || (code >= 0x7f && code < 0xa0) ||
	       (code >= 0x202a && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

void text_plain(char *text)
{
	size_t n;
	uint32_t code;

	while (*text) {
		n = text_utf8(text, strlen(text), &code);
		if (!n || is_control(code)) {
			n = n ? n : 1;
			memset(text, '?', n);
		}
		text += n;
	}
}

int text_fit(char *to, size_t size, const char *from, int columns)
{
	char *end = to + size - 1, *cut = to;
	int used = 0, cut_at = 0, width;
	uint32_t code;
	size_t n;

	while (*from) {
		n = text_utf8(from, strlen(from), &code);
		width = !n || is_control(code) ? -1 : wcwidth((wchar_t)code);
		if (used + (width < 0 ? 1 : width) > columns || to + n >= end) {
			if (cut < end && columns > 0)
				*cut++ = '~';
			*cut = '\0';
			return cut_at + (columns > 0);
		}
		if (width < 0) {
			*to++ = '?';
			used++;
		} else {
			memcpy(to, from, n);
			to += n;
			used += width;
		}
		if (used < columns) {
			cut = to;
			cut_at = used;
		}
		from += n ? n : 1;
	}
	*to = '\0';
	return used;
}
