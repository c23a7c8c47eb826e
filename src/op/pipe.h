/* SPDX-License-Identifier: MIT */
/*
 * A chain of operators in one cell.
 *
 * Each stage keeps what its cell would hold, so that an equal value stops at
 * it; but for the last, whose cell is there, and of events, which are never
 * compared.  What a stage hands on are words, as between cells.  Their boxes
 * are those of
 *  - the input, before the first stage that makes values (map, scan),
 *  - the pipe's cell, from the last such stage on,
 *  - the maker itself in between (`inner`): no one else ever sees these.
 */
#ifndef HY_OP_PIPE_H
#define HY_OP_PIPE_H

#include "op/one.h"

enum hy_stage_kind {
	HY_STAGE_MAP,
	HY_STAGE_FILTER,
	HY_STAGE_TAP,
	HY_STAGE_SCAN,
	HY_STAGE_TAKE,
	HY_STAGE_SKIP,
	HY_STAGE_TAKE_WHILE,
	HY_STAGE_SKIP_WHILE,
};

/* What hy_pipe_words() does with it. */
enum hy_stage_step {
	HY_STEP_MAP,
	HY_STEP_FILTER,
	HY_STEP_LAST_MAP,
	HY_STEP_LAST_FILTER,
};

/* What its cell would hold. */
enum hy_stage_holds { HY_HOLDS_NONE, HY_HOLDS_VALUE, HY_HOLDS_ERROR };

struct hy_stage {
	union {
		struct {
			size_t n, left; /* take, skip */
		};
		struct {
			uint64_t initial, acc; /* scan */
		};
		uint64_t made; /* of a pipe of words */
	};
	unsigned char kind;  /* enum hy_stage_kind */
	unsigned char step;  /* enum hy_stage_step, of a pipe of words */
	unsigned char holds; /* enum hy_stage_holds */
	bool boxed;	     /* its type is */
	bool simple;	     /* see meet_word() */
	bool event;	     /* what it hands on is an event */
	bool keeps;	     /* holds its value in `word` */
	bool inner;	     /* the boxes of its words are `maker`'s */
	bool inclusive;	     /* take_while */
	bool open;	     /* skip_while */
	bool has_acc, has_initial;
	const struct hyphae_type *type;
	void (*fn)(void);
	void *ctx;
	uint64_t word; /* HY_HOLDS_VALUE */
	struct hy_stage *maker;
	struct hy_box *spare; /* of an inner maker */
	const char *site;
};

/* As told in hyphae/pipe.h. */
_Static_assert(sizeof(struct hy_stage) == 88, "bytes of a stage");

struct hyphae_pipe {
	struct hyphae_cell *input;
	struct hy_stage source; /* the type of the input, as a stage */
	struct hy_stage *stages;
	size_t count, capacity;
	int error; /* the first that a step met with */
	bool begun;
	bool words; /* all stages are simple */
};

/* What a cell of a pipe does; d->ctx is the pipe. */
int hy_run_pipe(struct hy_graph *g, struct hy_derived *d, void *out);

/*
 * What a cell of a pipe of words does with a value, called as the function of
 * a map: the same as hy_run_pipe(), in the shortest way.
 */
int hy_pipe_words(void *out, const void *value, void *ctx);

/* All stages are as at the beginning. */
void hy_pipe_clear(struct hy_graph *g, struct hyphae_pipe *p);

#endif
