/* SPDX-License-Identifier: MIT */
/*
 * Random programs of subscriptions against a model.
 *
 * Two sources and their sum have subscriptions with random options, and there
 * are effects that read them.  What is done to these (subscribe, pause, resume,
 * block, unblock, unsubscribe, write, end a source, make an effect) is done
 * between waves, and by subscribers, effects and clean-ups too: both sides draw
 * the same numbers in the same order.  Both write down each call with its value
 * and the previous one, each clean-up, each drop and each code; the two stories
 * must be the same, and so must what follows each cell.
 *
 * An eager graph has its writes in batches here: these are waves there, too.
 * In a lazy one the sum is idle, and what effects make is woken by them.
 *
 * SEED=n starts from another seed; STEPS=n sets the number of steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hyphae/hyphae.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEFAULT_STEPS 20000
#else
#define DEFAULT_STEPS 200000
#endif
#define STEPS_A_PROGRAM 150
#define MAX_SUBS 1024
#define MAX_EVENTS 4096
#define DEEDS_A_STEP 8 /* of subscribers and clean-ups */
#define NONE INT64_MIN

enum cell { A, B, SUM, CELLS };
enum deed {
	NOTHING,
	PAUSE,
	RESUME,
	BLOCK,
	UNBLOCK,
	UNSUBSCRIBE,
	SUBSCRIBE,
	WRITE,
	UNSUBSCRIBE_ALL,
	EFFECT,
	DETACH, /* in a call */
};

/* How an effect reads. */
enum style { BRANCH, ALL, TURNING, LATE, MAKER, HIDDEN, STYLES };

/* V value, C end, X clean-up, D drop; a lower case letter for each deed. */
struct event {
	char kind;
	int sub;
	int64_t value, previous;
};

struct story {
	struct event events[MAX_EVENTS];
	int count;
	uint64_t random; /* of this side */
	int deeds;	 /* left in this step */
	int next_sub;
};

static struct story told, foretold;
static uint64_t seed;
static bool eager, lazy; /* the graph */

static unsigned int draw(struct story *story, size_t sides)
{
	story->random ^= story->random << 13;
	story->random ^= story->random >> 7;
	story->random ^= story->random << 17;
	return (unsigned int)((story->random >> 20) % sides);
}

static void tell(struct story *story, char kind, int sub, int64_t value,
		 int64_t previous)
{
	if (story->count < MAX_EVENTS)
		story->events[story->count++] =
			(struct event){kind, sub, value, previous};
}

/* How one side does things; `inside` a call, or by itself. */
struct side {
	struct story *story;
	int (*held)(int sub, enum deed deed, bool inside);
	void (*subscribe)(int sub, enum cell cell, unsigned int flags,
			  bool cleanup, bool inside);
	void (*effect)(int sub, enum style style, bool cleanup, bool inside);
	int64_t (*read)(int sub, enum cell cell);
	int64_t (*peek)(int sub, enum cell cell); /* not tracked */
	int64_t (*twice_a)(int sub);		  /* of a cell made for it */
	int (*write)(enum cell cell, int64_t value, bool inside);
	void (*unsubscribe_all)(enum cell cell, bool inside);
};

/* The first are for between waves, all of them for calls. */
static const enum deed deeds[] = {
	PAUSE,
	RESUME,
	RESUME,
	BLOCK,
	UNBLOCK,
	UNBLOCK,
	WRITE,
	WRITE,
	WRITE,
	SUBSCRIBE,
	SUBSCRIBE,
	SUBSCRIBE,
	SUBSCRIBE,
	UNSUBSCRIBE,
	UNSUBSCRIBE_ALL,
	EFFECT,
	EFFECT,
	/* 17 so far */
	PAUSE,
	BLOCK,
	DETACH,
	NOTHING,
	NOTHING,
	NOTHING,
	NOTHING,
	NOTHING,
	NOTHING,
	NOTHING,
	NOTHING,
	NOTHING,
};
#define BETWEEN 17
#define ANYWHERE (sizeof(deeds) / sizeof(deeds[0]))

