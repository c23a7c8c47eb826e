/* SPDX-License-Identifier: MIT */
#include "core/wave.h"

#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "core/derive.h"
#include "core/probe.h"
#include "core/log.h"
#include "core/queue.h"
#include "core/release.h"
#include "core/watch.h"

/* ---- write_value ------------------------------------------------------ */

static NOINLINE uint64_t differs_by_function(struct hy_graph *g,
					     struct hy_cell *c,
					     const struct hyphae_type *type,
					     uint64_t word)
{
	struct hy_graph *saved;
	const void *held, *offered = &word;
	bool equal;

	if (c->flags & F_NO_VALUE)
		return 1;
	held = hy_value_of(c);
	if (c->flags & F_BOXED)
		offered = hy_box_of(word)->payload;
	if (!type->equal)
		return __builtin_memcmp(held, offered, type->size) != 0;
	saved = hy_guard_begin(g);
	equal = type->equal(held, offered);
	hy_guard_end(g, saved);
	return !equal;
}

static NOINLINE void store_slowly(struct hy_graph *g, struct hy_cell *c,
				  const struct hyphae_type *type, uint64_t word)
{
	struct hy_cold *cold = hy_cold_of(c);
	uint64_t old = c->word;

	store_release(&c->word, word);
	if (c->flags & F_NO_VALUE) {
		struct hy_error *error = cold->error;

		cold->error = NULL;
		hy_flags_set(c, F_TURNED, F_NO_VALUE);
		hy_error_unref(error);
	}
	if (c->flags & F_BOXED && old)
		hy_box_put(g, type, hy_box_of(old));
}

HY_FRAME uint64_t hy_write_value(struct hy_graph *g, struct hy_cell *c,
				 const struct hyphae_type *type, uint64_t word)
{
	uint64_t changed;

	if (likely(!(c->flags & (F_BOXED | F_EQUAL | F_NO_VALUE)))) {
		changed = c->word != word;
		if (changed) {
			store_release(&c->word, word);
			hy_flags_set(c, F_VALUE_NEW, 0);
		}
	} else {
		changed = differs_by_function(g, c, type, word);
		if (changed) {
			store_slowly(g, c, type, word);
			hy_flags_set(c, F_VALUE_NEW, 0);
		} else if (c->flags & F_BOXED) {
			hy_box_put(g, type, hy_box_of(word));
		}
	}
	hy_probe_write_value(g, c, type, changed);
	HY_FRAME_END();
	return changed;
}

static HY_FRAME void probe_error(struct hy_cell *c, int code,
				 const char *message)
{
	hy_probe_error(c->id, code, message, c->name);
}

void hy_set_error(struct hy_graph *g, struct hy_cell *c,
		  struct hy_error *error, bool terminal)
{
	struct hy_cold *cold = hy_cold_of(c);
	struct hy_error *old = cold->error;
	uint64_t word = c->word;

	if (!(c->flags & F_NO_VALUE))
		hy_flags_set(c, F_TURNED, 0);
	cold->error = error;
	hy_flags_set(c,
		     F_ERROR | (terminal ? F_FAILED | F_END_NEW : F_VALUE_NEW),
		     F_NONE);
	hy_error_unref(old);
	/* Nothing stale is kept: whoever comes back differs from nothing. */
	if (c->flags & F_BOXED && word) {
		c->word = 0;
		hy_box_put(g, c->type, hy_box_of(word));
	}
}

/* ---- fanout ------------------------------------------------------------ */

/* Queue a cell that an input touched; depth first if the wave is eager. */
static inline void touch(struct hy_graph *g, struct hy_derived *d, uint32_t why)
{
	if (likely(!g->depth_first)) {
		hy_queue_push(&g->queue, d, why);
		return;
	}
	g->stack[g->nstack++] = (struct hy_eager_entry){
		&d->cell, g->depth + 1, (uint16_t)why, 0};
}

/* A change of state, or of where the value lies: tell cells of many inputs. */
static void update_fan_in(struct hy_cell *c, struct hy_edge *e)
{
	struct hy_fan_in *in;

	if (!(e->owner->cell.flags & F_NARY))
		return;
	in = e->owner->fan_in;
	if (c->flags & F_TURNED)
		in->without += c->flags & F_NO_VALUE ? 1 : -1u;
	if (c->flags & F_END_NEW)
		in->ended++;
	in->values[e - in->edges] = hy_value_of(c);
}

