/* SPDX-License-Identifier: MIT */
#include "core/link.h"

#include <string.h>

#include "base/alloc.h"
#include "core/lazy.h"
#include "core/queue.h"
#include "core/release.h"
#include "core/slab.h"
#include "core/sync.h"

/* ---- lists of cells ------------------------------------------------------ */

bool hy_list_enlarge(struct hy_graph *g, struct hy_list *list, size_t want)
{
	struct hy_cell **cells =
		hy_enlarge_in(g->region, list->cells, &list->capacity, want,
			      sizeof(struct hy_cell *));

	if (cells)
		list->cells = cells;
	return cells;
}

void hy_list_add(struct hy_list *list, struct hy_cell *c)
{
	c->refs++;
	list->cells[list->count++] = c;
}

bool hy_stack_room(struct hy_graph *g, size_t edges)
{
	struct hy_eager_entry *stack;

	if (!(g->flags & HYPHAE_EAGER))
		return true;
	stack = hy_reserve_in(g->region, g->stack, &g->stack_capacity,
			      g->nedges + edges + g->ncells + 2 + g->nstack,
			      sizeof(*stack));
	if (stack)
		g->stack = stack;
	return stack;
}

/* ---- the inputs of one cell ------------------------------------------------ */

/* Of which its operator asks what it brought. */
static bool has_news(const struct hy_derived *d)
{
	return d->cell.flags & F_SIGNALS && !(d->op->flags & OP_BLIND);
}

/*
 * Slots are quicker than blocks; not where chunks are scarce, or what is on the
 * heap is to be seen.
 */
static inline bool has_small(const struct hy_graph *g)
{
	return !g->region && !(g->flags & HYPHAE_HEAP_CELLS);
}

/* What lies behind the edges; without sets the marks need not be aligned. */
static inline size_t marks_and_sets(const struct hy_derived *d, size_t capacity)
{
	size_t words;

	if (!has_news(d))
		return capacity;
	words = (capacity + 7) / 8 + hy_bits_words(capacity);
	if (d->op->flags & OP_DYNAMIC)
		words += hy_bits_words(capacity);
	return words * sizeof(uint64_t);
}

static struct hy_fan_in *fan_in_new(struct hy_graph *g,
				    const struct hy_derived *d, uint32_t count,
				    uint32_t capacity)
{
	const void **values;
	size_t bytes = capacity * (sizeof(*values) + sizeof(struct hy_edge)) +
		       sizeof(struct hy_fan_in) + marks_and_sets(d, capacity);
	bool small = bytes <= HY_SMALL_INPUTS && has_small(g);
	struct hy_fan_in *in;

	values = small ? hy_slot_new(g, HY_CHUNK_INPUTS)
		       : hy_zalloc_in(g->region, bytes);
	if (!values)
		return NULL;
	in = (struct hy_fan_in *)(values + capacity);
	in->small = small;
	in->count = count;
	in->capacity = capacity;
	return in;
}

static void fan_in_take(struct hy_derived *d, struct hy_fan_in *in)
{
	d->fan_in = in;
	d->values = hy_fan_in_values(in);
	d->marks = hy_fan_in_marks(in);
}

bool hy_fan_in_make(struct hy_graph *g, struct hy_derived *d, uint32_t count,
		    uint32_t capacity)
{
	struct hy_fan_in *in = fan_in_new(g, d, count, capacity);

	d->fan_in = NULL;
	if (in)
		fan_in_take(d, in);
	return in;
}

/* Of OP_BLIND, whose sets are none. */
#define READY 2
_Static_assert(READY *(sizeof(void *) + sizeof(struct hy_edge) + 1) +
			       sizeof(struct hy_fan_in) <=
		       HY_SMALL_INPUTS,
	       "so many fit a slot");

void hy_fan_in_make_ready(struct hy_graph *g, struct hy_derived *d)
{
	const void **values = hy_slot_pop(g, HY_CHUNK_INPUTS);
	struct hy_fan_in *in = (struct hy_fan_in *)(values + READY);

	*in = (struct hy_fan_in){.capacity = READY, .small = 1};
	for (int i = 0; i < READY; i++)
		in->edges[i].held = 0; /* see hy_edge_own() */
	fan_in_take(d, in);
	memset(d->marks, 0, READY);
}

