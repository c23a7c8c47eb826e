/* SPDX-License-Identifier: MIT */
/* Structs of options, which may be of an older or a newer header. */
#ifndef HY_OPTIONS_H
#define HY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * Copy options of `size` bytes into a struct of `known` bytes, the rest of
 * which becomes zero.  False: they ask for something that we do not know.
 */
static inline bool hy_options_read(void *ret, size_t known, const void *options,
				   size_t size)
{
	const unsigned char *bytes = options;

	memset(ret, 0, known);
	memcpy(ret, options, size < known ? size : known);
	for (size_t i = known; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

#endif
