// SPDX-License-Identifier: MIT
/* Watching one process; see watch.h. */
#include "bpf/watch.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bpf/capability.h"
#include "bpf/interrupt.h"
#include "bpf/peek.h"

/* Up to so many cells, all are looked up at the start. */
#define CELLS_AT_START 2000000
/* Names and heights may change: look again after so long. */
#define NAMES_AGE_NS 10000000000ull
/* Of a process whose cells come and go, forget those that are gone. */
#define CELLS_MANY 100000
/* And never spend more than a fifth of the time on it. */
#define NAMES_SHARE 4
#define NAMES_PAUSE_NS 100000000ull
/*
 * A process can have so many cells, threads and events that no time is enough
 * for them; in milliseconds, what may be spent at once.
 */
#define DRAIN_MS 100
#define UPDATE_MS 1000
#define LAST_MS 10000
#define CENSUS_MS 1000
#define CENSUS_START_MS 10000
#define PEEK_MS 50
/* What a process that is killed takes with it is what came after a peek. */
#define PEEK_PAUSE_NS 100000000ull
/* And all that, once hyphae-top was told to end. */
#define INTERRUPTED_MS 2000

static uint64_t now_ns(void)
{
	return interrupt_clock_ns();
}

static void allow(struct watch *watch, unsigned int ms)
{
	watch->until_ns = ms ? now_ns() + ms * 1000000ull : 0;
}

/* The time that was allowed is over. */
static bool enough(void *ctx)
{
	const struct watch *watch = ctx;

	return interrupt_is_due(INTERRUPTED_MS) ||
	       (watch->until_ns && now_ns() >= watch->until_ns);
}

/* ---- from collect to the model ---------------------------------------- */

static void on_block(void *ctx, const void *data, size_t bytes)
{
	struct watch *watch = ctx;

	stream_block(&watch->stream, data, bytes);
}

static void on_lost(void *ctx, const struct wire_lost *lost)
{
	struct watch *watch = ctx;

	stream_lost(&watch->stream, lost);
}

/* Probe mode tells sums since the start; the model adds differences. */
static void on_cell(void *ctx, uint64_t id, const struct wire_cell *sums)
{
	struct watch *watch = ctx;
	struct model *model = &watch->model;
	struct cell *cell = model_cell(model, id);
	struct counts *total = &model->total, *now = &cell->now;

	if (sums->notifies == now->notifies && sums->writes == now->writes &&
	    sums->fires == now->fires && sums->computes == now->computes &&
	    sums->fanout_ns == now->fanout_ns)
		return;
	if (model_touch(model, cell) != cell)
		return; /* no memory: the sums still differ the next time */
#define GROW(field)                                                            \
	do {                                                                   \
		total->field += sums->field - now->field;                      \
		now->field = sums->field;                                      \
	} while (0)
	GROW(notifies);
	GROW(writes);
	GROW(unchanged);
	GROW(fires);
	GROW(refires);
	GROW(computes);
	GROW(fanout_ns);
	GROW(compute_ns);
#undef GROW
}

static void on_bucket(void *ctx, uint64_t id, unsigned int bucket,
		      uint64_t count)
{
	struct watch *watch = ctx;
	struct model *model = &watch->model;
	struct cell *cell = model_find(model, id);
	uint64_t had, value;

	if (!cell || bucket >= HIST_BUCKETS)
		return;
	had = (uint64_t)hist_count(&cell->all, bucket) +
	      hist_count(&cell->hist, bucket);
	if (count <= had)
		return;
	if (model_touch(model, cell) != cell)
		return;
	(void)hist_add(&cell->hist, bucket, (uint32_t)(count - had));
	(void)hist_add(&model->hist, bucket, (uint32_t)(count - had));
	value = hist_value(bucket);
	if (value > cell->max_ns)
		cell->max_ns = value;
	if (value > model->max_ns)
		model->max_ns = value;
}

/*
 * What the BPF programs could only count.  Until all that waits is taken in,
 * blocks that were only not looked at yet would seem to be missing.
 */
