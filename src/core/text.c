/* SPDX-License-Identifier: MIT */
#include "core/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/utf8.h"

void hy_text_add(struct hy_text *text, const char *format, ...)
{
	char line[256]; /* formats bring numbers and short words only */
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (length >= (int)sizeof(line))
		length = sizeof(line) - 1;
	if (length > 0)
		text->put(text, line, (size_t)length);
}

/* Control characters of ASCII, and of Latin 1, which are two bytes. */
static bool is_control(const unsigned char *s, size_t bytes)
{
	if (bytes == 1)
		return s[0] < 0x20 || s[0] == 0x7f;
	return bytes == 2 && s[0] == 0xc2 && s[1] < 0xa0;
}

static const char *escape_of(unsigned char byte, enum hy_quoting quoting)
{
	if (byte == '"')
		return "\\\"";
	if (byte == '\\')
		return "\\\\";
	/* Graphviz reads &name; as HTML does. */
	if (byte == '&' && quoting == HY_QUOTE_DOT)
		return "&amp;";
	return NULL;
}

void hy_text_quote(struct hy_text *text, const char *bytes, size_t count,
		   enum hy_quoting quoting)
{
	const unsigned char *s = (const unsigned char *)bytes;
	const unsigned char *end = s + count;

	while (s < end) {
		size_t size = hy_utf8_character(s, (size_t)(end - s));
		const char *escape = escape_of(*s, quoting);

		if (!size || is_control(s, size)) {
			/* A backslash of a label's is two. */
			hy_text_add(text, "%sx%02x",
				    quoting == HY_QUOTE_DOT ? "\\\\" : "\\",
				    *s);
			size = 1;
		} else if (escape) {
			text->put(text, escape, strlen(escape));
		} else {
			text->put(text, (const char *)s, size);
		}
		s += size;
	}
}
