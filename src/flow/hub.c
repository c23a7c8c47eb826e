/* SPDX-License-Identifier: MIT */
/* Hubs and links: made when the first bridge needs them, gone with the last. */
#include <errno.h>

#include "base/alloc.h"
#include "flow/bridge.h"

static uint32_t count_up(uint32_t *refs)
{
	return __atomic_add_fetch(refs, 1, __ATOMIC_RELAXED);
}

static bool count_down(uint32_t *refs)
{
	return __atomic_sub_fetch(refs, 1, __ATOMIC_ACQ_REL) == 0;
}

void hy_hub_put(struct hy_hub *hub)
{
	if (!count_down(&hub->refs))
		return;
	pthread_mutex_destroy(&hub->lock);
	hy_free(hub);
}

void hy_link_ref(struct hy_link *link)
{
	count_up(&link->refs);
}

void hy_link_put(struct hy_link *link)
{
	if (!count_down(&link->refs))
		return;
	hy_hub_put(link->hub);
	hy_free(link);
}

void hy_bridge_ref(struct hy_bridge *b)
{
	count_up(&b->refs);
}

void hy_bridge_put(struct hy_bridge *b)
{
	if (!count_down(&b->refs))
		return;
	hy_crossing_done(&b->staged);
	hy_crossing_done(&b->ready);
	hy_crossing_done(&b->going);
	hy_link_put(b->link);
	hy_free(b);
}

/* ---- flush -------------------------------------------------------------------- */

void hy_bridge_stage(struct hy_bridge *b)
{
	if (b->in_staged)
		return;
	b->in_staged = true;
	b->next_staged = b->link->staged;
	b->link->staged = b;
	hy_bridge_ref(b);
}

void hy_bridge_make_ready(struct hy_bridge *b)
{
	if (b->in_ready)
		return;
	b->in_ready = true;
	b->next_ready = b->link->ready;
	b->link->ready = b;
	hy_bridge_ref(b);
}

/*
 * What a link's bridges have staged is ready.  They are put in front of
 * *ret_moved.  What found no room stays staged.
 */
static int stage_over(struct hy_link *link, struct hy_bridge **ret_moved)
{
	struct hy_bridge *b = link->staged, *next;
	int r, result = 0;

	link->staged = NULL;
	for (; b; b = next) {
		next = b->next_staged;
		b->in_staged = b->kicked = false;
		r = hy_crossing_move(&b->ready, &b->staged, b->event);
		if (r) {
			hy_bridge_stage(b);
			hy_bridge_put(b); /* not the last: it is listed */
			result = r;
			continue;
		}
		hy_bridge_make_ready(b);
		b->next_staged = *ret_moved;
		*ret_moved = b;
	}
	return result;
}

/* Change the state if it is `from`; then its reference is the caller's. */
static bool link_turn(struct hy_link *link, enum hy_link_state from,
		      enum hy_link_state to)
{
	bool turned;

	pthread_mutex_lock(&link->hub->lock);
	turned = link->state == from;
	if (turned)
		link->state = to;
	pthread_mutex_unlock(&link->hub->lock);
	return turned;
}

/*
 * On the thread of the other graph, if that is not this one.  The lock keeps
 * the arrival's cell there while we post to it.
 */
static int dispatch(struct hy_link *link)
{
	struct hy_hub *hub = link->hub;
	bool failed = false;
	int r;

	if (!link->posts)
		return hy_job_run(&link->deliver);
	pthread_mutex_lock(&hub->lock);
	r = link->gone ? -ESTALE : hy_kick_post(&link->arrival);
	if (r && link->state == LINK_POSTED) {
		link->state = LINK_IDLE;
		failed = true;
	}
	pthread_mutex_unlock(&hub->lock);
	if (failed)
		hy_link_put(link);
	return r == -ESTALE ? 0 : r;
}

/* Bridges whose cells were released where the graph could not be used. */
static void end_released(struct hy_bridge *b)
{
	struct hy_bridge *next;

	for (; b; b = next) {
		next = b->next_released;
		hyphae_unsubscribe(b->follow.subscription);
		hy_bridge_put(b);
	}
}

