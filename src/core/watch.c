/* SPDX-License-Identifier: MIT */
/*
 * Records, detail probes and the accounts of a pass; see watch.h and
 * probes/abi.h.
 *
 * A thread's block is written by that thread only.  The record being built
 * lies behind the last counted one, and `count` is raised when it is whole,
 * so that a tool may read the block at any time.
 */
#include "core/watch.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "core/label.h"
#include "core/probe.h"
#include "core/slab.h"
#include "probes/abi.h"

_Static_assert(sizeof(struct hy_record) == 24, "record");
_Static_assert(offsetof(struct hy_block, records) == HY_BLOCK_HEADER, "block");
_Static_assert(sizeof(struct hy_block) == 16384, "block");

__thread struct hy_self hy_self
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

struct hy_watcher *hy_watchers; /* for tools: hy_layout.threads */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool key_made;
static uint64_t lost_without_block; /* of threads that got no block */

/* ---- blocks ----------------------------------------------------------------- */

static HY_FRAME void probe_records(struct hy_block *block)
{
	hy_probe_records(block->thread, block, block->count);
	HY_FRAME_END();
}

static void block_begin(struct hy_block *block)
{
	block->fires = block->passes = 0;
	store_release(&block->count, 0);
	store_release(&block->sequence, block->sequence + 1);
	hy_clock_anchor();
	block->base_ns = hy_clock_now();
}

/* Complete the record that is being built. */
static void record_close(struct hy_watcher *w)
{
	struct hy_block *block = w->block;

	if (!w->open)
		return;
	w->open = NULL;
	if (block->records[block->count].cell_flags & HY_RECORD_FIRE)
		block->fires++;
	store_release(&block->count, block->count + 1);
}

static void block_flush(struct hy_watcher *w)
{
	struct hy_block *block = w->block;

	record_close(w);
	if ((!block->count && !block->passes) ||
	    __atomic_exchange_n(&w->flushing, 1, __ATOMIC_ACQUIRE))
		return;
	if (load_relaxed(&hy_gate.records))
		probe_records(block);
	block_begin(block);
	store_release(&w->flushing, 0);
}

static void thread_ends(void *watcher)
{
	struct hy_watcher *w = watcher, **link;

	if (w->block)
		block_flush(w);
	hy_pass_thread_ends();
	hy_self.watcher = NULL;
	pthread_mutex_lock(&lock);
	for (link = &hy_watchers; *link != w;)
		link = &(*link)->next;
	store_release(link, w->next);
	pthread_mutex_unlock(&lock);
	hy_free(w->block);
	hy_free(w);
}

/*
 * A child has the thread that forked and nothing of the others; what was
 * recorded is the parent's to tell.
 */
static void in_child(void)
{
	struct hy_watcher *w = hy_self.watcher;

	pthread_mutex_init(&lock, NULL);
	hy_gate.reports = hy_self.pass != NULL;
	hy_watchers = w;
	if (!w)
		return;
	w->next = NULL;
	w->open = NULL;
	w->flushing = 0;
	if (w->block) {
		w->block->thread = (uint64_t)syscall(SYS_gettid);
		w->block->sequence = 0;
		block_begin(w->block);
	}
}

static void make_key(void)
{
	key_made = pthread_key_create(&key, thread_ends) == 0;
	pthread_atfork(NULL, NULL, in_child);
}

/* Tell that nothing is missing; all of it is touched, or it cannot be read. */
static void say_farewell(void)
{
	static struct hy_block farewell;

	if (!load_relaxed(&hy_gate.records))
		return;
	memset(&farewell, 0, sizeof(farewell));
	farewell.version = HY_ABI_VERSION;
	farewell.thread = (uint64_t)syscall(SYS_gettid);
	probe_records(&farewell);
}

/* The lock may be held by a thread that a fork() has left behind. */
static bool lock_at_exit(void)
{
	for (int i = 0; i < 1000; i++) {
		if (pthread_mutex_trylock(&lock) == 0)
			return true;
		sched_yield();
	}
	return false;
}

