/* SPDX-License-Identifier: MIT */
/* Where what the BPF programs bring goes: from collect.c to watch.c. */
#ifndef HYPHAE_BPF_SINK_H
#define HYPHAE_BPF_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"

struct collect_sink {
	/* Records mode: a block, and one that was lost. */
	void (*block)(void *ctx, const void *data, size_t bytes);
	void (*lost)(void *ctx, const struct wire_lost *lost);
	/* Probe mode: what was counted of a cell since the start. */
	void (*cell)(void *ctx, uint64_t id, const struct wire_cell *counts);
	/* And of one bucket of its fan-out durations. */
	void (*bucket)(void *ctx, uint64_t id, unsigned int bucket,
		       uint64_t count);
	void *ctx;
};

#endif
