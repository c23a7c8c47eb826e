/* SPDX-License-Identifier: MIT */
/* What both sides do: the program, and the stories that they tell.  See test_model_effect.c. */
#ifndef TEST_MODEL_EFFECT_H
#define TEST_MODEL_EFFECT_H

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
#define DEFAULT_STEPS 30000
#else
#define DEFAULT_STEPS 300000
#endif
#define STEPS_A_PROGRAM 150
#define MAX_SUBS 1024
#define MAX_EVENTS 4096
#define MAX_SCOPES 64
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
	SCOPE, /* a new one */
	ENTER,
	LEAVE,
	DISPOSE,
	ON_DISPOSE,
	DETACH, /* in a call */
};

/* How an effect reads. */
enum style { BRANCH, ALL, TURNING, LATE, MAKER, HIDDEN, STYLES };

/*
 * V value, C end, X clean-up, D drop, O what is called when a scope is
 * disposed; a lower case letter for each deed.
 */
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
	int next_sub, next_scope;
	int entered[MAX_SCOPES], nentered;
};

static struct story told, foretold;
static uint64_t seed;
static bool eager, lazy; /* the graph */
static bool bare;	 /* it is eager, and writes are not in batches */

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
	int (*held)(int sub, enum deed deed);
	void (*subscribe)(int sub, enum cell cell, unsigned int flags,
			  bool cleanup);
	void (*effect)(int sub, enum style style, bool cleanup);
	int64_t (*read)(int sub, enum cell cell);
	int64_t (*peek)(int sub, enum cell cell); /* not tracked */
	int64_t (*twice_a)(int sub);		  /* of a cell made for it */
	int (*write)(enum cell cell, int64_t value);
	void (*unsubscribe_all)(enum cell cell);
	int (*scope)(int scope, enum deed deed);
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
	SCOPE,
	ENTER,
	ENTER,
	LEAVE,
	LEAVE,
	DISPOSE,
	DISPOSE,
	ON_DISPOSE,
	/* 25 so far */
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
#define BETWEEN 25
#define ANYWHERE (sizeof(deeds) / sizeof(deeds[0]))

/* Mostly one of the last; the one to leave mostly the innermost. */
static void do_scope(const struct side *side, enum deed deed)
{
	struct story *s = side->story;
	int scope, last = s->next_scope - 1, r;

	if (deed == SCOPE) {
		if (s->next_scope == MAX_SCOPES)
			return;
		scope = s->next_scope++;
	} else if (!s->next_scope) {
		return;
	} else {
		scope = last - (int)draw(s, last < 4 ? (size_t)last + 1 : 4);
	}
	if (deed == LEAVE && s->nentered && draw(s, 4))
		scope = s->entered[s->nentered - 1];
	r = side->scope(scope, deed);
	if (r == 0 && deed == ENTER)
		s->entered[s->nentered++] = scope;
	if (r == 0 && deed == LEAVE)
		s->nentered--;
	tell(s, (char)('a' + deed), scope, r, NONE);
}

/* Draw what to do, do it, tell how it went.  True: detach. */
static bool do_something(const struct side *side, bool inside)
{
	struct story *s = side->story;
	enum deed deed;
	int sub, r = 0;

	/* There, when somebody is called is not defined. */
	if (inside && bare)
		return false;
	deed = deeds[draw(s, inside ? ANYWHERE : BETWEEN)];
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
		r = side->held(sub, deed);
		tell(s, (char)('a' + deed), sub, r, NONE);
		return false;
	case SUBSCRIBE: {
		enum cell cell = (enum cell)draw(s, lazy ? SUM : CELLS);
		unsigned int flags = draw(s, 8) & ~(bare ? HYPHAE_ONCE : 0u);
		bool cleanup = draw(s, 2);

		if (s->next_sub == MAX_SUBS)
			return false;
		sub = s->next_sub++;
		tell(s, 'S', sub, cell, flags);
		side->subscribe(sub, cell, flags, cleanup);
		return false;
	}
	case EFFECT: {
		enum style style = (enum style)draw(s, STYLES);
		bool cleanup = draw(s, 2);

		if (s->next_sub == MAX_SUBS)
			return false;
		sub = s->next_sub++;
		tell(s, 'E', sub, style, cleanup);
		side->effect(sub, style, cleanup);
		return false;
	}
	case WRITE: {
		enum cell cell = draw(s, 2) ? A : B;
		int64_t value = draw(s, 4);

		r = side->write(cell, value);
		tell(s, 'W', cell, value, r);
		return false;
	}
	case UNSUBSCRIBE_ALL:
		if (draw(s, 16) == 0)
			side->unsubscribe_all((enum cell)draw(s, CELLS));
		return false;
	case SCOPE:
	case ENTER:
	case LEAVE:
	case DISPOSE:
	case ON_DISPOSE:
		do_scope(side, deed);
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

#endif