/*
 * The process exits, or the library is unloaded: what all threads have so
 * far.  Their blocks are read while they may still run, which is fine (see
 * above); they do not hit the probe again.
 */
__attribute__((destructor)) static void hy_exit(void)
{
	struct hy_self *self = &hy_self;

	if (self->watcher && self->watcher->block)
		record_close(self->watcher);
	if (key_made)
		pthread_key_delete(key);
	if (!lock_at_exit())
		return; /* without farewell: something may be missing */
	for (struct hy_watcher *w = hy_watchers; w; w = w->next) {
		struct hy_block *block = w->block;

		if (!block || (!load_acquire(&block->count) && !block->passes))
			continue;
		if (!__atomic_exchange_n(&w->flushing, 1, __ATOMIC_ACQUIRE) &&
		    load_relaxed(&hy_gate.records))
			probe_records(block);
	}
	pthread_mutex_unlock(&lock);
	say_farewell();
}

static struct hy_watcher *watcher_new(void)
{
	struct hy_watcher *w = hy_zalloc(sizeof(*w));

	if (!w)
		return NULL;
	pthread_once(&once, make_key);
	if (!key_made || pthread_setspecific(key, w)) {
		hy_free(w);
		return NULL;
	}
	pthread_mutex_lock(&lock);
	w->next = hy_watchers;
	store_release(&hy_watchers, w);
	pthread_mutex_unlock(&lock);
	return hy_self.watcher = w;
}

static struct hy_watcher *watcher(void)
{
	return likely(hy_self.watcher) ? hy_self.watcher : watcher_new();
}

int hy_watch_thread(void)
{
	return watcher() ? 0 : -1;
}

static bool block_new(struct hy_watcher *w)
{
	struct hy_block *block = hy_zalloc(sizeof(*block));

	if (!block)
		return false;
	block->thread = (uint64_t)syscall(SYS_gettid);
	block->version = HY_ABI_VERSION;
	block_begin(block);
	store_release(&w->block, block);
	return true;
}

/* This thread's watcher with a block, or NULL (then the loss is counted). */
static struct hy_watcher *recorder(void)
{
	struct hy_watcher *w = watcher();

