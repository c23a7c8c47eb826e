/* SPDX-License-Identifier: MIT */
#include "core/utf8.h"

static bool continues(unsigned char byte, unsigned char low, unsigned char high)
{
	return byte >= low && byte <= high;
}

size_t hy_utf8_character(const unsigned char *s, size_t left)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t bytes;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	bytes = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (left < bytes)
		return 0;
	/* The second byte is what rules out overlong forms and surrogates. */
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (!continues(s[1], low, high))
		return 0;
	for (size_t i = 2; i < bytes; i++)
		if (!continues(s[i], 0x80, 0xbf))
			return 0;
	return bytes;
}

bool hy_utf8_valid(const char *text, size_t length)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t at = 0, bytes;

	while (at < length) {
		bytes = hy_utf8_character(s + at, length - at);
		if (!bytes)
			return false;
		at += bytes;
	}
	return true;
}
