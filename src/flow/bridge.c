/* SPDX-License-Identifier: MIT */
#include "flow/bridge.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "core/derive.h"
#include "core/release.h"
#include "core/scope.h"
#include "core/wave.h"

/* ---- the inlet: a source whose values are signals ----------------------------- */

static int copy_bridged(void *to, const void *from)
{
	struct hy_bridged *copy = to;

	*copy = *(const struct hy_bridged *)from;
	if (copy->error)
		hy_error_ref(copy->error);
	else if (copy->any)
		hy_word_share(copy->type, copy->word);
	return 0;
}

static void drop_bridged(void *value)
{
	struct hy_bridged *v = value;

	if (v->error)
		hy_error_unref(v->error);
	else if (v->any)
		hy_word_release(v->type, v->word);
}

/* Whether a value is equal to the one before is for the bridged cell to say. */
const struct hyphae_type hy_bridged_type = {.name = "bridged",
					    .size = sizeof(struct hy_bridged),
					    .align =
						    _Alignof(struct hy_bridged),
					    .copy = copy_bridged,
					    .drop = drop_bridged,
					    .equal = hyphae_never_equal};

/* ---- the bridged cell ------------------------------------------------------------ */

/*
 * The box that crossed belongs to the other graph, whose cell may use it
 * again: this graph gets a copy.
 */
static int run_bridge(struct hy_graph *g, struct hy_derived *d, void *out)
{
	const struct hy_bridged *in = hy_input_value(d, 0);
	const void *value;
	int r;

	if (g->hop < in->hop)
		g->hop = in->hop;
	if (!in->any)
		return HY_KEEP;
	if (in->error) {
		hy_hold_error(g, &d->cell, hy_error_ref(in->error));
		return HY_KEEP;
	}
	if (!hy_type_boxed(in->type)) {
		*(uint64_t *)out = in->word;
		return HY_VALUE;
	}
	value = hy_box_of(in->word)->payload;
	if (!in->type->copy) {
		memcpy(out, value, in->type->size);
		return HY_VALUE;
	}
	hy_call_begin(g);
	r = in->type->copy(out, value);
	hy_call_end(g);
	return r > 0 ? -EINVAL : r;
}

static const struct hy_op bridge_op = {
	.name = "bridge", .run = run_bridge, .flags = OP_STREAM};

/* ---- the first graph's side --------------------------------------------------- */

static void lock(struct hy_bridge *b)
{
	pthread_mutex_lock(&b->link->hub->lock);
}

static void unlock(struct hy_bridge *b)
{
	pthread_mutex_unlock(&b->link->hub->lock);
}

/* Ask for a flush after this pass. */
static int kick(struct hy_bridge *b)
{
	int r = hy_kick_set(&b->link->hub->kick);

	if (r < 0)
		return r;
	lock(b);
	b->kicked = true;
	unlock(b);
	return 0;
}

/* May it cross?  Locked. */
static int admit(struct hy_bridge *b, bool terminal)
{
	if (b->released)
		return HYPHAE_DETACH;
	if (b->event && !terminal &&
	    b->staged.values.count + b->ready.values.count >= HYPHAE_EVENTS_MAX)
		return -EAGAIN;
	return 0;
}

static int bridge_told(const struct hyphae_signal *signal, void *ctx)
{
	struct hy_bridge *b = ctx;
	struct hy_held held, old = {.type = NULL};
	bool drainer, open;
	uint32_t limit;
	uint32_t hop = hy_hop_now(b->link->hub->graph, &drainer, &limit) + 1;
	int r;

	if (hop > limit && !signal->terminal)
		return -ELOOP;
	r = hy_held_of(signal, &held);
	if (r)
		return r;
	lock(b);
	open = b->open && !b->released;
	r = admit(b, signal->terminal);
	if (!r)
		r = hy_crossing_add(&b->staged, b->event, &held, hop, &old);
	if (!r && signal->terminal)
		b->ended = true;
	if (!r && open)
		hy_bridge_stage(b);
	unlock(b);
	hy_held_drop(r ? &held : &old);
	if (r)
		return r > 0 && signal->terminal ? 0 : r;
	return open ? kick(b) : 0;
}

