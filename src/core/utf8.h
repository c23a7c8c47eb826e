/* SPDX-License-Identifier: MIT */
#ifndef HY_UTF8_H
#define HY_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Well-formed UTF-8 (Unicode 15, table 3-7): no overlong forms, no surrogates. */
bool hy_utf8_valid(const char *text, size_t length);

#endif
