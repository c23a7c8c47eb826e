/* SPDX-License-Identifier: MIT */
/*
 * What cells a process has, read out of its memory while it runs: what is in
 * probes/abi.h under "looking in".
 *
 * The process changes meanwhile, and may be corrupt or hostile.  So every
 * offset is checked once, every loop has a bound, every pointer is only ever
 * given to memory.h, and what does not fit together is left out.
 */
#ifndef HYPHAE_BPF_CENSUS_H
#define HYPHAE_BPF_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/memory.h"
#include "probes/abi.h"

struct census {
	const struct memory *memory;
	uint64_t semaphore, address; /* where the layout was found */
	struct hy_layout layout;
	/* Asked often while it walks: shall it stop?  NULL: never. */
	bool (*enough)(void *ctx);
	void *enough_ctx;
};

/* A cell as it was found. */
struct census_cell {
	uint64_t id;
	uint64_t targets;
	uint32_t height;
	const char *name; /* the texts are valid during the call */
	const char *type;
	const char *op;
	const char *site;
};

/* Who wants to know. */
struct census_visitor {
	/* Shall the texts of this cell be read?  They cost most. */
	bool (*wants)(void *ctx, uint64_t id);
	void (*cell)(void *ctx, const struct census_cell *cell);
	void *ctx;
};

/*
 * Find and check the layout.  0, or -EFAULT: it cannot be read;
 * -EPROTO: it is none, or makes no sense; -ENOTSUP: of another version.
 */
int census_open(struct census *census, const struct memory *memory,
		uint64_t semaphore);

/* Is it still there?  A process that executes another program has lost it. */
bool census_stands(const struct census *census);

/* How many cells the process has. */
uint64_t census_count(const struct census *census);

/*
 * Visit the cells.  Returns 0, -ENOMEM, -EPROTO when something in the process
 * did not fit together and what lies behind it was left out, or -ECANCELED:
 * it was enough.
 */
int census_cells(const struct census *census,
		 const struct census_visitor *visitor);

/* Call fn with the address of the block of each thread that has one. */
void census_blocks(const struct census *census,
		   void (*fn)(void *ctx, uint64_t block), void *ctx);

#endif
