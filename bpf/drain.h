/* SPDX-License-Identifier: MIT */
/*
 * Emptying the rings: a thread takes what comes at once, so that the kernel
 * always has room; what it took is decoded when there is time.
 */
#ifndef HYPHAE_BPF_DRAIN_H
#define HYPHAE_BPF_DRAIN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "bpf/backlog.h"
#include "bpf/sink.h"

struct drain {
	const struct collect_sink *sink;
	struct ring_buffer *rings;
	pthread_mutex_t lock; /* of the rings */
	pthread_t thread;
	bool running;
	atomic_bool stop;
	struct backlog backlog;
	bool (*enough)(void *ctx);
	void *enough_ctx;
};

/* The rings of blocks and of losses.  0 or a negative errno. */
int drain_open(struct drain *drain, int blocks_fd, int losses_fd,
	       const struct collect_sink *sink);

/* Start the thread.  0 or a negative errno. */
int drain_start(struct drain *drain);

/*
 * Hand what has come until now to the sink, until `enough` says so (NULL:
 * never).  Was it all?
 */
bool drain_take(struct drain *drain, bool (*enough)(void *ctx), void *ctx);

/* The rest is not to be decoded: hand it to the sink as lost. */
void drain_lose(struct drain *drain);

/* Also after drain_open() failed, or was never called on {0}. */
void drain_close(struct drain *drain);

#endif
