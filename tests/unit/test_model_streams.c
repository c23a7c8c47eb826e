/* SPDX-License-Identifier: MIT */
/*
 * Random programs of operators with a state against a model of what the
 * headers say: see model_streams.h.  SEED=n starts from another seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model_streams.h"
#include "tests/lib/run.h"

#if defined(__SANITIZE_ADDRESS__)
#define PROGRAMS 9973
#else
#define PROGRAMS 100003
#endif

static void the_library_is_the_model(void **state)
{
	static const struct ms_plan plan = {.programs = PROGRAMS};

	(void)state;
	ms_run_programs(&plan, test_seed(83));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_library_is_the_model),
	};

	return cmocka_run_group_tests_name("model of streams", tests, NULL,
					   NULL);
}