	if (likely(w && w->block))
		return w;
	if (w && block_new(w))
		return w;
	__atomic_add_fetch(&lost_without_block, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* ---- records ------------------------------------------------------------------ */

static uint32_t short_ns(struct hy_record *r, uint64_t ns)
{
	if (unlikely(ns > UINT32_MAX)) {
		if (!(r->cell_flags & HY_RECORD_LONG)) {
			r->cell_flags |= HY_RECORD_LONG;
			r->compute >>= HY_RECORD_LONG_SHIFT;
			r->fanout >>= HY_RECORD_LONG_SHIFT;
		}
		ns >>= HY_RECORD_LONG_SHIFT;
		return ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
	}
	return r->cell_flags & HY_RECORD_LONG
		       ? (uint32_t)(ns >> HY_RECORD_LONG_SHIFT)
		       : (uint32_t)ns;
}

/*
 * Room for one more record; also when the block has waited so long that a
 * start would not fit.  False when hy_exit() has taken the block.
 */
static bool block_ready(struct hy_watcher *w, uint64_t start)
{
	struct hy_block *block = w->block;

	if (block->count == HY_BLOCK_RECORDS ||
	    (start > block->base_ns && start - block->base_ns > UINT32_MAX / 2))
		block_flush(w);
	if (!block->count)
		block->base_ns = start;
	if (!block->count && !block->passes)
		w->born_ns = start;
	return block->count < HY_BLOCK_RECORDS;
}

/* Begin a record at `start`, or NULL. */
static struct hy_record *record_open(struct hy_graph *g, struct hy_cell *c,
				     uint64_t start, uint64_t depth,
				     uint32_t flags)
{
	struct hy_watcher *w = recorder();
	struct hy_block *block;
	struct hy_record *r;
	uint64_t sequence;

	if (unlikely(!w))
		return NULL;
	record_close(w);
	block = w->block;
	sequence = block->sequence;
	if (unlikely(!block_ready(w, start)))
		return NULL;
	if (unlikely(block->sequence != sequence))
		g->clock = 0; /* the probe has trapped */
	block->lost = load_relaxed(&lost_without_block);
	r = &block->records[block->count];
	r->cell_flags = c->id << 16 | flags;
	r->start = start >= block->base_ns ? (uint32_t)(start - block->base_ns)
					   : 0;
	r->compute = r->fanout = 0;
	r->depth = (uint32_t)depth;
	w->open = c;
	return r;
}

/* The record being built, if it is of this cell and has not fired. */
static struct hy_record *record_of(struct hy_cell *c)
{
	struct hy_watcher *w = hy_self.watcher;
	struct hy_record *r;

	if (!w || w->open != c)
		return NULL;
	r = &w->block->records[w->block->count];
	return r->cell_flags & HY_RECORD_FIRE ? NULL : r;
}

/* ---- what the hot functions tell ---------------------------------------------- */

static void count_write(struct hy_cell *c, uint64_t changed)
{
	if (hy_self.pass)
		hy_pass_count(hy_self.pass, c->id,
			      changed ? HY_COUNT_WRITE : HY_COUNT_UNCHANGED);
}

void hy_watch_notify(struct hy_graph *g, struct hy_cell *c, uint64_t kind,
		     uint64_t changed)
{
	uint32_t flags = HY_RECORD_NOTIFY | (uint32_t)kind
						    << HY_RECORD_KIND_SHIFT;

	if (kind == HYPHAE_VALUE) {
		count_write(c, changed);
		flags |= HY_RECORD_WRITE | (changed ? 0 : HY_RECORD_UNCHANGED);
	}
	if (hy_gate.records)
		record_open(g, c, hy_clock_last(g), 0, flags);
}

static HY_FRAME void probe_compute_done(struct hy_graph *g, struct hy_cell *c,
					int64_t result, uint64_t ns)
{
	hy_probe_compute_done(g, c, result, ns);
}

void hy_watch_compute(struct hy_graph *g, struct hy_derived *d, uint64_t start,
		      uint64_t ns, int result, bool wrote, bool changed)
{
	struct hy_cell *c = &d->cell;
	uint32_t flags = HY_RECORD_COMPUTE;
	struct hy_record *r;

	if (wrote) {
		count_write(c, changed);
		flags |= HY_RECORD_WRITE | (changed ? 0 : HY_RECORD_UNCHANGED);
	}
	if (hy_gate.records) {
		r = record_open(g, c, start,
				g->depth_first ? g->depth : c->height, flags);
		if (r)
			r->compute = short_ns(r, ns);
	}
	if (hy_gate.detail)
		probe_compute_done(g, c, result, ns);
}

static HY_FRAME void probe_fanout_done(struct hy_graph *g, struct hy_cell *c,
				       uint64_t called, uint64_t ns)
{
	hy_probe_fanout_done(g, c, called, ns);
}

/* Count a fire in its pass; whether the cell had fired in it before. */
static bool count_fire(struct hy_graph *g, struct hy_cell *c)
{
	struct hy_cold *cold = hy_cold_of(c);
	bool again;

	if (unlikely(!cold)) /* of the process: who looks takes no storage */
		cold = hy_cold_new(c, NULL, sizeof(*cold));
	if (unlikely(!cold)) /* nobody can tell whether it fired before */
		__atomic_add_fetch(&lost_without_block, 1, __ATOMIC_RELAXED);
	again = cold && cold->stamp == g->pass;
	hy_watch_pass(g);

	if (hy_self.pass)
		again = hy_pass_count(hy_self.pass, c->id, HY_COUNT_FIRE);
	if (likely(cold != NULL))
		cold->stamp = g->pass;
	g->pass_fires++;
	g->pass_refires += again;
	return again;
}

void hy_watch_fanout(struct hy_graph *g, struct hy_cell *c, uint64_t height,
		     uint64_t start, uint64_t ns, uint64_t called)
{
	bool again = count_fire(g, c);
	struct hy_record *r;

	if (hy_gate.records) {
		uint32_t flags =
			HY_RECORD_FIRE | (again ? HY_RECORD_REFIRE : 0);

		r = record_of(c);
		if (r)
			r->cell_flags |= flags;
		else
			r = record_open(g, c, start, height, flags);
		if (r)
			r->fanout = short_ns(r, ns);
	}
	if (hy_gate.detail)
		probe_fanout_done(g, c, called, ns);
}

static HY_FRAME void probe_subscriber_done(struct hy_graph *g, struct hy_sub *s,
					   uint64_t ns, hyphae_subscriber_fn fn)
{
	hy_probe_subscriber_done(g, s->cell, s->id, ns, fn);
}

void hy_watch_subscriber(struct hy_graph *g, struct hy_sub *s,
			 hyphae_subscriber_fn fn, uint64_t ns)
{
	if (s->cell->flags & F_DERIVED) {
		const struct hy_derived *d = hy_derived_of(s->cell);

		if (d->op->caller == fn)
			fn = (hyphae_subscriber_fn)d->fn;
	}
	probe_subscriber_done(g, s, ns, fn);
}

/* ---- passes and batches -------------------------------------------------------- */

static HY_FRAME void probe_pass(uint64_t graph, uint64_t pass)
{
	hy_probe_pass(graph, pass);
}

static HY_FRAME void probe_pass_done(uint64_t graph, uint64_t pass,
				     uint64_t fires, uint64_t refires)
{
	hy_probe_pass_done(graph, pass, fires, refires);
}

static HY_FRAME void probe_batch_done(struct hy_graph *g, uint64_t pass,
				      uint64_t writes, uint64_t fired,
				      uint64_t coalesced)
{
	hy_probe_batch_done(g->id, pass, writes, fired, coalesced);
}

void hy_watch_pass_open(struct hy_graph *g)
{
	g->pass_fires = g->pass_refires = 0;
	g->clock = 0;
	g->left = true; /* the end of the pass */
	if (hy_self.pass)
		g->pass = hy_pass_id(hy_self.pass);
	else if (hy_gate.detail)
		probe_pass(g->id, g->pass);
}

/* A pass that was counted has ended; perhaps it is time to tell. */
static void pass_over(bool counts)
{
	struct hy_watcher *w;
	uint64_t now;

	if (!hy_gate.records)
		return;
	w = recorder();
	if (!w)
		return;
	record_close(w);
	now = hy_clock_now();
	if (!w->block->count && !w->block->passes)
		w->born_ns = now;
	w->block->passes += counts;
	if (now - w->born_ns >= HY_BLOCK_AGE_NS)
		block_flush(w);
}

void hy_watch_pass_close(struct hy_graph *g)
{
	hy_watch_pass(g);
	if (!hy_self.pass && hy_gate.detail)
		probe_pass_done(g->id, g->pass, g->pass_fires, g->pass_refires);
	pass_over(!hy_self.pass);
}

void hy_watch_pass_began(uint64_t pass)
{
	if (hy_gate.detail)
		probe_pass(0, pass);
}

void hy_watch_pass_ended(uint64_t pass, uint64_t fires, uint64_t refires)
{
	if (hy_gate.detail)
		probe_pass_done(0, pass, fires, refires);
	pass_over(true);
}

void hy_watch_batch(struct hy_graph *g, uint64_t pass, uint64_t writes,
		    bool ran, uint64_t coalesced)
{
	uint64_t fired;

	hy_watch_pass(g);
	fired = ran ? g->pass_fires : 0;
	if (hy_gate.detail)
		probe_batch_done(g, pass, writes, fired, coalesced);
}

void hy_watch_reports(int change)
{
	__atomic_add_fetch(&hy_gate.reports, (uint16_t)change,
			   __ATOMIC_RELAXED);
}

HY_FRAME bool hyphae_watched(void)
{
	uint64_t watched = load_relaxed(&hyphae_watch_semaphore) != 0;

	hy_probe_watch(watched);
	return watched;
}
