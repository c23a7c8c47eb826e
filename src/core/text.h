/* SPDX-License-Identifier: MIT */
/* Text for people, made of what programs have put into names and values. */
#ifndef HY_TEXT_H
#define HY_TEXT_H

#include <stddef.h>

/* Where it goes: embed it, and provide the function. */
struct hy_text {
	void (*put)(struct hy_text *text, const char *bytes, size_t count);
};

enum hy_quoting {
	HY_QUOTE_C,   /* between double quotes */
	HY_QUOTE_DOT, /* in a label of Graphviz, between double quotes */
};

__attribute__((format(printf, 2, 3))) void hy_text_add(struct hy_text *text,
						       const char *format, ...);

/*
 * `bytes` so that they can be read whatever they are: printable UTF-8 as it
 * is, all else as \xNN.
 */
void hy_text_quote(struct hy_text *text, const char *bytes, size_t count,
		   enum hy_quoting quoting);

#endif
