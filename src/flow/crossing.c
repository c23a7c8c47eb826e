/* SPDX-License-Identifier: MIT */
/* Signals on their way over a bridge. */
#include <errno.h>

#include "base/alloc.h"
#include "flow/bridge.h"

static int pile_reserve(struct hy_pile *pile, size_t more)
{
	struct hy_held *items;

	items = hy_reserve(pile->items, &pile->capacity, pile->count + more,
			   sizeof(*items));
	if (!items)
		return -ENOMEM;
	pile->items = items;
	return 0;
}

void hy_pile_clear(struct hy_pile *pile)
{
	while (pile->first < pile->count)
		hy_held_drop(&pile->items[pile->first++]);
	pile->first = pile->count = 0;
}

void hy_crossing_done(struct hy_crossing *x)
{
	hy_pile_clear(&x->values);
	hy_free(x->values.items);
	hy_held_drop(&x->end);
}

bool hy_crossing_empty(const struct hy_crossing *x)
{
	return x->values.first == x->values.count && !x->end.type;
}

int hy_crossing_add(struct hy_crossing *x, bool event,
		    const struct hy_held *held, uint32_t hop,
		    struct hy_held *ret_old)
{
	struct hy_pile *pile = &x->values;

	if (x->hop < hop)
		x->hop = hop;
	if (held->terminal) {
		*ret_old = x->end;
		x->end = *held;
		return 0;
	}
	if (pile->count && !event) {
		*ret_old = pile->items[0];
		pile->items[0] = *held;
		return 0;
	}
	if (pile_reserve(pile, 1))
		return -ENOMEM;
	pile->items[pile->count++] = *held;
	return 0;
}

/* Only the newest counts. */
static int move_cell(struct hy_pile *to, struct hy_pile *from)
{
	struct hy_held old;

	if (!from->count)
		return 0;
	if (!to->count) {
		struct hy_pile empty = *to;

		*to = *from;
		*from = empty;
		return 0;
	}
	old = to->items[0];
	to->items[0] = from->items[0];
	from->items[0] = old;
	return 0;
}

static int move_events(struct hy_pile *to, struct hy_pile *from)
{
	if (from->count && pile_reserve(to, from->count))
		return -ENOMEM;
	for (size_t i = 0; i < from->count; i++)
		to->items[to->count++] = from->items[i];
	from->count = 0;
	return 0;
}

int hy_crossing_move(struct hy_crossing *to, struct hy_crossing *from,
		     bool event)
{
	int r = event ? move_events(&to->values, &from->values)
		      : move_cell(&to->values, &from->values);

	if (r)
		return r;
	if (to->hop < from->hop)
		to->hop = from->hop;
	if (from->end.type)
		to->end = from->end; /* there is one end to each bridge */
	from->end = (struct hy_held){.type = NULL};
	from->hop = 0;
	return 0;
}