static inline void spread(struct hy_graph *g, struct hy_cell *c)
{
	struct hy_edge *head = c->deps, *e;
	uint32_t why = F_VALUE_TOUCH;

	if (unlikely(c->flags & (F_BOXED | F_TURNED | F_END_NEW))) {
		if (!(c->flags & F_VALUE_NEW))
			why = 0;
		for (e = head; e; e = e->next)
			update_fan_in(c, e);
		hy_flags_set(c, 0, F_TURNED);
	}
	if (likely(!g->depth_first)) {
		for (e = head; e; e = e->next)
			touch(g, e->owner, why);
	} else if (head) {
		/* The last pushed is the first to run: back to front. */
		for (e = head->prev;; e = e->prev) {
			touch(g, e->owner, why);
			if (e == head)
				break;
		}
	}
}

static NOINLINE void returned(struct hy_graph *g, struct hy_sub *s, int r)
{
	char text[160];

	if (r > 0) {
		if (!(s->flags & SUB_DEAD))
			hy_sub_end(g, s);
		return;
	}
	if (!g->result)
		g->result = r;
	snprintf(text, sizeof(text),
		 "A subscriber (number %llu) returned error %d; the others "
		 "were called all the same.",
		 (unsigned long long)s->id, r);
	hy_problem(g, s->cell, r, text);
}

static inline void call(struct hy_graph *g, struct hy_sub *s,
			const struct hyphae_signal *signal)
{
	struct hy_graph *saved = hy_call_begin(g);
	int r = s->fn(signal, s->ctx);

	hy_call_end(g, saved);
	if (unlikely(r))
		returned(g, s, r);
}

void hy_call(struct hy_graph *g, struct hy_sub *s,
	     const struct hyphae_signal *signal)
{
	call(g, s, signal);
}

void hy_signal_error(struct hyphae_signal *signal, const struct hy_cell *c)
{
	const struct hy_error *error = hy_cold_of(c)->error;

	signal->kind = HYPHAE_ERROR;
	signal->value = NULL;
	signal->terminal = c->flags & F_FAILED;
	signal->code = error->code;
	signal->message = error->message;
}

static void end_signal(struct hyphae_signal *signal, const struct hy_cell *c)
{
	signal->terminal = true;
	signal->kind = HYPHAE_COMPLETE;
	signal->value = NULL;
	if (c->flags & F_FAILED)
		hy_signal_error(signal, c);
}

/* The signals of a fan-out that are not just one value. */
static NOINLINE void tell_slowly(struct hy_graph *g, struct hy_sub *s)
{
	struct hy_cell *c = s->cell;
	struct hyphae_signal signal;

	hy_signal_init(&signal, c);
	if (c->flags & F_VALUE_NEW) {
		if (c->flags & F_ERROR) {
			hy_signal_error(&signal, c);
			signal.terminal = false;
		}
		if (!(c->flags & (F_FAILED | F_NONE)))
			call(g, s, &signal);
	}
	if (c->flags & F_END_NEW && !(s->flags & SUB_DEAD)) {
		end_signal(&signal, c);
		call(g, s, &signal);
	}
}

static inline bool skipped(struct hy_sub *s)
{
	if (likely(!s->flags))
		return false;
	if (!(s->flags & SUB_DEAD))
		s->flags |= SUB_MISSED; /* starting on another thread */
	return true;
}

static inline void run_subscribers(struct hy_graph *g, struct hy_cell *c,
				   struct hy_sub *s, uint64_t last)
{
	bool plain = !(c->flags & (F_NO_VALUE | F_END_NEW));
	struct hyphae_signal signal;
	uint64_t called = 0;

	hy_signal_init(&signal, c);
	for (; s && s->id <= last; s = s->next) {
		if (unlikely(skipped(s)))
			continue;
		called++;
		if (likely(plain))
			call(g, s, &signal);
		else
			tell_slowly(g, s);
	}
	g->cursor = s;
	g->called = called;
}