/* Draw what to do, do it, tell how it went.  True: detach. */
static bool do_something(const struct side *side, bool inside)
{
	struct story *s = side->story;
	enum deed deed = deeds[draw(s, inside ? ANYWHERE : BETWEEN)];
	int sub, r = 0;

	if (inside && s->deeds == 0)
		return false;
	s->deeds -= inside;
	switch (deed) {
	case PAUSE:
	case RESUME:
	case BLOCK:
	case UNBLOCK:
	case UNSUBSCRIBE:
		if (!s->next_sub)
			return false;
		/* Mostly the newer ones: many of the old have ended. */
		sub = (int)draw(s, (unsigned int)s->next_sub);
		if (s->next_sub > 8 && draw(s, 4))
			sub = s->next_sub - 1 - (int)draw(s, 8);
		r = side->held(sub, deed, inside);
		tell(s, (char)('a' + deed), sub, r, NONE);
		return false;
	case SUBSCRIBE: {
		enum cell cell = (enum cell)draw(s, lazy ? SUM : CELLS);
		unsigned int flags = draw(s, 8);
		bool cleanup = draw(s, 2);

		if (s->next_sub == MAX_SUBS)
			return false;
		sub = s->next_sub++;
		tell(s, 's', sub, cell, flags);
		side->subscribe(sub, cell, flags, cleanup, inside);
		return false;
	}
	case EFFECT: {
		enum style style = (enum style)draw(s, STYLES);
		bool cleanup = draw(s, 2);

		if (s->next_sub == MAX_SUBS)
			return false;
		sub = s->next_sub++;
		tell(s, 'e', sub, style, cleanup);
		side->effect(sub, style, cleanup, inside);
		return false;
	}
	case WRITE: {
		enum cell cell = draw(s, 2) ? A : B;
		int64_t value = draw(s, 4);

		r = side->write(cell, value, inside);
		tell(s, 'w', cell, value, r);
		return false;
	}
	case UNSUBSCRIBE_ALL:
		if (draw(s, 16) == 0)
			side->unsubscribe_all((enum cell)draw(s, CELLS),
					      inside);
		return false;
	default:
		return inside && deed == DETACH;
	}
}

/* What an effect does: it reads, tells what it made of that, and acts. */
static int run_effect(const struct side *side, int sub, enum style style)
{
	enum cell sum = lazy ? A : SUM;
	int ncells = lazy ? SUM : CELLS;
	bool detach = false;
	int64_t v = 0;

	switch (style) {
	case BRANCH:
		v = side->read(sub, side->read(sub, A) & 1 ? B : sum);
		break;
	case ALL:
		v = side->read(sub, sum) + side->read(sub, A) * 10;
		v += side->read(sub, B) * 100 + side->read(sub, A);
		break;
	case TURNING:
		v = side->read(sub, B);
		for (int64_t i = 0, turn = v; i < turn; i++)
			v += side->read(sub, (enum cell)((turn + i) % ncells));
		break;
	case LATE:
		v = side->read(sub, B);
		detach = do_something(side, true);
		if (v != 2)
			v += side->read(sub, A);
		break;
	case MAKER:
		v = side->twice_a(sub);
		if (v > 3)
			v += side->read(sub, sum);
		break;
	default:
		v = side->peek(sub, sum);
		if (side->peek(sub, B))
			v += side->read(sub, A);
	}
	tell(side->story, 'V', sub, v, NONE);
	if (detach || do_something(side, true))
		return HYPHAE_DETACH;
	return v % 7 == 6 ? -EIO : 0;
}

/* ---- the library ---------------------------------------------------------------- */

static struct hyphae_graph *graph;
static struct hyphae_cell *cells[CELLS];
static struct {
	struct hyphae_subscription *handle;
	enum style style;
	int number;
	bool inside;
} subs[MAX_SUBS];
static unsigned int reentered;

static const struct side library;

static int lib_call(const struct hyphae_signal *signal, void *ctx)
{
	int number = *(int *)ctx;
	const int64_t *previous = signal->previous;
	bool detach;

	if (subs[number].inside)
		reentered++;
	subs[number].inside = true;
	tell(&told, signal->kind == HYPHAE_VALUE ? 'V' : 'C', number,
	     signal->kind == HYPHAE_VALUE ? hyphae_int64_of(signal) : NONE,
	     previous ? *previous : NONE);
	detach = do_something(&library, true);
	subs[number].inside = false;
	return detach ? HYPHAE_DETACH : 0;
}

