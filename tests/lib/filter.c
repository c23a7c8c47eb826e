// SPDX-License-Identifier: MIT
/* TEST_FILTER=pattern, as run_tests.sh sets it for T=: choose tests by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void choose_tests(void)
{
	const char *pattern = getenv("TEST_FILTER");

	if (pattern && *pattern)
		cmocka_set_test_filter(pattern);
}
