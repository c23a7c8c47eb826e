/* SPDX-License-Identifier: MIT */
/* What is ready in a link goes into the other graph. */
#include <errno.h>

#include "core/drain.h"
#include "flow/bridge.h"

/* Nobody is there any more who could take it: not now and not later. */
static bool in_vain(int r)
{
	return r == -ESTALE || r == -ESHUTDOWN || r == -EINVAL;
}

static int cross_value(struct hy_bridge *b, const struct hy_held *held)
{
	struct hy_bridged value = {.type = held->type,
				   .word = held->word,
				   .error = held->error,
				   .hop = b->going.hop,
				   .any = 1};
	int r = hyphae_cell_set(b->inlet, &hy_bridged_type, &value);

	return r < 0 && !in_vain(r) ? r : 0;
}

static int cross_end(struct hy_bridge *b, const struct hy_held *end)
{
	struct hy_cell *inlet = hy_cell(b->inlet);
	int r;

	if (!inlet)
		return 0;
	if (end->kind == HYPHAE_COMPLETE)
		r = hyphae_cell_complete(b->inlet);
	else /* the message is there already, and takes no memory */
		r = hy_write(hy_graph_of(inlet), b->inlet, &hy_bridged_type,
			     LOG_FAIL, 0, hy_error_ref(end->error));
	return r < 0 && !in_vain(r) ? r : 0;
}

/* 0, and nothing is left, or what stopped it. */
static int cross(struct hy_bridge *b)
{
	struct hy_pile *pile = &b->going.values;
	int r = 0;

	while (!r && pile->first < pile->count) {
		r = cross_value(b, &pile->items[pile->first]);
		if (!r)
			hy_held_drop(&pile->items[pile->first++]);
	}
	if (r)
		return r;
	pile->first = pile->count = 0;
	if (b->going.end.type)
		r = cross_end(b, &b->going.end);
	if (!r)
		hy_held_drop(&b->going.end);
	return r;
}

/* What is ready, less what is still going from the time before; locked. */
static struct hy_bridge *take_ready(struct hy_link *link)
{
	struct hy_bridge *list = NULL, *b;

	while ((b = link->ready)) {
		struct hy_crossing empty = b->going;

		link->ready = b->next_ready;
		b->in_ready = false;
		b->next_going = list;
		list = b;
		if (!hy_crossing_empty(&b->going))
			continue;
		b->going = b->ready;
		empty.hop = 0;
		b->ready = empty;
	}
	return list;
}

/* The batch is over: who has something left comes once more. */
static void put_back(struct hy_link *link, struct hy_bridge *list)
{
	struct hy_bridge *b = list, *next;

	for (; b; b = next) {
		next = b->next_going;
		pthread_mutex_lock(&link->hub->lock);
		if (!hy_crossing_empty(&b->going) ||
		    !hy_crossing_empty(&b->ready))
			hy_bridge_make_ready(b);
		pthread_mutex_unlock(&link->hub->lock);
		hy_bridge_put(b);
	}
}

static void discard(struct hy_bridge *list)
{
	for (; list; list = list->next_going) {
		hy_pile_clear(&list->going.values);
		hy_held_drop(&list->going.end);
	}
}

/*
 * What stopped it, if it was on our side.  What subscribers there return is
 * the business of that graph, but for a loop, of which we may be a part.
 */
static int deliver(struct hy_link *link, struct hy_bridge *list, bool *ret_loop)
{
	int r = hyphae_batch_begin(link->target), one;

	if (r == -ESTALE) {
		discard(list);
		return 0;
	}
	if (r)
		return r;
	for (; list; list = list->next_going) {
		one = cross(list);
		r = r ? r : one;
	}
	if (hyphae_batch_end(link->target) == -ELOOP)
		*ret_loop = true;
	return r;
}

int hy_link_deliver(struct hy_job *job)
{
	struct hy_link *link = container_of(job, struct hy_link, deliver);
	struct hy_bridge *list;
	bool loop = false;
	int r = 0;

	for (;;) {
		pthread_mutex_lock(&link->hub->lock);
		list = r ? NULL : take_ready(link);
		if (!list)
			link->state = LINK_IDLE;
		pthread_mutex_unlock(&link->hub->lock);
		if (!list)
			break;
		r = deliver(link, list, &loop);
		put_back(link, list);
	}
	hy_link_put(link);
	return !r && loop ? -ELOOP : r;
}