/* Like run_subscribers(), with a clock around each call. */
static void time_subscribers(struct hy_graph *g, struct hy_sub *s,
			     uint64_t last)
{
	uint64_t called = 0, start;

	for (; s && s->id <= last; s = s->next) {
		hyphae_subscriber_fn fn = s->fn; /* gone if it ends itself */

		if (skipped(s))
			continue;
		called++;
		start = hy_clock_last(g);
		tell_slowly(g, s);
		hy_watch_subscriber(g, s, fn, hy_clock(g) - start);
	}
	g->cursor = s;
	g->called = called;
}

/* A part of a fan-out to subscribers while somebody watches: its duration. */
static uint64_t watched_part(struct hy_graph *g, struct hy_cell *c,
			     struct hy_sub *first, uint64_t last,
			     uint64_t start)
{
	if (hy_gate.detail)
		time_subscribers(g, first, last);
	else
		run_subscribers(g, c, first, last);
	return hy_clock(g) - start;
}

static NOINLINE void fanout_watched(struct hy_graph *g, struct hy_cell *c,
				    uint64_t height, struct hy_sub *first,
				    uint64_t last)
{
	uint64_t start = hy_clock_last(g), ns;

	if (!first) {
		spread(g, c);
		hy_watch_fanout(g, c, height, start, hy_clock(g) - start, 0);
		return;
	}
	ns = watched_part(g, c, first, last, start);
	if (!g->nfired || g->fired[0].cell != c || !g->cursor ||
	    g->cursor->id > g->deliver_limit) {
		hy_watch_fanout(g, c, height, start, ns, g->called);
	} else {
		/* More subscribers of this cell come later: see deliver(). */
		g->fired[0].spent_ns = ns;
		g->fired[0].start = start;
		g->fired[0].called = g->called;
	}
}

HY_FRAME void hy_fanout(struct hy_graph *g, struct hy_cell *c,
			const struct hyphae_type *type, uint64_t height,
			struct hy_sub *first, uint64_t last)
{
	hy_probe_fanout(g, c, type, height);
	if (hy_watched())
		fanout_watched(g, c, height, first, last);
	else if (first)
		run_subscribers(g, c, first, last);
	else
		spread(g, c);
	HY_FRAME_END();
}

struct hyphae_fanout_call {
	struct hy_graph *g;
	struct hy_cell *c;
	uint64_t height;
	struct hy_sub *first;
	uint64_t last;
};

HY_FRAME void hyphae_fanout_run(struct hyphae_fanout_call *f)
{
	hy_fanout(f->g, f->c, f->c->type, f->height, f->first, f->last);
	HY_FRAME_END();
}

/* Call subscribers, inside the type's own frame if it has one. */
static inline void fanout_subs(struct hy_graph *g, struct hy_cell *c,
			       uint64_t height, struct hy_sub *first,
			       uint64_t last)
{
	const struct hyphae_type *type = c->type;
	struct hyphae_fanout_call f = {g, c, height, first, last};

	if (unlikely(type->frame))
		type->frame(&f);
	else
		hy_fanout(g, c, type, height, first, last);
}

/* ---- deliver: subscribers, in order of subscription ----------------- */

/* The wave has told the cell's subscribers. */
static void told(struct hy_graph *g, struct hy_cell *c)
{
	bool ended = c->flags & F_END_NEW;
	struct hy_sub *s;

	hy_flags_set(c, 0, F_VALUE_NEW | F_END_NEW | F_TURNED);
	if (unlikely(ended))
		for (s = c->subs; s; s = s->next)
			if (!s->flags)
				hy_sub_end(g, s);
}

/* The newest id that this graph has given out. */
static uint64_t newest_id(const struct hy_graph *g)
{
	return g->id_next - 1;
}

static void sift_down(struct hy_fired *heap, size_t count, size_t at)
{
	struct hy_fired item = heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= count)
			break;
		if (child + 1 < count &&
		    heap[child + 1].next->id < heap[child].next->id)
			child++;
		if (heap[child].next->id >= item.next->id)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = item;
}