static void lib_cleanup(void *ctx)
{
	tell(&told, 'X', *(int *)ctx, NONE, NONE);
	do_something(&library, true);
}

static void lib_drop(void *ctx)
{
	tell(&told, 'D', *(int *)ctx, NONE, NONE);
}

static int lib_held(int sub, enum deed deed, bool inside)
{
	struct hyphae_subscription *handle = subs[sub].handle;

	(void)inside;
	if (!handle) /* its first call is under way */
		return -ENOENT;
	switch (deed) {
	case PAUSE:
		return hyphae_subscription_pause(handle);
	case RESUME:
		return hyphae_subscription_resume(handle);
	case BLOCK:
		return hyphae_subscription_block(handle);
	case UNBLOCK:
		return hyphae_subscription_unblock(handle);
	default:
		return hyphae_unsubscribe(handle);
	}
}

static void lib_subscribe(int sub, enum cell cell, unsigned int flags,
			  bool cleanup, bool inside)
{
	struct hyphae_subscription_options options = {
		.fn = lib_call,
		.ctx = &subs[sub].number,
		.drop = lib_drop,
		.cleanup = cleanup ? lib_cleanup : NULL,
		.flags = flags,
	};

	(void)inside;
	subs[sub].number = sub;
	subs[sub].inside = false;
	subs[sub].handle = NULL;
	subs[sub].handle = hyphae_subscribe_options(cells[cell], &options);
}

static int lib_run(void *ctx)
{
	int number = *(int *)ctx, r;

	if (subs[number].inside)
		reentered++;
	subs[number].inside = true;
	r = run_effect(&library, number, subs[number].style);
	subs[number].inside = false;
	return r;
}

static void lib_effect(int sub, enum style style, bool cleanup, bool inside)
{
	(void)inside;
	subs[sub].number = sub;
	subs[sub].style = style;
	subs[sub].inside = false;
	subs[sub].handle = NULL;
	subs[sub].handle =
		hyphae_effect_with(graph, lib_run, &subs[sub].number, lib_drop,
				   cleanup ? lib_cleanup : NULL);
}

static int64_t lib_read(int sub, enum cell cell)
{
	int64_t v = NONE;

	(void)sub;
	hyphae_int64_get(cells[cell], &v);
	return v;
}

static int64_t lib_peek(int sub, enum cell cell)
{
	int64_t v;

	hyphae_untracked_begin();
	v = lib_read(sub, cell);
	hyphae_untracked_end();
	return v;
}

static int twice(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)input * 2;
	return 0;
}

static int64_t lib_twice_a(int sub)
{
	struct hyphae_cell *cell =
		hyphae_map(cells[A], &hyphae_int64, twice, NULL);
	int64_t v = NONE;

	(void)sub;
	hyphae_int64_get(cell, &v);
	hyphae_cell_unref(cell); /* the effect holds it */
	return v;
}

static int lib_write(enum cell cell, int64_t value, bool inside)
{
	int r, end;

	if (!eager || inside)
		return hyphae_int64_set(cells[cell], value);
	hyphae_batch_begin(graph);
	r = hyphae_int64_set(cells[cell], value);
	end = hyphae_batch_end(graph);
	return end ? end : r;
}

static void lib_unsubscribe_all(enum cell cell, bool inside)
{
	(void)inside;
	hyphae_unsubscribe_all(cells[cell]);
}

static const struct side library = {
	&told,	  lib_held,    lib_subscribe, lib_effect,	   lib_read,
	lib_peek, lib_twice_a, lib_write,     lib_unsubscribe_all,
};

static int add(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	(void)count;
	(void)ctx;
	*(int64_t *)ret =
		*(const int64_t *)inputs[0] + *(const int64_t *)inputs[1];
	return 0;
}

/* ---- the model --------------------------------------------------------------------- */

enum { VALUE = 1, END = 2 };

