/* SPDX-License-Identifier: MIT */
/* The model's side.  See test_model_effect.c. */
#ifndef TEST_MODEL_EFFECT_MODEL_H
#define TEST_MODEL_EFFECT_MODEL_H

#include "model_effect.h"

#define MAX_ITEMS 4096

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
	unsigned int reads;	    /* a bit for each cell */
	enum cell order[CELLS + 1]; /* in which it did; CELLS: what it made */
	int nread;
	bool made;     /* it read a cell that was made of A */
	int cell_made; /* which is in a scope, or -1 */
	int news;      /* as of a cell */
} msubs[MAX_SUBS];

/* What belongs to a scope, in the order in which it was made. */
enum item_kind { ITEM_SUB, ITEM_CELL, ITEM_SCOPE, ITEM_CALL };

static struct {
	bool gone, entered, disposing;
	int parent;
	int count;
	struct {
		enum item_kind kind;
		int which;
	} items[MAX_ITEMS];
} mscopes[MAX_SCOPES];

/* Cells that effects made; those that are in a scope. */
static bool mheld[MAX_ITEMS];
static int nmade;

static bool busy;	    /* there is a propagation */
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

static void m_add(enum item_kind kind, int which)
{
	int at = foretold.nentered;
	int scope = at ? foretold.entered[at - 1] : -1;

	if (scope < 0)
		return;
	assert_true(mscopes[scope].count < MAX_ITEMS);
	mscopes[scope].items[mscopes[scope].count].kind = kind;
	mscopes[scope].items[mscopes[scope].count++].which = which;
}

static void m_mark(int s, enum cell cell)
{
	if (!(msubs[s].reads & 1u << cell))
		msubs[s].order[msubs[s].nread++] = cell;
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
	msubs[s].nread = 0;
	msubs[s].made = false;
	msubs[s].cell_made = -1;
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
			msubs[s].nread = 0;
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
static void m_settle_all(void)
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
static void m_settle(void)
{
	if (busy)
		return;
	busy = true;
	m_settle_all();
	busy = false;
}

/* Called at once, and what that does comes after it. */
static void m_catch_up_now(int s, bool value)
{
	bool before = busy;

	busy = true;
	m_catch_up(s, value);
	busy = before;
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
		m_catch_up_now(s, msubs[s].missed & VALUE);
	return 0;
}

static int m_held(int s, enum deed deed)
{
	int r = m_hold(s, deed);

	m_settle();
	return r;
}

static void m_subscribe(int s, enum cell cell, unsigned int flags, bool cleanup)
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
	m_add(ITEM_SUB, s);
	if (value || mcells[cell].ended)
		m_catch_up_now(s, value);
	m_settle();
	msubs[s].known = true;
}

static void m_effect(int s, enum style style, bool cleanup)
{
	memset(&msubs[s], 0, sizeof(msubs[s]));
	msubs[s].cell = CELLS;
	msubs[s].effect = true;
	msubs[s].style = style;
	msubs[s].cleanup = cleanup;
	msubs[s].first = true;
	msubs[s].cell_made = -1;
	m_add(ITEM_SUB, s);
	m_settle();
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
	msubs[sub].order[msubs[sub].nread++] = CELLS;
	msubs[sub].cell_made = -1;
	if (foretold.nentered) {
		assert_true(nmade < MAX_ITEMS);
		m_add(ITEM_CELL, nmade);
		mheld[nmade] = true;
		msubs[sub].cell_made = nmade++;
	}
	return mcells[A].value * 2;
}

static int m_write(enum cell cell, int64_t value)
{
	int64_t old = mcells[cell].value;
	bool alone = !busy;

	if (mcells[cell].ended)
		return -ESHUTDOWN;
	next[cell].value = value;
	next[cell].written = true;
	if (alone)
		failed = 0;
	m_settle();
	if (alone && failed)
		return failed;
	return !alone || (eager && !bare) || value != old ? 0
							  : HYPHAE_UNCHANGED;
}

static void m_unsubscribe_all(enum cell cell)
{
	int s;

	for (s = 0; s < foretold.next_sub; s++)
		if (msubs[s].cell == cell)
			m_end(s);
	m_settle();
}

/* ---- scopes ---------------------------------------------------------------- */

/* None of it, and of what is in it, is entered or being disposed. */
static bool m_can_go(int scope)
{
	if (mscopes[scope].entered || mscopes[scope].disposing)
		return false;
	for (int i = scope + 1; i < foretold.next_scope; i++)
		if (mscopes[i].parent == scope && !mscopes[i].gone &&
		    !m_can_go(i))
			return false;
	return true;
}

static void m_doom(int scope)
{
	mscopes[scope].disposing = true;
	for (int i = scope + 1; i < foretold.next_scope; i++)
		if (mscopes[i].parent == scope && !mscopes[i].gone)
			m_doom(i);
}

/* Last made first. */
static void m_empty(int scope)
{
	while (mscopes[scope].count) {
		int i = --mscopes[scope].count;
		int which = mscopes[scope].items[i].which;

		switch (mscopes[scope].items[i].kind) {
		case ITEM_SUB:
			m_end(which);
			m_settle();
			break;
		case ITEM_CELL:
			mheld[which] = false;
			break;
		case ITEM_SCOPE:
			if (!mscopes[which].gone)
				m_empty(which);
			break;
		default:
			tell(&foretold, 'O', which, NONE, NONE);
			do_something(&model, true);
		}
	}
	mscopes[scope].gone = true;
}

static int m_dispose(int scope)
{
	if (!m_can_go(scope))
		return -EBUSY;
	m_doom(scope);
	m_empty(scope);
	return 0;
}

static void m_scope_new(int scope)
{
	int at = foretold.nentered;

	mscopes[scope].gone = mscopes[scope].entered = false;
	mscopes[scope].disposing = false;
	mscopes[scope].count = 0;
	mscopes[scope].parent = at ? foretold.entered[at - 1] : -1;
	m_add(ITEM_SCOPE, scope);
}

static int m_leave(int scope)
{
	int at = foretold.nentered;

	if (mscopes[scope].gone)
		return -ESTALE;
	if (!at || foretold.entered[at - 1] != scope)
		return -EINVAL;
	mscopes[scope].entered = false;
	return 0;
}

static int m_scope(int scope, enum deed deed)
{
	if (deed == SCOPE) {
		m_scope_new(scope);
		return 0;
	}
	if (deed == LEAVE)
		return m_leave(scope);
	if (mscopes[scope].gone || mscopes[scope].disposing)
		return -ESTALE;
	if (deed == DISPOSE)
		return m_dispose(scope);
	if (deed == ENTER) {
		if (mscopes[scope].entered)
			return -EBUSY;
		mscopes[scope].entered = true;
		return 0;
	}
	assert_true(mscopes[scope].count < MAX_ITEMS);
	mscopes[scope].items[mscopes[scope].count].kind = ITEM_CALL;
	mscopes[scope].items[mscopes[scope].count++].which = scope;
	return 0;
}

static const struct side model = {
	&foretold, m_held,    m_subscribe, m_effect,	      m_read,
	m_peek,	   m_twice_a, m_write,	   m_unsubscribe_all, m_scope,
};

#endif