static bool in_order(const struct hy_graph *g)
{
	const struct hy_fired *f = g->fired;

	for (size_t i = 1; i < g->nfired; i++)
		if (f[i - 1].cell->subs->prev->id > f[i].next->id)
			return false;
	return true;
}

/* Continue a fan-out whose beginning other cells' subscribers cut short. */
static NOINLINE void resume_fanout(struct hy_graph *g, struct hy_cell *c,
				   struct hy_sub *first, uint64_t last)
{
	if (hy_watched()) {
		uint64_t ns = watched_part(g, c, first, last,
					   hy_clock_last(g));

		g->fired[0].spent_ns += ns;
		g->fired[0].called += g->called;
	} else {
		run_subscribers(g, c, first, last);
	}
}

/* The root of the heap runs until another cell's subscriber is older. */
static void deliver_merged(struct hy_graph *g)
{
	for (size_t i = g->nfired / 2; i-- > 0;)
		sift_down(g->fired, g->nfired, i);
	while (g->nfired) {
		struct hy_fired *f = g->fired;
		struct hy_cell *c = f->cell;
		uint64_t last = g->deliver_limit;

		for (size_t i = 1; i <= 2 && i < g->nfired; i++)
			if (f[i].next->id <= last)
				last = f[i].next->id - 1;
		if (!f->begun) {
			f->begun = true;
			fanout_subs(g, c, c->height, f->next, last);
		} else {
			resume_fanout(g, c, f->next, last);
		}
		f = g->fired; /* subscribing may have moved it */
		f->next = g->cursor;
		if (!f->next || f->next->id > g->deliver_limit) {
			if (f->start)
				hy_watch_fanout(g, c, c->height, f->start,
						f->spent_ns, f->called);
			told(g, c);
			*f = g->fired[--g->nfired];
			if (!g->nfired)
				break;
		}
		sift_down(g->fired, g->nfired, 0);
	}
}

static void deliver(struct hy_graph *g)
{
	g->deliver_limit = newest_id(g);
	if (g->nfired > 1 && !in_order(g)) {
		deliver_merged(g);
		return;
	}
	for (size_t i = 0; i < g->nfired; i++) {
		struct hy_cell *c = g->fired[i].cell;

		fanout_subs(g, c, c->height, g->fired[i].next, g->deliver_limit);
		told(g, c);
	}
	g->nfired = 0;
}

/* ---- compute ------------------------------------------------------------ */

/* Make the cell hold `code`; an equal error is no change. */
static void set_failure(struct hy_graph *g, struct hy_cell *c, int code)
{
	struct hy_error *held = hy_cold_of(c)->error;

	if (c->flags & F_ERROR && held->code == code && !*held->message)
		return;
	hy_set_error(g, c, hy_error_new(code, ""), false);
	probe_error(c, code, "");
}

static void inherit_error(struct hy_graph *g, struct hy_cell *c,
			  struct hy_cell *input)
{
	struct hy_error *error = hy_cold_of(input)->error;
	bool terminal = input->flags & F_FAILED;

	if (!terminal && c->flags & F_ERROR &&
	    hy_error_same(hy_cold_of(c)->error, error))
		return;
	hy_set_error(g, c, hy_error_ref(error), terminal);
}

/* The error has gone, and an input never had a value: nor has this cell. */
static void set_none(struct hy_graph *g, struct hy_cell *c)
{
	struct hy_error *error = hy_cold_of(c)->error;

	(void)g;
	hy_cold_of(c)->error = NULL;
	hy_flags_set(c, F_NONE | F_VALUE_NEW, F_ERROR);
	hy_error_unref(error);
}

/* The first input whose error stands in the way: failed for good, or not. */
static struct hy_cell *blocking_input(struct hy_derived *d)
{
	struct hy_edge *edges = hy_edges(d);
	struct hy_cell *found = NULL;

	for (uint32_t i = 0; i < hy_inputs(d); i++) {
		struct hy_cell *input = edges[i].input;

		if (input->flags & F_FAILED)
			return input;
		if (!found && input->flags & F_ERROR)
			found = input;
	}
	return found;
}

static bool inputs_have_values(struct hy_derived *d)
{
	return d->cell.flags & F_NARY ? !d->fan_in->without :
					!(d->one.input->flags & F_NO_VALUE);
}