static struct {
	int64_t value;
	bool ended;
	int news;    /* of the wave, that its subscribers are being told */
} mcells[CELLS + 1]; /* an effect is of the last, which is none */

static struct {
	enum cell cell;
	unsigned int flags;
	bool cleanup, known, dead, owes, there, fresh;
	int pauses, blocks, missed;
	int64_t previous;
	/* Of an effect: */
	bool effect, first; /* is yet to be called */
	bool over;	    /* nothing that it read can change */
	bool ended;	    /* and it is to be told */
	enum style style;
	unsigned int reads; /* a bit for each cell */
	bool made;	    /* it read a cell that was made of A */
	int news;	    /* as of a cell */
} msubs[MAX_SUBS];

static int failed;	    /* what an effect returned first */
static int turn, last_turn; /* in a wave: whose it is, and of the last */
static int dead[MAX_SUBS], ndead, nburied;
static struct {
	int64_t value;
	bool written;
} next[2];

static const struct side model;

static void m_end(int s)
{
	if (msubs[s].dead)
		return;
	msubs[s].dead = true;
	dead[ndead++] = s;
}

static int m_hold_back(int s, int news)
{
	if (msubs[s].dead)
		return 0;
	if (msubs[s].blocks)
		news &= ~VALUE;
	if (!msubs[s].blocks && !msubs[s].pauses)
		return news;
	msubs[s].missed |= news;
	return 0;
}

static void m_cleanup(int s)
{
	if (!msubs[s].owes)
		return;
	msubs[s].owes = false;
	tell(&foretold, 'X', s, NONE, NONE);
	do_something(&model, true);
}

static int m_news(int s)
{
	return msubs[s].effect ? msubs[s].news : mcells[msubs[s].cell].news;
}

static void m_mark(int s, enum cell cell)
{
	msubs[s].reads |= 1u << cell;
}

/* After a run: can anything that was read change? */
static bool m_is_over(int s)
{
	for (int c = 0; c < CELLS; c++)
		if (msubs[s].reads & 1u << c && !mcells[c].ended)
			return false;
	return !msubs[s].made || mcells[A].ended;
}

static void m_run(int s)
{
	int r;

	msubs[s].reads = 0;
	msubs[s].made = false;
	msubs[s].owes = msubs[s].cleanup;
	r = run_effect(&model, s, msubs[s].style);
	if (m_is_over(s))
		msubs[s].over = true;
	if (r > 0)
		m_end(s);
	else if (r && !failed)
		failed = r;
}

/* An effect is told its end, but its function is not called for that. */
static bool m_tell_effect(int s, int what)
{
	m_cleanup(s);
	if (!m_hold_back(s, what))
		return false;
	if (what == VALUE)
		m_run(s);
	return true;
}

static bool m_tell(int s, int what, int64_t value)
{
	bool with = msubs[s].flags & HYPHAE_PREVIOUS;
	int64_t previous = with && msubs[s].there ? msubs[s].previous : NONE;

	if (msubs[s].effect)
		return m_tell_effect(s, what);
	m_cleanup(s);
	if (!m_hold_back(s, what))
		return false;
	msubs[s].owes = msubs[s].cleanup;
	tell(&foretold, what == VALUE ? 'V' : 'C', s,
	     what == VALUE ? value : NONE, previous);
	msubs[s].previous = value;
	msubs[s].there = what == VALUE;
	if (do_something(&model, true) || msubs[s].flags & HYPHAE_ONCE)
		m_end(s);
	return true;
}

static void m_catch_up(int s, bool value)
{
	enum cell c = msubs[s].cell;
	bool ended;

	do {
		bool end = msubs[s].effect ? msubs[s].ended : mcells[c].ended;
		int64_t held = mcells[c].value;

		msubs[s].fresh =
			m_news(s) & VALUE && s > turn && s <= last_turn;
		msubs[s].missed = 0;
		if (value && m_hold_back(s, VALUE))
			m_tell(s, VALUE, held);
		ended = end && m_hold_back(s, END) && m_tell(s, END, held);
		value = msubs[s].missed & VALUE;
	} while (!ended && msubs[s].missed && !msubs[s].dead &&
		 !msubs[s].pauses && !msubs[s].blocks);
	if (ended)
		m_end(s);
}

