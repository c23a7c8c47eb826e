/* SPDX-License-Identifier: MIT */
/* How much memory; see bytes.h. */
#include "bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/lib/result.h"
#include "library.h"

static void tell(const char *name, const char *unit, double bytes,
		 double target, bool json)
{
	struct result result = {
		.bench = name,
		.what = "bytes",
		.unit = unit,
		.value = bytes,
		.target = target,
	};

	result_tell(&result, json);
}

static void measure(size_t count, bool json)
{
	struct library *library = library_new(HYPHAE_SINGLE_THREAD);
	double start, sources, derived, subscriptions;
	size_t i;

	library->sources = zeroed(count, sizeof(struct hyphae_cell *));
	/* Resident before the measurement: the handles are not counted. */
	touch_memory(library->sources, count * sizeof(struct hyphae_cell *));
	start = resident_bytes();
	for (i = 0; i < count; i++)
		library->sources[i] = must(hyphae_int64_new(library->graph, 0));
	sources = resident_bytes();
	for (i = 0; i < count; i++)
		library->sources[i] = derive(library->sources[i]);
	derived = resident_bytes();
	for (i = 0; i < count; i++)
		follow(library->sources[i]);
	subscriptions = resident_bytes();
	tell("bytes_source", "source", (sources - start) / (double)count, 64,
	     json);
	tell("bytes_derived", "cell", (derived - sources) / (double)count, 96,
	     json);
	tell("bytes_subscription", "subscription",
	     (subscriptions - derived) / (double)count, 32, json);
	library_close(library);
}

void speed_tell_bytes(size_t count, bool json)
{
	pid_t child;
	int status = 0;

	fflush(stdout);
	child = fork();
	if (child < 0)
		give_up("fork");
	if (!child) {
		measure(count, json);
		_exit(EXIT_SUCCESS);
	}
	if (waitpid(child, &status, 0) != child || status) {
		fprintf(stderr, "speed: measuring the bytes failed.\n");
		exit(EXIT_FAILURE);
	}
}