static bool inputs_ended(struct hy_derived *d)
{
	return d->cell.flags & F_NARY ?
		       d->fan_in->ended >= d->fan_in->count :
		       (d->one.input->flags & F_ENDED) != 0;
}

/* The result of a computation that has to be looked at. */
struct result {
	int outcome;
	bool wrote; /* a value was compared and perhaps stored */
};

static NOINLINE struct result compute_boxed(struct hy_graph *g,
					    struct hy_derived *d)
{
	struct hy_cell *c = &d->cell;
	struct hy_box *box;
	int r;

	if (d->op == &hy_op_filter) {
		r = d->op->run(g, d, NULL);
		box = hy_box_of(d->one.input->word);
		if (r == HY_VALUE)
			hy_box_ref(box);
	} else {
		box = hy_box_take(c);
		if (!box)
			return (struct result){-ENOMEM, false};
		r = d->op->run(g, d, box->payload);
		if (r != HY_VALUE)
			hy_box_spare(c, box);
	}
	if (r != HY_VALUE)
		return (struct result){r, false};
	if (c->flags & F_DEAD) { /* released in its own function */
		hy_box_put(g, c->type, box);
		return (struct result){r, false};
	}
	hy_write_value(g, c, c->type, (uintptr_t)box);
	return (struct result){r, true};
}

/* The inputs have values: call the function, store what it makes. */
static inline struct result compute_value(struct hy_graph *g,
					  struct hy_derived *d)
{
	struct hy_cell *c = &d->cell;
	uint64_t word = 0;
	int r;

	if (unlikely(c->flags & F_BOXED))
		return compute_boxed(g, d);
	r = d->op->run(g, d, &word);
	if (r != HY_VALUE || unlikely(c->flags & F_DEAD))
		return (struct result){r, false};
	hy_write_value(g, c, c->type, word);
	return (struct result){r, true};
}

static void end_with_inputs(struct hy_graph *g, struct hy_derived *d)
{
	hy_flags_set(&d->cell, F_COMPLETE | F_END_NEW, 0);
	hy_unlink_inputs(g, d);
}

/* No function runs: an input has no value, or did nothing but end. */
static NOINLINE bool follow(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_cell *c = &d->cell;
	struct hy_cell *bad;

	if (c->flags & (F_DEAD | F_ENDED))
		return false;
	if (!inputs_have_values(d)) {
		bad = blocking_input(d);
		if (bad)
			inherit_error(g, c, bad);
		else if (c->flags & F_ERROR)
			set_none(g, c);
	}
	if (c->flags & F_FAILED)
		hy_unlink_inputs(g, d);
	else if (inputs_ended(d))
		end_with_inputs(g, d);
	return c->flags & (F_VALUE_NEW | F_END_NEW);
}

static inline struct result compute_any(struct hy_graph *g,
					struct hy_derived *d)
{
	struct hy_cell *c = &d->cell;
	struct result result = compute_value(g, d);

	if (unlikely(c->flags & F_DEAD))
		return result;
	if (unlikely(result.outcome < 0))
		set_failure(g, c, result.outcome);
	if (unlikely(inputs_ended(d)))
		end_with_inputs(g, d);
	return result;
}

static NOINLINE void compute_watched(struct hy_graph *g, struct hy_derived *d)
{
	uint64_t start = hy_clock_last(g);
	struct result result = compute_any(g, d);

	hy_watch_compute(g, d, start, hy_clock(g), result.outcome, result.wrote,
			 d->cell.flags & F_VALUE_NEW);
}

HY_FRAME bool hy_compute(struct hy_graph *g, struct hy_derived *d)
{
	uint32_t flags = d->cell.flags;

	hy_flags_set(&d->cell, 0, F_QUEUED | F_VALUE_TOUCH);
	if (unlikely((flags & (F_DEAD | F_ENDED | F_VALUE_TOUCH)) !=
		     F_VALUE_TOUCH) ||
	    unlikely(!inputs_have_values(d)))
		return follow(g, d);
	hy_probe_compute(g, &d->cell, d->op);
	if (hy_watched())
		compute_watched(g, d);
	else
		compute_any(g, d);
	HY_FRAME_END();
	flags = d->cell.flags;
	return flags & (F_VALUE_NEW | F_END_NEW) && !(flags & F_DEAD);
}