static void fan_in_free(struct hy_graph *g, struct hy_fan_in *in)
{
	if (in->small)
		hy_slot_free(g, hy_fan_in_values(in));
	else
		hy_free(hy_fan_in_values(in));
}

void hy_fan_in_free(struct hy_graph *g, struct hy_derived *d)
{
	if (d->fan_in)
		fan_in_free(g, d->fan_in);
}

/* Count the input in or out, if that differs from what was counted. */
static void count_mark(uint32_t *counter, unsigned char *mark, uint32_t bit,
		       bool now)
{
	if (now == ((*mark & bit) != 0))
		return;
	*counter += now ? 1 : -1u;
	*mark ^= (unsigned char)bit;
}

void hy_fan_in_note(struct hy_derived *d, uint32_t i, uint32_t brought)
{
	struct hy_fan_in *in = d->fan_in;
	const struct hy_cell *input = in->edges[i].input;
	struct hy_cell *c = &d->cell;
	unsigned char *mark = &d->marks[i];
	bool without = input->flags & F_NO_VALUE;

	/* The end of an event does not bring what it emitted long before. */
	if (input->flags & F_EVENT && !(brought & MARK_VALUE))
		without |= *mark & MARK_WITHOUT;
	count_mark(&in->without, mark, MARK_WITHOUT, without);
	count_mark(&in->ended, mark, MARK_ENDED, input->flags & F_ENDED);
	d->values[i] = hy_value_of(input);
	if (!(c->flags & F_SIGNALS))
		hy_flags_set(c, in->without ? F_BLOCKED : 0, F_BLOCKED);
	else if (brought && has_news(d))
		hy_news_add(d, i, brought);
	if (in->ended)
		hy_flags_set(c, F_INPUT_ENDED, 0);
}

/* An event that is over is nothing that is held. */
void hy_fan_in_begin(struct hy_derived *d, uint32_t i)
{
	struct hy_fan_in *in = d->fan_in;
	const struct hy_cell *input = in->edges[i].input;
	uint32_t brought = input->flags & F_ENDED ? MARK_END : 0;

	if (!(input->flags & F_NONE) &&
	    (!(input->flags & F_EVENT) || input->flags & F_ERROR))
		brought |= MARK_VALUE;
	hy_fan_in_note(d, i, brought);
	if (!(input->flags & F_EVENT))
		return;
	count_mark(&in->without, &d->marks[i], MARK_WITHOUT, true);
	if (!(d->cell.flags & F_SIGNALS))
		hy_flags_set(&d->cell, F_BLOCKED, 0);
}

void hy_edge_link(struct hy_graph *g, struct hy_edge *e,
		  struct hy_derived *owner, struct hy_cell *input)
{
	hy_edge_own(e, owner);
	hy_edge_put_in(g, e, input);
	if ((owner->cell.flags & F_SIGNALS && !(owner->op->flags & OP_BLIND)) ||
	    e->held & HY_HELD_ERROR)
		hy_flags_set(input, F_TELLS, 0);
	input->refs++;
	hy_targeted(g, input);
}

/* The edge lies elsewhere now; it is linked. */
static void edge_moved(struct hy_edge *to, const struct hy_edge *from)
{
	struct hy_cell *input = to->input;

	if (!input)
		return;
	if (input->deps == from)
		input->deps = to;
	else
		to->prev->next = to;
	if (to->next)
		to->next->prev = to;
	else
		input->deps->prev = to; /* I1; to->prev of the only one, too */
}

static void copy_set(uint64_t *to, const struct hy_fan_in *in,
		     const uint64_t *from, const struct hy_fan_in *old)
{
	size_t n = old->capacity;

	for (size_t i = 0; (i = hy_bits_next(from, n, i)) < n; i++)
		hy_bits_add(to, in->capacity, i);
}