static void m_change(enum cell c, int64_t value)
{
	if (mcells[c].value == value)
		return;
	mcells[c].value = value;
	mcells[c].news |= VALUE;
}

/* The cells have their news: those of the effects, which have not run yet. */
static void m_touch_effects(void)
{
	for (int s = 0; s <= last_turn; s++) {
		if (!msubs[s].effect || msubs[s].ended)
			continue;
		msubs[s].news = msubs[s].first ? VALUE : 0;
		msubs[s].first = false;
		for (int c = 0; c < CELLS; c++)
			if (msubs[s].reads & 1u << c && mcells[c].news)
				msubs[s].news = VALUE;
		if (msubs[s].made && mcells[A].news)
			msubs[s].news = VALUE;
		if (msubs[s].over) {
			msubs[s].news = END;
			msubs[s].ended = true;
			msubs[s].reads = 0;
			msubs[s].made = false;
		}
	}
}

/* The sources have their news: the sum, and then everybody in order. */
static void m_wave(void)
{
	int s, news;

	m_change(SUM, mcells[A].value + mcells[B].value);
	if (mcells[A].ended && mcells[B].ended && !mcells[SUM].ended) {
		mcells[SUM].ended = true;
		mcells[SUM].news |= END;
	}
	last_turn = foretold.next_sub - 1;
	m_touch_effects();
	for (s = 0; s <= last_turn; s++) {
		turn = s;
		news = m_news(s);
		if (msubs[s].fresh)
			news &= ~VALUE;
		msubs[s].fresh = false;
		news = m_hold_back(s, news);
		if (news & VALUE)
			m_tell(s, VALUE, mcells[msubs[s].cell].value);
		if (news & END && m_hold_back(s, END) &&
		    m_tell(s, END, mcells[msubs[s].cell].value))
			m_end(s);
	}
	for (s = 0; s <= last_turn; s++)
		msubs[s].news = 0;
	turn = last_turn = -1;
	for (s = 0; s < CELLS; s++)
		mcells[s].news = 0;
}

/* Effects that are yet to be called, or to be told that they are over. */
static bool m_any(bool first)
{
	for (int s = 0; s < foretold.next_sub; s++)
		if (msubs[s].effect && !msubs[s].ended &&
		    (first ? msubs[s].first : msubs[s].over))
			return true;
	return false;
}

/* What is left when nothing else runs. */
static void m_settle(void)
{
	int c;

	for (;;) {
		if (m_any(true)) {
			m_wave();
			continue;
		}
		if (!next[A].written && !next[B].written && !m_any(false)) {
			if (nburied == ndead)
				return;
			while (nburied < ndead) {
				int s = dead[nburied++];

				m_cleanup(s);
				tell(&foretold, 'D', s, NONE, NONE);
			}
			continue;
		}
		for (c = A; c <= B; c++) {
			if (next[c].written)
				m_change((enum cell)c, next[c].value);
			next[c].written = false;
		}
		m_wave();
	}
}

/* By itself it settles at once. */
static void m_done(bool inside)
{
	if (!inside)
		m_settle();
}

static int m_hold(int s, enum deed deed)
{
	int *count = deed == PAUSE || deed == RESUME ? &msubs[s].pauses
						     : &msubs[s].blocks;

	if (!msubs[s].known)
		return -ENOENT;
	if (msubs[s].dead)
		return -ESTALE;
	if (deed == UNSUBSCRIBE) {
		m_end(s);
		return 0;
	}
	if (deed == PAUSE || deed == BLOCK) {
		++*count;
		return 0;
	}
	if (!*count)
		return -EINVAL;
	if (--*count == 0 && msubs[s].missed && !msubs[s].pauses &&
	    !msubs[s].blocks)
		m_catch_up(s, msubs[s].missed & VALUE);
	return 0;
}

static int m_held(int s, enum deed deed, bool inside)
{
	int r = m_hold(s, deed);

	m_done(inside);
	return r;
}