/* ---- the wave ------------------------------------------------------------ */

/* I7: there is room. */
static inline void fired_add(struct hy_graph *g, struct hy_cell *c)
{
	g->fired[g->nfired++] = (struct hy_fired){.cell = c, .next = c->subs};
}

/* A cell changed: its derived cells are queued; subscribers wait. */
static inline void fire(struct hy_graph *g, struct hy_cell *c)
{
	if (c->subs) {
		spread(g, c);
		fired_add(g, c);
	} else {
		hy_fanout(g, c, c->type, c->height, NULL, 0);
		hy_flags_set(c, 0, F_VALUE_NEW | F_END_NEW);
	}
}

static void wave(struct hy_graph *g)
{
	struct hy_derived *d;

	while ((d = hy_queue_pop(&g->queue)))
		if (hy_compute(g, d))
			fire(g, &d->cell);
	if (g->nfired)
		deliver(g);
}

/* ---- depth first --------------------------------------------------------- */

static void eager_fire(struct hy_graph *g, struct hy_cell *c,
		       uint32_t depth)
{
	g->depth = depth;
	if (c->subs) {
		g->stack[g->nstack++] = (struct hy_eager_entry){c, depth, 0, 1};
		spread(g, c);
	} else {
		hy_fanout(g, c, c->type, depth, NULL, 0);
		hy_flags_set(c, 0, F_VALUE_NEW | F_END_NEW);
	}
}

static void eager_run(struct hy_graph *g, struct hy_cell *source)
{
	g->depth_first = true;
	eager_fire(g, source, 0);
	while (g->nstack) {
		struct hy_eager_entry e = g->stack[--g->nstack];

		hy_flags_set(e.cell, e.why, 0);
		if (e.subs) {
			g->deliver_limit = newest_id(g);
			fanout_subs(g, e.cell, e.depth, e.cell->subs,
				    g->deliver_limit);
			told(g, e.cell);
		} else if (hy_compute(g, hy_derived_of(e.cell))) {
			eager_fire(g, e.cell, e.depth);
		}
	}
	g->depth_first = false;
}

/* ---- notify --------------------------------------------------------------- */

static void fail_source(struct hy_graph *g, struct hy_cell *c,
			struct hy_error *error)
{
	hy_set_error(g, c, error, true);
	probe_error(c, error->code, error->message);
}

static NOINLINE void end_source(struct hy_graph *g, struct hy_cell *c,
				uint64_t kind, uint64_t word)
{
	if (kind == HYPHAE_COMPLETE)
		hy_flags_set(c, F_COMPLETE | F_END_NEW, 0);
	else
		fail_source(g, c, (struct hy_error *)(uintptr_t)word);
}

/* A source changed: run what follows, or note it for the flush. */
static inline void notified(struct hy_graph *g, struct hy_cell *c)
{
	if (unlikely(g->gathering)) {
		if (!(c->flags & F_GATHERED)) {
			hy_flags_set(c, F_GATHERED, 0);
			g->gathered[g->ngathered++] = c;
		}
	} else if (likely(!c->deps && c->subs)) {
		g->deliver_limit = newest_id(g);
		fanout_subs(g, c, 0, c->subs, g->deliver_limit);
		told(g, c);
	} else if (g->flags & HYPHAE_EAGER) {
		eager_run(g, c);
	} else {
		fire(g, c);
		wave(g);
	}
}

HY_FRAME int hy_notify(struct hy_graph *g, struct hy_cell *c,
		       const struct hyphae_type *type, uint64_t kind,
		       uint64_t word)
{
	uint64_t news = 1;

	hy_probe_notify(g, c, kind);
	if (likely(kind == HYPHAE_VALUE))
		news = hy_write_value(g, c, type, word);
	else
		end_source(g, c, kind, word);
	if (hy_watched())
		hy_watch_notify(g, c, kind, news);
	if (news)
		notified(g, c);
	HY_FRAME_END();
	return news ? 0 : HYPHAE_UNCHANGED;
}