static bool fan_in_grow(struct hy_graph *g, struct hy_derived *d, uint32_t want)
{
	struct hy_fan_in *old = d->fan_in, *in;
	uint32_t capacity = old->capacity * 2 > want ? old->capacity * 2 : want;

	if (want <= old->capacity)
		return true;
	if (want > HYPHAE_INPUTS_MAX)
		return false;
	in = fan_in_new(g, d, old->count, capacity);
	if (!in)
		return false;
	in->running = old->running;
	in->again = old->again;
	in->without = old->without;
	in->ended = old->ended;
	memcpy(hy_fan_in_values(in), d->values,
	       old->count * sizeof(*d->values));
	memcpy(hy_fan_in_marks(in), d->marks, old->count);
	if (has_news(d)) {
		copy_set(hy_news(in), in, hy_news(old), old);
		copy_set(hy_holes(in), in, hy_holes(old), old);
	}
	/* One after the other: they may be neighbours in the same list. */
	for (uint32_t i = 0; i < in->count; i++) {
		in->edges[i] = old->edges[i];
		edge_moved(&in->edges[i], &old->edges[i]);
	}
	fan_in_take(d, in);
	fan_in_free(g, old);
	return true;
}

/* A slot without an input, perhaps the one behind the last. */
static int free_slot(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_fan_in *in = d->fan_in;
	size_t hole = hy_bits_next(hy_holes(in), in->capacity, 0);

	if (hole < in->count)
		return (int)hole;
	/* A larger one takes its place. */
	if (!fan_in_grow(g, d, in->count + 1))
		return -ENOMEM;
	return (int)d->fan_in->count;
}

static void take_slot(struct hy_fan_in *in, uint32_t i)
{
	if (i == in->count)
		in->count++;
	else
		hy_bits_remove(hy_holes(in), in->capacity, i);
}

/* An input has gone: the slot is free, and no free slot is the last. */
static void give_slot(struct hy_derived *d, uint32_t i)
{
	struct hy_fan_in *in = d->fan_in;
	bool holes = has_news(d);

	if (holes && i + 1 < in->count)
		hy_bits_add(hy_holes(in), in->capacity, i);
	while (in->count && !in->edges[in->count - 1].input) {
		in->count--;
		if (holes)
			hy_bits_remove(hy_holes(in), in->capacity, in->count);
	}
}

static void slot_fill(struct hy_graph *g, struct hy_derived *d, uint32_t i,
		      struct hy_cell *input)
{
	hy_edge_link(g, &d->fan_in->edges[i], d, input);
	hy_fan_in_begin(d, i);
}

int hy_link_add(struct hy_graph *g, struct hy_derived *d, struct hy_cell *input,
		bool *ret_raised)
{
	uint32_t height = d->cell.height;
	bool room = hy_more_refs(input) && hy_stack_room(g, 1);
	int i = room ? free_slot(g, d) : -ENOMEM, r;

	if (i < 0)
		return i;
	r = hy_raise(g, d, input);
	if (r)
		return r;
	take_slot(d->fan_in, (uint32_t)i);
	if (d->cell.height != height)
		*ret_raised = true;
	hy_flags_set(&d->cell, 0, F_AGAIN);
	slot_fill(g, d, (uint32_t)i, input);
	return i;
}

static bool contains(const struct hy_list *list, const struct hy_cell *c)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->cells[i] == c)
			return true;
	return false;
}

bool hy_link_later(struct hy_graph *g, struct hy_derived *d)
{
	if (contains(&g->again, &d->cell) || d->cell.flags & F_DEAD)
		return true; /* it has not been tried again yet, or never is */
	if (d->cell.flags & F_AGAIN) {
		hy_flags_set(&d->cell, 0, F_AGAIN);
		return false;
	}
	hy_flags_set(&d->cell, F_AGAIN, 0);
	hy_list_add(&g->again, &d->cell);
	g->left = true;
	return true;
}

bool hy_link_again(struct hy_graph *g)
{
	for (size_t i = 0; i < g->again.count; i++) {
		struct hy_cell *c = g->again.cells[i];

		if (!(c->flags & (F_DEAD | F_ENDED)))
			hy_queue_push(&g->queue, hy_derived_of(c),
				      F_VALUE_TOUCH);
		hy_cell_put(g, c);
	}
	g->again.count = 0;
	return hy_queue_used(&g->queue);
}

/* Returns the input, if there was one, for the caller to give back. */
static struct hy_cell *slot_clear(struct hy_graph *g, struct hy_derived *d,
				  uint32_t i)
{
	struct hy_fan_in *in = d->fan_in;
	struct hy_cell *input = in->edges[i].input;

	count_mark(&in->without, &d->marks[i], MARK_WITHOUT, false);
	count_mark(&in->ended, &d->marks[i], MARK_ENDED, false);
	if (has_news(d))
		hy_bits_remove(hy_news(in), in->capacity, i);
	d->marks[i] = 0;
	d->values[i] = NULL;
	if (input)
		hy_edge_unlink(g, &in->edges[i]);
	return input;
}

