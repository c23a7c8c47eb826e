/* SPDX-License-Identifier: MIT */
/* The benchmark's random numbers; see random.h. */
#include "random.h"

#include <stddef.h>

static uint32_t rotated(uint32_t value, int by)
{
	return value << by | value >> (32 - by);
}

/* MurmurHash3 of a text: its state before the last mixing. */
static uint32_t hash_text(const char *text)
{
	uint32_t hash = 2166136261;
	uint32_t length;

	for (length = 0; text[length]; length++) {
		uint32_t k = (unsigned char)text[length] * 3432918353;

		hash ^= rotated(k, 15) * 461845907;
		hash = rotated(hash, 13) * 5 + 3864292196;
	}
	return hash ^ length;
}

/* The next number of a hash: mixed once more. */
static uint32_t mixed(uint32_t *hash)
{
	*hash ^= *hash >> 16;
	*hash *= 2246822507;
	*hash ^= *hash >> 13;
	*hash *= 3266489909;
	*hash ^= *hash >> 16;
	return *hash;
}

void random_begin(struct random *random, const char *seed)
{
	uint32_t hash = hash_text(seed);

	random->a = mixed(&hash);
	random->b = mixed(&hash);
	random->c = mixed(&hash);
	random->d = mixed(&hash);
}

double random_next(struct random *random)
{
	uint32_t sum = random->a + random->b;

	random->a = random->b ^ random->b >> 9;
	random->b = random->c + (random->c << 3);
	random->c = rotated(random->c, 21);
	random->d++;
	sum += random->d;
	random->c += sum;
	return sum / 4294967296.0;
}