static void flush_entry(struct hy_graph *g, struct hy_log_entry *entry)
{
	struct hy_cell *c = entry->cell;

	if (c->flags & F_ENDED) { /* by another log, before this one */
		if (entry->what & LOG_VALUE && c->flags & F_BOXED)
			hy_box_put(g, c->type, hy_box_of(entry->word));
		hy_error_unref(entry->error);
		entry->what = 0;
		return;
	}
	if (entry->what & LOG_VALUE)
		hy_notify(g, c, c->type, HYPHAE_VALUE, entry->word);
	if (entry->what & LOG_COMPLETE)
		hy_notify(g, c, c->type, HYPHAE_COMPLETE, 0);
	if (entry->what == LOG_FAIL)
		hy_notify(g, c, c->type, HYPHAE_ERROR,
			  (uintptr_t)entry->error);
}

static void fire_gathered(struct hy_graph *g)
{
	g->gathering = false;
	for (size_t i = 0; i < g->ngathered; i++) {
		hy_flags_set(g->gathered[i], 0, F_GATHERED);
		fire(g, g->gathered[i]);
	}
	g->ngathered = 0;
	wave(g);
}

/*
 * An error takes the place of the value that was written before it in the
 * same log; so that nobody misses that value, the error is a second wave.
 */
static void fail_after_value(struct hy_graph *g, struct hy_log *log)
{
	bool any = false;

	g->gathering = true;
	for (size_t i = 0; i < log->count; i++) {
		struct hy_log_entry *entry = &log->entries[i];

		if (entry->what != (LOG_VALUE | LOG_FAIL))
			continue;
		any = true;
		hy_notify(g, entry->cell, entry->cell->type, HYPHAE_ERROR,
			  (uintptr_t)entry->error);
	}
	g->gathering = false;
	if (any)
		fire_gathered(g);
}

void hy_flush(struct hy_graph *g, struct hy_log *log)
{
	g->gathering = true;
	for (size_t i = 0; i < log->count; i++) {
		hy_log_forget(&log->entries[i]);
		flush_entry(g, &log->entries[i]);
	}
	fire_gathered(g);
	fail_after_value(g, log);
	for (size_t i = 0; i < log->count; i++)
		hy_cell_put(g, log->entries[i].cell);
	log->count = 0;
	log->writes = log->coalesced = 0;
}

void hy_problem(struct hy_graph *g, struct hy_cell *c, int code,
		const char *message)
{
	struct hyphae_problem problem = {code, c->id, message};
	hyphae_problem_fn fn = g->on_problem;
	void *ctx = g->problem_ctx;

	probe_error(c, code, message);
	if (fn) {
		struct hy_graph *saved = hy_guard_begin(g);

		fn(&problem, ctx);
		hy_guard_end(g, saved);
	}
}

/* ---- the first computation --------------------------------------------- */

void hy_compute_first(struct hy_graph *g, struct hy_derived *d)
{
	struct hy_cell *c = &d->cell;
	uint64_t word = 0;
	struct hy_box *box = NULL;
	void *out = &word;
	int r = HY_KEEP;

	if (!inputs_have_values(d)) {
		struct hy_cell *bad = blocking_input(d);

		if (bad)
			inherit_error(g, c, bad);
	} else {
		bool shares = d->op == &hy_op_filter;

		if (c->flags & F_BOXED && !shares) {
			box = hy_box_take(c); /* hy_derive() saw to it */
			out = box->payload;
		}
		r = d->op->run(g, d, out);
		if (r == HY_VALUE) {
			if (c->flags & F_BOXED && shares) {
				box = hy_box_of(d->one.input->word);
				hy_box_ref(box);
			}
			c->word = c->flags & F_BOXED ? (uintptr_t)box : word;
			hy_flags_set(c, 0, F_NONE);
		} else {
			if (box)
				hy_box_spare(c, box);
			if (r < 0)
				set_failure(g, c, r);
		}
	}
	if (!(c->flags & F_FAILED) && inputs_ended(d))
		hy_flags_set(c, F_COMPLETE, 0);
	if (c->flags & F_ENDED)
		hy_unlink_inputs(g, d);
	hy_flags_set(c, 0, F_VALUE_NEW | F_END_NEW | F_TURNED);
}
