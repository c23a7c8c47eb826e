/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "garden.h"

#define MILLISECOND 1000000

static void look(struct garden *garden)
{
	if (!pthread_equal(pthread_self(), garden->owner))
		garden->elsewhere = true;
	if (garden->is_done || garden->ticks < TICKS ||
	    garden->seen < WATERINGS)
		return;
	garden->is_done = true;
	garden->done(garden->ctx);
}

static int on_tick(const struct hyphae_timer_event *event, void *ctx)
{
	struct garden *garden = ctx;

	(void)event;
	garden->ticks++;
	look(garden);
	return 0;
}

static int on_water(const struct hyphae_signal *signal, void *ctx)
{
	struct garden *garden = ctx;

	garden->seen = hyphae_int64_of(signal);
	look(garden);
	return 0;
}

/* Another thread: it leaves values, and the loop's thread takes them. */
static void *water(void *ctx)
{
	struct garden *garden = ctx;

	for (int64_t i = 1; i <= WATERINGS; i++)
		if (hyphae_int64_post(garden->water, i))
			return garden;
	return NULL;
}

void garden_plant(struct garden *garden, void (*done)(void *ctx), void *ctx)
{
	alarm(60); /* a loop that does not end is a failure and not a hang */
	*garden = (struct garden){
		/* Only the loop's thread works in it. */
		.graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD),
		.owner = pthread_self(),
		.done = done,
		.ctx = ctx,
	};
	garden->water = hyphae_int64_new(garden->graph, 0);
	assert_non_null(garden->water);
	assert_non_null(hyphae_subscribe(garden->water, on_water, garden));
	assert_non_null(hyphae_timer_start(garden->graph, MILLISECOND,
					   MILLISECOND, on_tick, garden, NULL));
	assert_int_equal(pthread_create(&garden->gardener, NULL, water, garden),
			 0);
}

void garden_clear(struct garden *garden)
{
	void *failed = NULL;

	assert_int_equal(pthread_join(garden->gardener, &failed), 0);
	assert_null(failed);
	assert_true(garden->is_done);
	assert_false(garden->elsewhere);
	assert_true(garden->ticks >= TICKS);
	assert_int_equal(garden->seen, WATERINGS);
	assert_int_equal(hyphae_graph_free(garden->graph), 0);
	alarm(0);
}
