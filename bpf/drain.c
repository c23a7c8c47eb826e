// SPDX-License-Identifier: MIT
/* Emptying the rings; see drain.h. */
#include "bpf/drain.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum item { ITEM_BLOCK, ITEM_LOST };

/* How long items may wait in a ring that is far from full. */
#define DRAIN_MS 20
/* Beyond this the ring fills up, and the kernel counts what is lost. */
#define BACKLOG_LIMIT (1ull << 30)

/* The end of a block that its size class added is not kept. */
static int on_block(void *ctx, void *data, size_t size)
{
	struct drain *drain = ctx;
	const struct hy_block *block = data;
	size_t used = HY_BLOCK_HEADER +
		      (size_t)block->count * sizeof(struct hy_record);

	return backlog_add(&drain->backlog, ITEM_BLOCK, data,
			   used < size ? used : size);
}

static int on_lost(void *ctx, void *data, size_t size)
{
	struct drain *drain = ctx;

	return backlog_add(&drain->backlog, ITEM_LOST, data, size);
}

static void on_item(void *ctx, uint32_t kind, const void *data, size_t size)
{
	const struct collect_sink *sink = ((struct drain *)ctx)->sink;

	if (kind == ITEM_BLOCK)
		sink->block(sink->ctx, data, size);
	else if (size >= sizeof(struct wire_lost))
		sink->lost(sink->ctx, data);
}

int drain_open(struct drain *drain, int blocks_fd, int losses_fd,
	       const struct collect_sink *sink)
{
	drain->sink = sink;
	pthread_mutex_init(&drain->lock, NULL);
	backlog_open(&drain->backlog, BACKLOG_LIMIT);
	drain->rings = ring_buffer__new(blocks_fd, on_block, drain, NULL);
	if (!drain->rings)
		return errno ? -errno : -EIO;
	/* The second, so that it is read after the first: see stream.c. */
	return ring_buffer__add(drain->rings, losses_fd, on_lost, drain);
}

static void empty_rings(struct drain *drain)
{
	pthread_mutex_lock(&drain->lock);
	(void)ring_buffer__consume(drain->rings);
	pthread_mutex_unlock(&drain->lock);
}

static void *run(void *ctx)
{
	struct drain *drain = ctx;
	struct pollfd ring = {.fd = ring_buffer__epoll_fd(drain->rings),
			      .events = POLLIN};
	sigset_t all;

	/* Signals are for the main thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	/*
	 * It has little to do, but where many threads fight for few
	 * processors it must not wait for its turn until the ring is full.
	 * Where that is not allowed it goes on as it is.
	 */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), -10);
	while (!atomic_load(&drain->stop)) {
		if (!backlog_has_room(&drain->backlog)) {
			usleep(DRAIN_MS * 1000);
			continue;
		}
		(void)poll(&ring, 1, DRAIN_MS);
		empty_rings(drain);
	}
	return NULL;
}

int drain_start(struct drain *drain)
{
	int error = pthread_create(&drain->thread, NULL, run, drain);

	drain->running = !error;
	return -error;
}

static bool is_enough(void *ctx)
{
	struct drain *drain = ctx;

	return drain->enough && drain->enough(drain->enough_ctx);
}

bool drain_take(struct drain *drain, bool (*enough)(void *ctx), void *ctx)
{
	drain->enough = enough;
	drain->enough_ctx = ctx;
	if (backlog_has_room(&drain->backlog))
		empty_rings(drain);
	return backlog_take(&drain->backlog, on_item, is_enough, drain);
}

/* Of a block only the header. */
static void lose_item(void *ctx, uint32_t kind, const void *data, size_t size)
{
	const struct collect_sink *sink = ((struct drain *)ctx)->sink;
	const struct hy_block *block = data;
	struct wire_lost lost;

	if (kind != ITEM_BLOCK) {
		on_item(ctx, kind, data, size);
		return;
	}
	if (size < HY_BLOCK_HEADER || block->version != HY_ABI_VERSION)
		return;
	lost = (struct wire_lost){
		.thread = block->thread,
		.sequence = block->sequence,
		.count = block->count,
		.fires = block->fires,
		.passes = block->passes,
		.base_ns = block->base_ns,
	};
	sink->lost(sink->ctx, &lost);
}

void drain_lose(struct drain *drain)
{
	(void)backlog_take(&drain->backlog, lose_item, NULL, drain);
}

void drain_close(struct drain *drain)
{
	if (drain->running) {
		atomic_store(&drain->stop, true);
		pthread_join(drain->thread, NULL);
		drain->running = false;
	}
	if (!drain->sink)
		return;
	ring_buffer__free(drain->rings);
	backlog_close(&drain->backlog);
	pthread_mutex_destroy(&drain->lock);
}