static void m_subscribe(int s, enum cell cell, unsigned int flags, bool cleanup,
			bool inside)
{
	bool value = !(flags & HYPHAE_SKIP_INITIAL);

	memset(&msubs[s], 0, sizeof(msubs[s]));
	msubs[s].cell = cell;
	msubs[s].flags = flags;
	msubs[s].cleanup = cleanup;
	if (!value) {
		msubs[s].previous = mcells[cell].value;
		msubs[s].there = true;
	}
	if (value || mcells[cell].ended)
		m_catch_up(s, value);
	m_done(inside);
	msubs[s].known = true;
}

static void m_effect(int s, enum style style, bool cleanup, bool inside)
{
	memset(&msubs[s], 0, sizeof(msubs[s]));
	msubs[s].cell = CELLS;
	msubs[s].effect = true;
	msubs[s].style = style;
	msubs[s].cleanup = cleanup;
	msubs[s].first = true;
	m_done(inside);
	msubs[s].known = true;
}

/* A write that waits is read already; what is derived of it is not there. */
static int64_t m_peek(int sub, enum cell cell)
{
	(void)sub;
	if (cell != SUM && next[cell].written)
		return next[cell].value;
	return mcells[cell].value;
}

static int64_t m_read(int sub, enum cell cell)
{
	m_mark(sub, cell);
	return mcells[cell].value;
}

static int64_t m_twice_a(int sub)
{
	msubs[sub].made = true;
	return mcells[A].value * 2;
}

static int m_write(enum cell cell, int64_t value, bool inside)
{
	int64_t old = mcells[cell].value;

	if (mcells[cell].ended)
		return -ESHUTDOWN;
	next[cell].value = value;
	next[cell].written = true;
	m_done(inside);
	if (!inside && failed)
		return failed;
	return inside || eager || value != old ? 0 : HYPHAE_UNCHANGED;
}

static void m_unsubscribe_all(enum cell cell, bool inside)
{
	int s;

	for (s = 0; s < foretold.next_sub; s++)
		if (msubs[s].cell == cell)
			m_end(s);
	m_done(inside);
}

static const struct side model = {
	&foretold, m_held,    m_subscribe, m_effect,	      m_read,
	m_peek,	   m_twice_a, m_write,	   m_unsubscribe_all,
};

/* ---- both ----------------------------------------------------------------------------- */

/* A batch: both sources, and perhaps the end of one. */
static void batch(void)
{
	int64_t a = draw(&told, 4), b = draw(&told, 4);
	bool ends = draw(&told, 40) == 0;
	enum cell c = draw(&told, 2) ? A : B;
	int r;

	assert_int_equal(hyphae_batch_begin(graph), 0);
	hyphae_int64_set(cells[A], a);
	hyphae_int64_set(cells[B], b);
	if (ends)
		hyphae_cell_complete(cells[c]);
	/* The same numbers for the other side, which begins behind them. */
	foretold.random = told.random;
	r = hyphae_batch_end(graph);
	if (!mcells[A].ended)
		m_change(A, a);
	if (!mcells[B].ended)
		m_change(B, b);
	if (ends && !mcells[c].ended) {
		mcells[c].ended = true;
		mcells[c].news |= END;
	}
	m_wave();
	m_settle();
	assert_int_equal(r, failed);
}

static void compare(unsigned long step)
{
	int i;

	for (i = 0; i < told.count || i < foretold.count; i++) {
		struct event x = {'-', 0, 0, 0}, y = x;

		if (i < told.count)
			x = told.events[i];
		if (i < foretold.count)
			y = foretold.events[i];
		if (x.kind != y.kind || x.sub != y.sub || x.value != y.value ||
		    x.previous != y.previous)
			fail_msg("SEED=%llu, step %lu, event %d: "
				 "%c %d %lld %lld, but it should be "
				 "%c %d %lld %lld",
				 (unsigned long long)seed, step, i, x.kind,
				 x.sub, (long long)x.value,
				 (long long)x.previous, y.kind, y.sub,
				 (long long)y.value, (long long)y.previous);
	}
	assert_true(told.count < MAX_EVENTS);
	assert_int_equal(told.next_sub, foretold.next_sub);
	assert_int_equal(told.random, foretold.random);
	assert_int_equal(reentered, 0);
}