int hy_hub_flush(struct hy_hub *hub)
{
	struct hy_bridge *moved = NULL, *released, *next;
	struct hy_link *queue = NULL, *link;
	int r, result = 0;

	pthread_mutex_lock(&hub->lock);
	released = hub->released;
	hub->released = NULL;
	for (link = hub->links; link; link = link->next) {
		r = stage_over(link, &moved);
		result = result ? result : r;
		if (!link->ready || link->state != LINK_IDLE)
			continue;
		link->state = link->posts ? LINK_POSTED : LINK_TAKEN;
		hy_link_ref(link);
		/* The queue's: the state's may be taken, or go, meanwhile. */
		hy_link_ref(link);
		link->next_queued = queue;
		queue = link;
	}
	pthread_mutex_unlock(&hub->lock);
	/* Nothing is staged meanwhile: this is the graph's drainer. */
	for (; moved; moved = next) {
		next = moved->next_staged;
		hy_pile_clear(&moved->staged.values);
		hy_bridge_put(moved);
	}
	while ((link = queue)) {
		queue = link->next_queued;
		r = dispatch(link);
		result = result ? result : r;
		hy_link_put(link);
	}
	end_released(released);
	return result;
}

/* ---- hubs ------------------------------------------------------------------------- */

#define BUCKETS 64

/* Protects `hubs` and their counts of bridges; nothing is called under it. */
static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static struct hy_hub *hubs[BUCKETS];

static struct hy_hub **bucket(uint64_t graph_id)
{
	return &hubs[graph_id % BUCKETS];
}

/* Locked. */
static struct hy_hub *hub_find(uint64_t graph_id)
{
	struct hy_hub *hub = *bucket(graph_id);

	while (hub && hub->graph_id != graph_id)
		hub = hub->next;
	return hub;
}

static int hub_kicked(const struct hyphae_signal *signal, void *ctx)
{
	(void)signal;
	return hy_hub_flush(ctx);
}

static void hub_left(void *ctx)
{
	struct hy_hub *hub = ctx;

	pthread_mutex_lock(&hub->lock);
	hub->gone = true;
	pthread_mutex_unlock(&hub->lock);
	hy_hub_flush(hub);
	hy_kick_done(&hub->kick);
	hy_hub_put(hub);
}

static struct hy_hub *hub_make(struct hyphae_graph *graph, int *ret)
{
	struct hy_hub *hub = hy_zalloc(sizeof(*hub));

	*ret = -ENOMEM;
	if (!hub)
		return NULL;
	hub->refs = 2; /* the kick's, and for the moment ours */
	hub->graph = hy_graph(graph);
	hub->graph_id = hyphae_graph_id(graph);
	pthread_mutex_init(&hub->lock, NULL);
	*ret = hy_kick_init(&hub->kick, graph, "bridge", hub_kicked, hub,
			    hub_left);
	if (!*ret)
		return hub;
	hy_hub_put(hub);
	return NULL;
}

/* One more use of the hub of that graph, if there is one. */
static struct hy_hub *hub_use(uint64_t graph_id, struct hy_hub *otherwise)
{
	struct hy_hub *hub;

	pthread_mutex_lock(&registry);
	hub = hub_find(graph_id);
	if (!hub && otherwise) {
		hub = otherwise;
		hub->next = *bucket(graph_id);
		*bucket(graph_id) = hub;
	}
	if (hub) {
		hub->bridges++;
		count_up(&hub->refs);
	}
	pthread_mutex_unlock(&registry);
	return hub;
}

struct hy_hub *hy_hub_enter(struct hyphae_graph *graph, int *ret)
{
	uint64_t id = hyphae_graph_id(graph);
	struct hy_hub *hub = hub_use(id, NULL), *made;

	*ret = 0;
	if (hub)
		return hub;
	made = hub_make(graph, ret);
	if (!made)
		return NULL;
	hub = hub_use(id, made);
	if (hub != made) /* another thread was faster */
		hy_kick_end(&made->kick);
	hy_hub_put(made);
	return hub;
}

void hy_hub_enter_again(struct hy_hub *hub)
{
	pthread_mutex_lock(&registry);
	hub->bridges++;
	pthread_mutex_unlock(&registry);
	count_up(&hub->refs);
}