void hy_link_remove(struct hy_graph *g, struct hy_derived *d, uint32_t i)
{
	struct hy_cell *input;

	if (g->freeing) /* no links are mended */
		return;
	input = slot_clear(g, d, i);
	if (!input)
		return;
	give_slot(d, i);
	hy_cell_put(g, input);
}

bool hy_must_settle(struct hy_graph *g, struct hy_derived *d)
{
	if (!hy_queue_used(&g->queue) ||
	    hy_queue_lowest(&g->queue) >= d->cell.height)
		return false;
	hy_queue_push(&g->queue, d, F_VALUE_TOUCH);
	g->left = true; /* when it is made, no wave is under way */
	return true;
}

/*
 * An input takes the place of the one that was read there the last time, and
 * the links behind it stay.  Returns how many of `cells` have their place.
 */
static uint32_t relink_in_place(struct hy_graph *g, struct hy_derived *d,
				uint32_t keep, struct hy_cell *const *cells,
				uint32_t count)
{
	struct hy_fan_in *in = d->fan_in;
	uint32_t i;

	for (i = 0; i < count && keep + i < in->count; i++) {
		struct hy_cell *old = in->edges[keep + i].input;

		if (old == cells[i])
			continue;
		if (hy_raise(g, d, cells[i]))
			break;
		slot_clear(g, d, keep + i);
		slot_fill(g, d, keep + i, cells[i]);
		if (old)
			hy_cell_put(g, old);
	}
	return i;
}

int hy_relink(struct hy_graph *g, struct hy_derived *d, uint32_t keep,
	      struct hy_cell *const *cells, uint32_t count, bool *ret_raised)
{
	uint32_t height = d->cell.height, placed;
	int result = 0;

	if (!hy_stack_room(g, count) || !fan_in_grow(g, d, keep + count))
		return -ENOMEM;
	placed = relink_in_place(g, d, keep, cells, count);
	keep += placed;
	cells += placed;
	count -= placed;
	/* They are referenced by the caller: none dies in between. */
	for (uint32_t i = d->fan_in->count; i-- > keep;)
		hy_link_remove(g, d, i);
	d->fan_in->count = keep;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = d->fan_in->count;
		int r = hy_raise(g, d, cells[i]);

		if (r) {
			result = r;
			continue;
		}
		d->fan_in->count++;
		slot_fill(g, d, at, cells[i]);
	}
	*ret_raised = d->cell.height != height;
	return result;
}

/* What has more to it than to be told of changes, or is told that it is read. */
#define F_UNUSUAL_INPUT                                                        \
	(F_DEAD | F_NO_VALUE | F_ENDED | F_EVENT | F_LAZY | F_HOOKS)

static bool are_usual(struct hy_cell *const *cells, uint32_t count,
		      uint32_t height)
{
	for (uint32_t i = 0; i < count; i++)
		if (cells[i]->flags & F_UNUSUAL_INPUT ||
		    cells[i]->height >= height)
			return false;
	return true;
}

int hy_link_first(struct hy_graph *g, struct hy_derived *d,
		  struct hy_cell *const *cells, uint32_t count)
{
	struct hy_fan_in *in;

	if (g->flags & HYPHAE_EAGER || !are_usual(cells, count, d->cell.height))
		return 0;
	if (!fan_in_grow(g, d, count))
		return -ENOMEM;
	in = d->fan_in;
	for (uint32_t i = 0; i < count; i++) {
		struct hy_cell *c = cells[i];

		hy_edge_own(&in->edges[i], d);
		hy_edge_put_in(g, &in->edges[i], c);
		store_relaxed(&c->targets, c->targets + 1);
		d->values[i] = hy_value_of(c);
	}
	in->count = count;
	return 1;
}

/* ---- heights ---------------------------------------------------------------- */

/*
 * Cells whose height has to grow, lowest first: heights are a topological
 * order, so each is reached once, after everything above it that grows too.
 * (The idea of Incremental's adjust-heights heap.)  Kept until the end, so
 * that a cycle can be undone: the heap lies in front, the done behind it.
 */
