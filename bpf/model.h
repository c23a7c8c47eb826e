/* SPDX-License-Identifier: MIT */
/*
 * What is known about a process: its cells and what they did.
 *
 * Counters only grow; an interval is the difference to the last one.  Pure:
 * it knows neither processes nor BPF nor screens.
 */
#ifndef HYPHAE_BPF_MODEL_H
#define HYPHAE_BPF_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/hist.h"
#include "bpf/text.h"

/* What a cell did. */
struct counts {
	uint64_t notifies;
	uint64_t writes;
	uint64_t unchanged;
	uint64_t fires;
	uint64_t refires;
	uint64_t computes;
	uint64_t fanout_ns;
	uint64_t compute_ns;
};

/* What a cell is; texts are references into model.texts. */
struct traits {
	uint32_t name;
	uint32_t type;
	uint32_t op;
	uint32_t site;
	uint32_t height;
	uint32_t targets;
};

struct cell {
	uint64_t id;
	struct counts now; /* since the start */
	struct hist hist;  /* fan-out durations of this interval */
	struct hist all;   /* and of those before, if model.keep_all */
	uint64_t max_ns;   /* of this interval */
	uint64_t all_max_ns;
	struct traits traits;
	uint32_t seen;	    /* in which interval it was last known to live */
	uint32_t known : 1; /* traits were read */
	uint32_t met : 1;   /* by the census that is under way */
	uint32_t gone : 1;  /* it was released, perhaps before they could be */
	/* It did something in this interval: 1 + its place in model.touched */
	uint32_t touched : 29;
};

/* A cell that did something in this interval. */
struct touched {
	struct counts before; /* what it had done when that began */
	uint32_t cell;	      /* in model.cells */
};

/* What all of it cannot be trusted for; see README.md, "Losses". */
struct losses {
	uint64_t records; /* that were seen to be lost */
	uint64_t fires;	  /* of these, fires */
	uint64_t passes;
	uint64_t blocks;   /* blocks that never arrived: an unknown number */
	uint64_t unsorted; /* events of cells that no longer fit in the table */
	uint64_t unfinished; /* 1: the process ended without a farewell */
};

struct model {
	struct cell *cells; /* [0] takes what fits nowhere else; id 0 */
	size_t count, room, limit;
	uint32_t *slots; /* hash table of indices into cells; 0 is free */
	size_t mask;
	struct touched *touched; /* there is always room for cells[0] */
	size_t ntouched, touched_room;
	size_t unknown;	      /* cells without traits that may still be there */
	struct cell released; /* what those that were gone did, forgotten */
	size_t nreleased;     /* and how many they were */
	uint32_t interval;    /* its number */
	struct text_pool texts;

	uint64_t passes, passes_before;
	struct counts total, total_before;
	struct hist hist, all; /* of all cells */
	uint64_t max_ns, all_max_ns;
	struct losses lost, lost_before;
	bool keep_all; /* also keep histograms over all intervals */
};

/* At most `limit` cells are told apart.  -ENOMEM. */
int model_open(struct model *model, size_t limit, bool keep_all);
void model_close(struct model *model);

/* The cell of that id, NULL if it is not known. */
struct cell *model_find(struct model *model, uint64_t id);

/* The same, made if need be; cells[0] when the limit is reached. */
struct cell *model_cell(struct model *model, uint64_t id);

/*
 * To be called for each cell before its counters change.  Returns the cell
 * whose counters shall change: cells[0] when there is no memory.
 */
struct cell *model_touch(struct model *model, struct cell *cell);

/* What the cell did in this interval. */
struct counts model_news(const struct model *model, const struct cell *cell);

/* A fan-out of `cell` took that long. */
void model_fanout(struct model *model, struct cell *cell, uint64_t ns);

/* The traits of a cell were read. */
void model_describe(struct model *model, struct cell *cell,
		    const struct traits *traits);

/*
 * A census is over.  If it was `complete`, cells that it has not met
 * (cell->met) are gone.
 */
void model_looked(struct model *model, bool complete);

/* a - b, field by field. */
struct counts counts_minus(const struct counts *a, const struct counts *b);

/* Add field by field. */
void counts_add(struct counts *to, const struct counts *what);

/* Did it do anything? */
bool counts_any(const struct counts *counts);

/*
 * Forget the cells that nothing was seen of since that interval; what they
 * did stays in cells[0], or in `released` if they are gone without traits.
 * Only directly after model_next().
 */
void model_prune(struct model *model, uint32_t since);

/* The interval is over: what was now is before. */
void model_next(struct model *model);

#endif