static void take_counters(struct watch *watch, bool all)
{
	struct losses *lost = &watch->model.lost;
	uint64_t now[WIRE_COUNTERS], *before = watch->counters, missing, known;
	struct rusage usage;

	collect_counters(watch->collect, now, &watch->cost);
#define GREW(which) (now[which] - before[which])
	lost->records += GREW(WIRE_BLIND_RECORDS) + GREW(WIRE_FAULT_RECORDS);
	lost->fires += GREW(WIRE_BLIND_FIRES) + GREW(WIRE_FULL_FIRES);
	lost->passes += GREW(WIRE_BLIND_PASSES);
	lost->records += GREW(WIRE_FULL_EVENTS);
	if (watch->config.probes)
		watch->model.passes += GREW(WIRE_PASSES);
#undef GREW
	memcpy(before, now, sizeof(now));
	missing = stream_missing(&watch->stream);
	known = now[WIRE_BLIND_BLOCKS] + now[WIRE_FAULT_BLOCKS];
	if (watch->config.probes)
		lost->blocks = watch->moves;
	else if (all && missing > known && missing - known > lost->blocks)
		lost->blocks = missing - known;
	getrusage(RUSAGE_SELF, &usage);
	watch->cost.cpu_s =
		(double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		1e-6 * (double)(usage.ru_utime.tv_usec +
				usage.ru_stime.tv_usec);
}

/* ---- names ------------------------------------------------------------- */

struct naming {
	struct watch *watch;
	bool all;   /* also cells that did nothing yet */
	bool fresh; /* also those whose names are known: they may change */
};

static bool wants(void *ctx, uint64_t id)
{
	struct naming *naming = ctx;
	struct model *model = &naming->watch->model;
	struct cell *cell = model_find(model, id);

	if (cell) {
		cell->seen = model->interval;
		cell->met = 1;
	}
	return cell ? !cell->known || (naming->fresh && cell->touched)
		    : naming->all;
}

static void name_cell(void *ctx, const struct census_cell *found)
{
	struct naming *naming = ctx;
	struct model *model = &naming->watch->model;
	struct cell *cell = model_cell(model, found->id);
	struct text_pool *texts = &model->texts;
	struct traits traits = {
		.name = text_add(texts, found->name, strlen(found->name)),
		.type = text_add(texts, found->type, strlen(found->type)),
		.op = text_add(texts, found->op, strlen(found->op)),
		.site = text_add(texts, found->site, strlen(found->site)),
		.height = found->height,
		.targets = found->targets < UINT32_MAX
				   ? (uint32_t)found->targets
				   : UINT32_MAX,
	};

	if (cell != model->cells)
		model_describe(model, cell, &traits);
}

static void take_census(struct watch *watch, bool all)
{
	struct naming naming = {watch, all, !watch->hurried};
	struct census_visitor visitor = {wants, name_cell, &naming};
	int error;

	allow(watch, all ? CENSUS_START_MS : CENSUS_MS);
	watch->census_at = now_ns();
	watch->alive = (int64_t)census_count(&watch->census);
	error = census_cells(&watch->census, &visitor);
	model_looked(&watch->model, !error);
	watch->hurried = error == -ECANCELED;
	if (!error) {
		watch->counted = true;
		watch->counted_in = watch->model.interval;
	}
	watch->census_ns = now_ns() - watch->census_at;
	watch->nameless = watch->model.unknown;
}

static void look_for_names(struct watch *watch, uint64_t after_ns)
{
	uint64_t since = now_ns() - watch->census_at;

	if (!watch->census_works || since < after_ns)
		return;
	if (watch->model.unknown > watch->nameless || since > NAMES_AGE_NS)
		take_census(watch, false);
}

void watch_names(struct watch *watch)
{
	look_for_names(watch, watch->census_ns * NAMES_SHARE + NAMES_PAUSE_NS);
}

/* ---- the course of things ---------------------------------------------- */

static int find_and_load(struct watch *watch, struct fault *fault)
{
	const struct watch_config *config = &watch->config;
	const char *missing;
	struct collect_config collect = {
		.probes = config->probes,
		.pid = config->pid,
		.ring_bytes = config->ring_bytes,
	};
	struct collect_sink sink = {on_block, on_lost, on_cell, on_bucket,
				    watch};

	if (target_open(&watch->target, config->pid, fault))
		return -1;
	missing = capability_missing_for_bpf();
	if (missing)
		return fault_set(fault, EXIT_PRIVILEGE,
				 "hyphae-top needs %s to attach to probes: run "
				 "it as root, or give it the capabilities with "
				 "setcap.",
				 missing);
	collect.thread = watch->target.thread;
	collect.path = watch->target.path;
	watch->collect = collect_open(&collect, &sink, fault);
	return watch->collect ? 0 : -1;
}

/*
 * The probes are attached: from here on everything counts.  What lies in the
 * blocks by now is older, or came while the kernel was attaching.
 */
static void begin(struct watch *watch)
{
	watch->memory = memory_of_process(watch->target.thread);
	watch->census_works = watch->target.semaphore &&
			      !census_open(&watch->census, &watch->memory,
					   watch->target.semaphore);
	watch->alive = -1;
	watch->census.enough = enough;
	watch->census.enough_ctx = watch;
	watch->begin_ns = watch->before_ns = now_ns();
	if (watch->target.same_clock)
		watch->stream.since_ns = watch->begin_ns;
	allow(watch, LAST_MS);
	if (watch->census_works)
		peek_threads(&watch->census, &watch->stream, true);
	if (watch->target.same_clock)
		watch->stream.begun_ns = now_ns();
	if (watch->census_works)
		take_census(watch,
			    census_count(&watch->census) <= CELLS_AT_START);
}

int watch_open(struct watch *watch, const struct watch_config *config,
	       struct fault *fault)
{
	memset(watch, 0, sizeof(*watch));
	watch->config = *config;
	watch->target.pidfd = -1;
	if (model_open(&watch->model, config->cells_limit,
		       config->keep_all || config->probes) ||
	    stream_open(&watch->stream, &watch->model)) {
		watch_close(watch);
		return fault_set(fault, EXIT_KERNEL, "out of memory.");
	}
	if (find_and_load(watch, fault) ||
	    collect_attach(watch->collect, fault)) {
		watch_close(watch);
		return -1;
	}
	begin(watch);
	collect_announce(watch->collect);
	return 0;
}

/*
 * The process goes on without the thread that we look through.  What happened
 * since is lost; blocks tell so by their numbers, probe mode cannot.
 */
static void follow(struct watch *watch)
{
	struct target *target = &watch->target;

	if (!target_thread_ended(target) || target_renew(target))
		return;
	watch->memory.pid = target->thread;
	if (!collect_move(watch->collect, target->thread, target->path))
		watch->moves++;
}

/*
 * Has the process executed another program, or unloaded the library?  (One
 * that ends has not.)
 */
static void check_program(struct watch *watch)
{
	if (!watch->census_works || census_stands(&watch->census))
		return;
	watch->census_works = false;
	if (!target_has_memory(&watch->target))
		return;
	watch->unloaded = target_same_program(&watch->target);
	watch->replaced = !watch->unloaded;
}

/* Look at what threads have not delivered yet, for at most so long. */
static void peek(struct watch *watch, unsigned int ms)
{
	if (watch->config.probes)
		return;
	check_program(watch);
	if (!watch->census_works)
		return;
	allow(watch, ms);
	watch->peeked_at = now_ns();
	peek_threads(&watch->census, &watch->stream, false);
	watch->peek_ns = now_ns() - watch->peeked_at;
}

void watch_drain(struct watch *watch)
{
	follow(watch);
	if (watch->config.probes)
		return;
	/* A tenth of the time is enough. */
	if (now_ns() - watch->peeked_at > 10 * watch->peek_ns + PEEK_PAUSE_NS)
		peek(watch, PEEK_MS);
	allow(watch, DRAIN_MS);
	(void)collect_drain(watch->collect, enough, watch);
}

/* Of a process that is gone all is taken in, however long it takes. */
static bool take_events(struct watch *watch, bool gone, bool last)
{
	bool all;

	if (!gone)
		peek(watch, UPDATE_MS);
	gone |= watch->replaced || watch->unloaded;
	allow(watch, gone ? 0 : last ? LAST_MS : UPDATE_MS);
	all = collect_drain(watch->collect, enough, watch);
	if (!all && (gone || last))
		collect_lose(watch->collect);
	if (gone)
		stream_abandon(&watch->stream);
	return all || gone || last;
}

void watch_update(struct watch *watch, bool gone, bool last)
{
	bool all = true;

	if (watch->config.probes) {
		if (!gone)
			check_program(watch);
		(void)collect_read(watch->collect);
	} else {
		all = take_events(watch, gone, last);
	}
	take_counters(watch, all);
	if (gone)
		watch->census_works = false;
	/* So that the report tells those that are gone from those that are. */
	look_for_names(watch, last ? 0 : watch->census_ns * NAMES_SHARE);
}

static struct cost cost_minus(const struct cost *a, const struct cost *b)
{
	return (struct cost){
		.cpu_s = a->cpu_s - b->cpu_s,
		.bpf_ns = a->bpf_ns - b->bpf_ns,
		.bpf_known = a->bpf_known,
		.hits = a->hits - b->hits,
	};
}

int watch_report(struct watch *watch, struct report *report,
		 const struct report_order *order, bool all)
{
	struct report_head *head = &report->head;
	static const struct cost nothing;
	struct timespec ts;
	int error = report_make(report, &watch->model, order, all);

	clock_gettime(CLOCK_REALTIME, &ts);
	head->time = (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
	head->interval = 1e-9 * (double)(now_ns() - (all ? watch->begin_ns
							 : watch->before_ns));
	head->pid = watch->target.pid;
	head->comm = watch->target.comm;
	head->all = all;
	head->mode = watch->config.probes ? "probes" : "records";
	head->stale = watch->stream.stale - (all ? 0 : watch->stale_before);
	head->alive = watch->alive;
	head->cost =
		cost_minus(&watch->cost, all ? &nothing : &watch->cost_before);
	return error;
}

void watch_next(struct watch *watch)
{
	struct model *model = &watch->model;

	model_next(model);
	/*
	 * What the census of this interval did not meet has gone.  In probe
	 * mode the kernel goes on telling its sums; they would count again.
	 */
	if (!watch->config.probes && watch->counted &&
	    model->count > 2 * (uint64_t)watch->alive + CELLS_MANY)
		model_prune(model, watch->counted_in);
	watch->counted = false;
	watch->cost_before = watch->cost;
	watch->before_ns = now_ns();
	watch->stale_before = watch->stream.stale;
}

void watch_close(struct watch *watch)
{
	collect_close(watch->collect);
	stream_close(&watch->stream);
	model_close(&watch->model);
	target_close(&watch->target);
	memset(watch, 0, sizeof(*watch));
	watch->target.pidfd = -1;
}
