/* SPDX-License-Identifier: MIT */
/*
 * What operators that have to do with time share: a timer, and a state that
 * begins with it.
 *
 * The timer only has the cell computed; `run` does everything.  As another
 * thread may be propagating when it fires, what the input brought and the
 * ringing of the timer can come together: what the timer was for is older.
 *
 * In the first `run` the timer is armed last, after any function of the
 * user's: until the cell is published nothing may lead to it.
 */
#ifndef HY_TIMED_H
#define HY_TIMED_H

#include "core/derive.h"
#include "time/timer.h"

struct hy_timed {
	struct hy_timer timer;
	struct hy_derived *d;		/* from the first run on */
	const struct hyphae_type *type; /* of the cell's input, or the cell */
	uint64_t duration;
	bool rang;  /* the timer fired, and no run has seen to it */
	bool begun; /* there was a run, since it was last idle */
	/* Let go of all that is kept; the timer is disarmed already. */
	void (*clear)(struct hy_graph *g, struct hy_timed *s);
	/* And of what it was made with, before it is freed. */
	void (*drop)(struct hy_graph *g, struct hy_timed *s);
};

/*
 * Zeroed state of `size` bytes for a cell over `input`, with a place for its
 * timer: NULL and errno, which a NULL input leaves alone.
 */
void *hy_timed_new(struct hyphae_cell *input, size_t size, uint64_t duration);
/* The same for a cell without inputs. */
void *hy_timed_new_in(struct hyphae_graph *graph,
		      const struct hyphae_type *type, size_t size,
		      uint64_t duration);
/* The state of a cell that was not made. */
void hy_timed_discard(struct hy_graph *g, struct hy_timed *s);
struct hy_graph *hy_timed_graph(const struct hy_timed *s);

/* Make the cell; if that fails the state is freed. */
struct hyphae_cell *hy_timed_derive(const struct hy_op *op,
				    struct hyphae_cell *input,
				    const struct hyphae_type *type,
				    struct hy_timed *s, const char *site);
struct hyphae_cell *hy_timed_make(const struct hy_op *op, struct hy_timed *s,
				  const char *site);

/* op->free and op->reset of all of them. */
void hy_timed_free(struct hy_graph *g, struct hy_derived *d);
void hy_timed_reset(struct hy_graph *g, struct hy_derived *d);

/* ---- in `run` --------------------------------------------------------- */

/* To begin with: true if this is the first run since it was made or idle. */
static inline bool hy_timed_begin(struct hy_timed *s, struct hy_derived *d)
{
	bool first = !s->begun;

	s->d = d;
	s->begun = true;
	return first;
}

/* Whether the timer fired since this was last asked. */
static inline bool hy_timed_rang(struct hy_timed *s)
{
	bool rang = s->rang;

	s->rang = false;
	return rang;
}

/* Ring at a time, instead of at another one. */
static inline void hy_timed_at(struct hy_graph *g, struct hy_timed *s,
			       uint64_t due)
{
	hy_timer_arm(g, &s->timer, due); /* there is a place for it */
}

static inline void hy_timed_after(struct hy_graph *g, struct hy_timed *s,
				  uint64_t delay)
{
	hy_timed_at(g, s, hy_after(hy_now(g), delay));
}

/* Do not ring. */
static inline void hy_timed_stop(struct hy_graph *g, struct hy_timed *s)
{
	hy_timer_disarm(g, &s->timer);
	s->rang = false;
}

/* What the only input brought, beside its end. */
enum hy_timed_news {
	NEWS_NOTHING,
	NEWS_VALUE,
	NEWS_ERROR, /* for good if the cell's input is F_FAILED */
	NEWS_NONE,  /* the error has gone, and there is no value */
};

static inline enum hy_timed_news hy_timed_news(const struct hy_derived *d)
{
	uint32_t brought = hy_brought(d, 0);
	const struct hy_cell *input = d->fan_in->edges[0].input;

	if (brought & MARK_END && input->flags & F_FAILED)
		return NEWS_ERROR;
	if (!(brought & MARK_VALUE))
		return NEWS_NOTHING;
	if (hy_holds_error(d, 0))
		return NEWS_ERROR;
	return hy_holds_value(d, 0) ? NEWS_VALUE : NEWS_NONE;
}

/*
 * The input's error, or its loss, is the cell's at once, and nothing that is
 * older is told after it: call this when what is kept was let go of.  Returns
 * what `run` has to return.
 */
int hy_timed_trouble(struct hy_graph *g, struct hy_derived *d);

/* Fail the cell for good; return HY_KEEP. */
int hy_timed_fail(struct hy_graph *g, struct hy_derived *d, int code);

#endif