void hy_hub_leave(struct hy_hub *hub)
{
	struct hy_hub **link = bucket(hub->graph_id);
	bool last;

	pthread_mutex_lock(&registry);
	last = --hub->bridges == 0;
	if (last) {
		while (*link != hub)
			link = &(*link)->next;
		*link = hub->next;
	}
	pthread_mutex_unlock(&registry);
	if (last)
		hy_kick_end(&hub->kick);
	hy_hub_put(hub);
}

/* ---- links ------------------------------------------------------------------------- */

/* By post: what the other graph's thread does. */
static int link_arrived(const struct hyphae_signal *signal, void *ctx)
{
	struct hy_link *link = ctx;

	(void)signal;
	return link_turn(link, LINK_POSTED, LINK_TAKEN)
		       ? hy_job_run(&link->deliver)
		       : 0;
}

static void link_left(void *ctx)
{
	struct hy_link *link = ctx;

	pthread_mutex_lock(&link->hub->lock);
	link->gone = true;
	pthread_mutex_unlock(&link->hub->lock);
	hy_kick_done(&link->arrival);
	if (link_turn(link, LINK_POSTED, LINK_IDLE))
		hy_link_put(link);
	hy_link_put(link);
}

static struct hy_link *
link_make(struct hy_hub *hub, struct hyphae_graph *target, bool posts, int *ret)
{
	struct hy_link *link = hy_zalloc(sizeof(*link));

	*ret = -ENOMEM;
	if (!link)
		return NULL;
	link->refs = posts ? 2 : 1; /* the arrival's; for the moment ours */
	link->hub = hub;
	count_up(&hub->refs);
	link->target = target;
	link->target_id = hyphae_graph_id(target);
	link->posts = posts;
	link->deliver.run = hy_link_deliver;
	*ret = posts ? hy_kick_init(&link->arrival, target, "bridge",
				    link_arrived, link, link_left)
		     : 0;
	if (!*ret)
		return link;
	hy_link_put(link);
	return NULL;
}

static struct hy_link *link_use(struct hy_hub *hub, uint64_t target_id,
				bool posts, struct hy_link *otherwise)
{
	struct hy_link *link;

	pthread_mutex_lock(&hub->lock);
	link = hub->links;
	while (link && (link->target_id != target_id || link->posts != posts))
		link = link->next;
	if (!link && otherwise) {
		link = otherwise;
		link->next = hub->links;
		hub->links = link;
	}
	if (link) {
		link->cells++;
		hy_link_ref(link);
	}
	pthread_mutex_unlock(&hub->lock);
	return link;
}

struct hy_link *hy_link_enter(struct hy_hub *hub, struct hyphae_graph *target,
			      bool posts, int *ret)
{
	uint64_t id = hyphae_graph_id(target);
	struct hy_link *link = link_use(hub, id, posts, NULL), *made;

	*ret = 0;
	if (link)
		return link;
	made = link_make(hub, target, posts, ret);
	if (!made)
		return NULL;
	link = link_use(hub, id, posts, made);
	if (link != made && posts)
		hy_kick_end(&made->arrival);
	hy_link_put(made);
	return link;
}

static void forget(struct hy_bridge *b, bool staged)
{
	struct hy_bridge *next;

	for (; b; b = next) {
		next = staged ? b->next_staged : b->next_ready;
		hy_bridge_put(b);
	}
}

void hy_link_leave(struct hy_link *link)
{
	struct hy_bridge *staged = NULL, *ready = NULL;
	struct hy_hub *hub = link->hub;
	struct hy_link **at = &hub->links;
	bool last;

	pthread_mutex_lock(&hub->lock);
	last = --link->cells == 0;
	if (last) {
		while (*at != link)
			at = &(*at)->next;
		*at = link->next;
		link->gone = true;
		/* Nobody is there to whom it could go. */
		staged = link->staged;
		ready = link->ready;
		link->staged = link->ready = NULL;
	}
	pthread_mutex_unlock(&hub->lock);
	forget(staged, true);
	forget(ready, false);
	if (last && link->posts)
		hy_kick_end(&link->arrival);
}