struct hy_raised {
	struct hy_cell *cell;
	uint32_t was; /* its height before */
};

struct raise {
	struct hy_raised *heap;
	size_t count; /* in the heap */
	size_t done;  /* from here on, at the end of the room in use */
	size_t room;
};

static void heap_up(struct hy_raised *heap, size_t at)
{
	struct hy_raised item = heap[at];

	while (at && heap[(at - 1) / 2].was > item.was) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = item;
}

static void heap_down(struct hy_raised *heap, size_t count)
{
	struct hy_raised item = heap[0];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && heap[child + 1].was < heap[child].was)
			child++;
		if (heap[child].was >= item.was)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = item;
}

/* The done grow from the end of the room towards the heap. */
static bool raise_room(struct hy_graph *g, struct raise *r)
{
	size_t ndone = r->room - r->done;
	struct hy_raised *bigger;

	if (r->count < r->done)
		return true;
	bigger = hy_reserve_in(g->region, g->raised, &g->raised_capacity,
			       r->room + 1, sizeof(*bigger));
	if (!bigger)
		return false;
	g->raised = r->heap = bigger;
	memmove(bigger + g->raised_capacity - ndone, bigger + r->done,
		ndone * sizeof(*bigger));
	r->room = g->raised_capacity;
	r->done = r->room - ndone;
	return true;
}

/* The cell shall be higher than `above`; note it if that is a change. */
static bool raise_over(struct hy_graph *g, struct raise *r, struct hy_cell *c,
		       uint32_t above)
{
	if (c->height > above)
		return true;
	if (!(c->flags & F_RAISING)) {
		if (!raise_room(g, r))
			return false;
		r->heap[r->count] = (struct hy_raised){c, c->height};
		heap_up(r->heap, r->count++);
		hy_flags_set(c, F_RAISING, 0);
	}
	store_relaxed(&c->height, above + 1);
	if (c->flags & F_QUEUED)
		hy_queue_raised(&g->queue);
	return true;
}

/* All are done, or all are as they were. */
static void raise_end(struct raise *r, bool undo)
{
	for (size_t i = 0; i < r->room; i++) {
		struct hy_raised *item = &r->heap[i];

		if (i >= r->count && i < r->done)
			continue;
		hy_flags_set(item->cell, 0, F_RAISING);
		if (undo)
			store_relaxed(&item->cell->height, item->was);
	}
}

struct raise_above {
	struct hy_graph *g;
	struct raise *r;
	uint32_t height;
};

static bool raise_one_above(struct hy_cell *c, void *ctx)
{
	struct raise_above *a = ctx;

	return raise_over(a->g, a->r, c, a->height);
}

/* What follows the cell, and what its operator made. */
static bool raise_targets(struct hy_graph *g, struct raise *r,
			  struct hy_cell *c)
{
	struct raise_above a = {g, r, c->height};
	struct hy_derived *d = hy_derived_of(c);

	for (struct hy_edge *e = c->deps; e; e = e->next)
		if (!raise_over(g, r, &hy_edge_owner(e)->cell, c->height))
			return false;
	return !d->op->above || d->op->above(d, raise_one_above, &a);
}

static int raise_all(struct hy_graph *g, struct raise *r, struct hy_cell *input)
{
	while (r->count) {
		struct hy_raised item = r->heap[0];

		r->heap[0] = r->heap[--r->count];
		heap_down(r->heap, r->count);
		r->heap[--r->done] = item;
		if (item.cell == input)
			return -ELOOP;
		if (!hy_queue_reserve(g->region, &g->queue, item.cell->height))
			return -ENOMEM;
		if (item.cell->height > g->max_height)
			g->max_height = item.cell->height;
		if (!raise_targets(g, r, item.cell))
			return -ENOMEM;
	}
	return 0;
}

int hy_raise(struct hy_graph *g, struct hy_derived *d, struct hy_cell *input)
{
	struct raise r = {.heap = g->raised,
			  .done = g->raised_capacity,
			  .room = g->raised_capacity};
	int result;

	if (&d->cell == input)
		return -ELOOP;
	if (d->cell.height > input->height)
		return 0;
	result = raise_over(g, &r, &d->cell, input->height)
			 ? raise_all(g, &r, input)
			 : -ENOMEM;
	raise_end(&r, result != 0);
	g->raises++;
	return result;
}