/* The subscription is over.  Unless that was the end of the cell, this is. */
static void bridge_left(void *ctx)
{
	struct hy_bridge *b = ctx;
	struct hy_hub *hub = b->link->hub;
	struct hy_held end = hy_held_failure(b->type, b->cell_id, -ECANCELED);
	struct hy_held old = {.type = NULL};
	bool flush;

	lock(b);
	b->left = true;
	if (!b->ended && !b->released) {
		b->ended = true;
		b->kicked = false;
		hy_crossing_add(&b->staged, b->event, &end, 0, &old);
		if (b->open)
			hy_bridge_stage(b);
	}
	flush = b->in_staged && !b->kicked;
	unlock(b);
	if (flush)
		hy_hub_flush(hub);
	hy_hub_leave(hub);
	hy_bridge_put(b);
}

/* ---- the second graph's side ------------------------------------------------------ */

static int leave(struct hy_job *job)
{
	struct hy_bridge *b = container_of(job, struct hy_bridge, leave);

	hyphae_unsubscribe(b->follow.subscription);
	hy_bridge_put(b);
	return 0;
}

/* The first graph belongs to another thread: it is told to look. */
static void leave_later(struct hy_bridge *b)
{
	struct hy_hub *hub = b->link->hub;
	bool gone;

	pthread_mutex_lock(&hub->lock);
	gone = hub->gone;
	if (!gone) {
		b->next_released = hub->released;
		hub->released = b;
		hy_kick_post(&hub->kick); /* no memory: at a signal */
	}
	pthread_mutex_unlock(&hub->lock);
	if (gone)
		hy_bridge_put(b);
}

/* The bridged cell has gone. */
static void bridge_released(void *data)
{
	struct hy_bridge *b = data;
	bool left;

	lock(b);
	b->released = true;
	left = b->left;
	if (!left)
		hy_bridge_ref(b);
	unlock(b);
	if (!left && (b->follow.shared ||
		      pthread_equal(b->follow.thread, pthread_self())))
		hy_job_run(&b->leave);
	else if (!left)
		leave_later(b);
	hy_link_leave(b->link);
	hy_bridge_put(b);
}

/* ---- make ----------------------------------------------------------------------------- */

/* What hyphae_bridge_at() was asked for. */
struct order {
	struct hyphae_cell *cell;
	struct hyphae_graph *from, *to;
	struct hy_follow follow;
	const struct hyphae_type *type;
	uint64_t cell_id;
	bool event, posts;
	const char *site;
};

static int look(struct order *o, unsigned int flags)
{
	struct hy_graph *to = hy_graph(o->to), *from;
	int r;

	if (!to)
		return hy_bad_handle(o->to);
	if (flags &
	    ~(unsigned int)(HYPHAE_BRIDGE_SAME_THREAD | HYPHAE_BRIDGE_POST))
		return -EINVAL;
	r = hy_follow_look(o->cell, &o->follow, &o->type, &o->cell_id,
			   &o->event);
	if (r)
		return r;
	from = hy_graph_of(hy_cell_place(o->cell));
	if (from == to)
		return -EINVAL;
	if (hy_guarded(from) || hy_guarded(to))
		return -EPERM;
	o->from = hy_handle(from, from->id, HY_TAG_GRAPH);
	o->posts = flags & HYPHAE_BRIDGE_POST ||
		   (!hy_shared(to) && !(flags & HYPHAE_BRIDGE_SAME_THREAD));
	return 0;
}

/*
 * Bridge, link and hub; the bridged cell's reference, and a use of the hub that
 * is to be given back.  NULL and *ret.
 */
static struct hy_bridge *bridge_make(const struct order *o, int *ret)
{
	struct hy_bridge *b = hy_zalloc(sizeof(*b));
	struct hy_hub *hub;

	*ret = -ENOMEM;
	if (!b)
		return NULL;
	hub = hy_hub_enter(o->from, ret);
	if (hub) {
		b->link = hy_link_enter(hub, o->to, o->posts, ret);
		if (!b->link)
			hy_hub_leave(hub);
	}
	if (!b->link) {
		hy_free(b);
		return NULL;
	}
	b->refs = 1;
	b->follow = o->follow;
	b->type = o->type;
	b->cell_id = o->cell_id;
	b->event = o->event;
	b->leave.run = leave;
	return b;
}