static void compare_counts(void)
{
	size_t alive[CELLS + 1] = {0}, followers[CELLS] = {0};
	int i;

	for (i = 0; i < foretold.next_sub; i++) {
		alive[msubs[i].cell] += !msubs[i].dead;
		for (int c = 0; c < CELLS && !msubs[i].dead; c++)
			followers[c] += (msubs[i].reads & 1u << c) != 0;
		followers[A] += msubs[i].made && !msubs[i].dead;
	}
	/* The sum follows both, unless there is nobody who would hear it. */
	if (!mcells[SUM].ended && (!lazy || alive[SUM] || followers[SUM])) {
		followers[A]++;
		followers[B]++;
	}
	for (i = 0; i < CELLS; i++) {
		struct hyphae_cell_info info;

		assert_int_equal(hyphae_cell_info(cells[i], &info), 0);
		assert_int_equal(info.subscriptions, alive[i]);
		if (!mcells[i].ended && info.targets != alive[i] + followers[i])
			fail_msg("SEED=%llu: cell %d has %zu targets, "
				 "but it should have %zu",
				 (unsigned long long)seed, i,
				 (size_t)info.targets, alive[i] + followers[i]);
	}
	assert_int_equal(hyphae_graph_check_idle(graph), 0);
}

static void step(unsigned long number)
{
	told.count = foretold.count = 0;
	told.deeds = foretold.deeds = DEEDS_A_STEP;
	foretold.random = told.random;
	failed = 0;
	if (draw(&told, 3) == 0) {
		batch();
	} else {
		draw(&foretold, 3);
		do_something(&library, false);
		do_something(&model, false);
	}
	compare(number);
	compare_counts();
}

static void program(unsigned int flags)
{
	unsigned long i;
	int c;

	graph = hyphae_graph_new(flags);
	eager = flags & HYPHAE_EAGER;
	lazy = flags & HYPHAE_LAZY;
	memset(&told, 0, sizeof(told));
	memset(&foretold, 0, sizeof(foretold));
	memset(mcells, 0, sizeof(mcells));
	memset(next, 0, sizeof(next));
	ndead = nburied = 0;
	turn = last_turn = -1;
	told.random = seed * 0x9e3779b97f4a7c15u + 1;
	cells[A] = hyphae_int64_new(graph, 0);
	cells[B] = hyphae_int64_new(graph, 0);
	cells[SUM] = hyphae_combine(cells, 2, &hyphae_int64, add, NULL);
	for (i = 0; i < STEPS_A_PROGRAM; i++)
		step(i);
	told.deeds = 0;
	for (c = 0; c < told.next_sub; c++)
		hyphae_unsubscribe(subs[c].handle);
	for (c = 0; c < CELLS; c++) {
		assert_int_equal(hyphae_unsubscribe_all(cells[c]), 0);
		assert_int_equal(hyphae_cell_unref(cells[c]), 0);
	}
	assert_int_equal(hyphae_graph_free(graph), 0);
}

static unsigned long from_environment(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

static void programs(unsigned int flags)
{
	unsigned long steps = from_environment("STEPS", DEFAULT_STEPS), done;
	uint64_t first = from_environment("SEED", 1);

	for (done = 0; done < steps; done += STEPS_A_PROGRAM) {
		seed = first + done / STEPS_A_PROGRAM;
		program(flags);
	}
}

static void shared(void **state)
{
	(void)state;
	programs(0);
}

static void single_thread(void **state)
{
	(void)state;
	programs(HYPHAE_SINGLE_THREAD);
}

static void in_waves_of_an_eager_graph(void **state)
{
	(void)state;
	programs(HYPHAE_EAGER);
}

static void lazy_graph(void **state)
{
	(void)state;
	programs(HYPHAE_LAZY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared),
		cmocka_unit_test(single_thread),
		cmocka_unit_test(in_waves_of_an_eager_graph),
		cmocka_unit_test(lazy_graph),
	};

	return cmocka_run_group_tests_name("model of subscriptions", tests,
					   NULL, NULL);
}
