/* SPDX-License-Identifier: MIT */
#ifndef HY_UTF8_H
#define HY_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The bytes of the character at `s`, of which `left` (1 or more) are there;
 * 0: it is none.
 */
size_t hy_utf8_character(const unsigned char *s, size_t left);

/* Well-formed UTF-8 (Unicode 15, table 3-7): no overlong forms, no surrogates. */
bool hy_utf8_valid(const char *text, size_t length);

#endif