/* The first signals are staged, and wait. */
static int bridge_subscribe(struct hy_bridge *b, struct hyphae_cell *cell)
{
	struct hy_scope *hidden;
	struct hyphae_subscription *subscription;
	int r;

	/* Given back by bridge_left(), also when this fails. */
	hy_bridge_ref(b);
	hy_hub_enter_again(b->link->hub);
	hidden = hy_scopes_hide();
	subscription =
		hyphae_subscribe_with(cell, bridge_told, b, bridge_left, 0);
	r = subscription ? 0 : -errno;
	hy_scopes_show(hidden);
	lock(b);
	b->follow.subscription = subscription;
	unlock(b);
	return r;
}

/* A source that holds what is staged, at the place of the bridge. */
static struct hyphae_cell *inlet_make(struct hy_bridge *b,
				      const struct order *o)
{
	struct hy_scope *hidden;
	struct hy_bridged value = {.type = b->type};
	struct hy_held first = {.type = NULL};

	if (b->event)
		goto make;
	lock(b);
	if (b->staged.values.count)
		first = b->staged.values.items[0];
	b->staged.values.count = 0;
	unlock(b);
	if (first.type) {
		value.word = first.word;
		value.error = first.error;
		value.any = 1;
	}
make:
	hidden = hy_scopes_hide();
	b->inlet =
		b->event ? hyphae_event_new_at(o->to, &hy_bridged_type, o->site)
			 : hyphae_cell_new_at(o->to, &hy_bridged_type, &value,
					      o->site);
	hy_scopes_show(hidden);
	hy_held_drop(&first);
	return b->inlet;
}

static struct hyphae_cell *bridged_make(struct hy_bridge *b,
					const struct order *o)
{
	struct hyphae_cell *inlet = inlet_make(b, o), *cell;
	struct hy_order order = {.op = &bridge_op,
				 .inputs = &inlet,
				 .count = 1,
				 .type = o->type,
				 .fn = (void (*)(void))run_bridge,
				 .site = o->site,
				 .eager = true};
	int error;

	if (!inlet)
		return NULL;
	cell = hy_order(&order);
	error = errno;
	hyphae_cell_unref(inlet);
	errno = error;
	return cell;
}

/* Let cross what has been staged since, and all that follows. */
static int bridge_open(struct hy_bridge *b)
{
	bool any;
	int r;

	lock(b);
	b->open = true;
	any = !hy_crossing_empty(&b->staged);
	if (any)
		hy_bridge_stage(b);
	unlock(b);
	r = any ? kick(b) : 0;
	lock(b);
	any = b->in_staged;
	unlock(b);
	return any && r ? r : 0; /* else it is what a subscriber returned */
}

static struct hyphae_cell *connect(struct hy_bridge *b, const struct order *o,
				   int *ret)
{
	struct hyphae_cell *cell = NULL;

	*ret = bridge_subscribe(b, o->cell);
	if (!*ret) {
		cell = bridged_make(b, o);
		*ret = cell ? 0 : -errno;
	}
	if (!cell) {
		bridge_released(b);
		return NULL;
	}
	*ret = hyphae_cell_own(cell, b, bridge_released);
	if (!*ret)
		*ret = bridge_open(b);
	if (!*ret)
		return cell;
	hy_cell_undo(cell);
	return NULL;
}

static struct hyphae_cell *bridge(const struct order *o, int *ret)
{
	struct hy_bridge *b = bridge_make(o, ret);
	struct hyphae_cell *cell;
	struct hy_hub *hub;

	if (!b)
		return NULL;
	/* It is there until the end, also if the cell has ended already. */
	hub = b->link->hub;
	/*
	 * What crosses at once calls subscribers, and these may end the scope
	 * that the cell belongs to, and so the bridge.
	 */
	hy_bridge_ref(b);
	cell = connect(b, o, ret);
	hy_bridge_put(b);
	hy_hub_leave(hub);
	return cell;
}

struct hyphae_cell *hyphae_bridge_at(struct hyphae_cell *cell,
				     struct hyphae_graph *graph,
				     unsigned int flags, const char *site)
{
	struct order o = {.cell = cell, .to = graph, .site = site};
	struct hyphae_cell *result;
	int r;

	if (!cell)
		return NULL;
	r = look(&o, flags);
	result = r ? NULL : bridge(&o, &r);
	if (!result)
		errno = -r;
	return result;
}
