/* SPDX-License-Identifier: MIT */
/*
 * The data structures.  Read this first; everything else moves these about.
 *
 * Objects (cells, subscriptions) lie in slots of chunks (slab.c).  A chunk
 * knows its graph, so an object need not.  A public handle is the address of
 * a slot with the low 16 bits of the object's id on top: a slot that was
 * given to another object has another id, and the handle no longer fits.
 *
 *	handle  63......48 47...................0
 *	        id & 0xffff   address of the slot
 *
 * A cell is one cache line.  What only some cells have lies in a block of its
 * own, the cold part, made when it is first used (label.h).
 *
 * Invariants (tests and comments cite the letters):
 *  I1  deps and subs lists: head->prev is the tail, tail->next is NULL.
 *  I2  A subs list is in ascending id: order of subscription.
 *  I3  targets == edges in deps + subscriptions in subs that are not dead.
 *  I4  height > that of every input; 0 for a source.  It is 1 + the greatest
 *      when a cell is made; it grows when an input's does, and never shrinks.
 *  I5  Only the drainer changes value, state and F_QUEUED of a cell.
 *  I6  While a graph drains no slot of a cell or a subscription is freed, and
 *      no subscription is unlinked: what dies is marked and waits among
 *      `dead_cells` and `dead_subs`.
 *  I7  No wave allocates: room for it is made when cells and subscriptions
 *      are (the queue for the greatest height, `fired` for every subscribed
 *      cell and a retry of it, the eager stack for every edge and cell, two
 *      boxes for every derived cell of a boxed type).  Where others keep a
 *      cell's boxes, as a filter below it, a reader, or a subscription that is
 *      paused and has to know the previous value does, the next value needs a
 *      new one, and without memory the cell holds -ENOMEM.
 */
#ifndef HY_TYPES_H
#define HY_TYPES_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hyphae/hyphae.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/lock.h"
#include "probes/abi.h"

#define HY_KINDS (HY_CHUNK_INPUTS + 1)

struct hy_graph;
struct hy_derived;
struct hy_posts;
struct hy_raised;

/* An error that flows through the graph: shared, immutable. */
struct hy_error {
	uint32_t refs;
	int code;
	char message[];
};

/* A value that does not fit into a cell: shared, immutable once published. */
struct hy_box {
	uint32_t refs;
	uint32_t bytes; /* of the payload */
	union {
		struct hyphae_cell *home; /* who made it and can use it again */
		struct hy_box *next_spare; /* refs == 0: in home's `spare` */
	};
	unsigned char payload[]; /* aligned to 16 */
};

enum hy_flags {
	F_DERIVED = 1 << 0,
	F_BOXED = 1 << 1,    /* word is a struct hy_box * */
	F_EQUAL = 1 << 2,    /* the type has an equal function */
	F_NARY = 1 << 3,     /* derived with a struct hy_fan_in */
	F_NONE = 1 << 4,     /* no value yet */
	F_ERROR = 1 << 5,    /* holds an error instead of a value */
	F_COMPLETE = 1 << 6, /* ended: completed */
	F_FAILED = 1 << 7,   /* ended: failed for good; F_ERROR is set too */
	F_DEAD = 1 << 8,     /* no references; waits to be freed */
	F_QUEUED = 1 << 9,   /* in the wave queue */
	F_PENDING = 1 << 10, /* has an entry in a log */
	/* Of the wave that runs, until the cell has fanned out: */
	F_VALUE_NEW = 1 << 11, /* value or error changed */
	F_END_NEW = 1 << 12,   /* ended */
	F_TURNED = 1 << 13,    /* F_NONE or F_ERROR came or went */
	F_GATHERED = 1 << 14,  /* is in a list: a flush fires it, or it fired */
	/* Of a derived cell, kept up to date by its inputs' fan-outs: */
	F_BLOCKED = 1 << 17,	 /* an input has no value */
	F_INPUT_ENDED = 1 << 18, /* an input, perhaps the only one, ended */
	F_UNSPREAD = 1 << 16, /* ended, and the derived cells do not know yet */
	F_VALUE_TOUCH = 1 << 15, /* touched, and not only by an input's end */
	/* Of cells that are not of the plain kind: */
	/* A follower notes what it brings (marks), or may hold an error. */
	F_TELLS = 1 << 19,
	F_SIGNALS = 1 << 20, /* its operator does (OP_SIGNALS); F_BLOCKED */
	F_EVENT = 1 << 21,   /* a stream of events: holds nothing for long */
	F_MORE = 1 << 22,    /* has more to say, in a wave after this one */
	F_AGAIN = 1 << 23,   /* closed a cycle; is tried again at the end */
	F_RAISING = 1 << 24, /* link.c: its height is about to grow */
	F_LAZY = 1 << 25,    /* computed only while it has targets */
	F_IDLE = 1 << 26,    /* lazy, and has none: follows nothing */
	F_HOOKS = 1 << 27,   /* somebody wants to know of the first and last */
	F_ATTENTION = 1 << 28, /* waits in graph->attention */
	F_LINKED = 1 << 29,    /* hooks: the last one told was the first */
	F_COLD = 1 << 30,      /* lazy, and so is what is made of it */
	F_FRESH = 1u << 31,    /* until it has told its news: see SUB_FRESH */
};
#define F_ENDED (F_COMPLETE | F_FAILED)
#define F_NEWS (F_VALUE_NEW | F_END_NEW)
#define F_END_NEWS (F_END_NEW | F_UNSPREAD) /* what an end sets */
#define F_NO_VALUE (F_NONE | F_ERROR)
/* An event is never equal to the one before, and every follower is told. */
#define HY_EVENT_FLAGS (F_EVENT | F_EQUAL | F_TELLS)
/* What keeps a spread from just queueing the followers. */
#define F_SLOW_SPREAD (F_BOXED | F_TURNED | F_END_NEW | F_TELLS)

struct hy_cell {
	uint64_t id;	  /* 0: a free slot */
	const char *name; /* the text of its label; never NULL, perhaps "" */
	const struct hyphae_type *type;
	uint64_t word; /* the value, or its box; valid unless F_NO_VALUE */
	struct hy_edge *deps; /* derived cells that follow it */
	struct hy_sub *subs;
	union {
		struct {
			uint32_t targets; /* I3 */
			uint32_t refs;	  /* these, the user's and all else */
		};
		struct hy_cell *next_dead; /* F_DEAD */
	};
	uint32_t height; /* I4 */
	uint32_t flags;
};

/*
 * References are refused from here on, so that followers, logs and the like
 * may add theirs without a look: for as many more there is no memory.
 */
#define HY_REFS_MAX (3u << 30)

/*
 * What a cell is called and where it was made.  Cells without a name and a
 * cold part share the label of their site; the others have one of their own.
 */
struct hy_label {
	struct hy_cold *cold; /* NULL: none */
	const char *site;
	/* and the text of the name, with its NUL */
};

/* What only some cells have. */
struct hy_cold {
	struct hy_label label; /* of a cell without a name */
	char no_text[4];
	/* F_PENDING: `pending` logs have an entry; the newest is this one. */
	uint32_t pending;
	union {
		uint32_t log_epoch;
		uint32_t wanted; /* of a derived cell: settle.c */
	};
	union {
		uint32_t log_index;
		uint32_t settled; /* of a derived cell: settle.c */
	};
	struct hy_error *error; /* F_ERROR, of a source */
	struct hy_owned *owned; /* hyphae_cell_own(), last first */
	struct hy_box *spare;	/* a box or two for the next values */
	uint64_t stamp;		/* last pass in which a watcher saw it fire */
};

/* The cells that a tracked run has read, where there are many; track.c. */
struct hy_read {
	const struct hy_cell *cell;
	uint64_t epoch; /* of the run; never twice in a graph */
};

struct hy_read_set {
	struct hy_read *reads;
	size_t room; /* a power of two, or 0 */
	uint64_t epoch;
};

struct hy_owned {
	struct hy_owned *next;
	void *data;
	void (*drop)(void *data); /* NULL: the block itself is what counts */
};

/* `owner` follows `input`; whose it is, hy_edge_owner() tells. */
struct hy_edge {
	struct hy_edge *next, *prev; /* in input->deps */
	union {
		struct hy_derived *owner;
		uintptr_t held; /* of `one`: see hy_error_of() */
	};
	struct hy_cell *input; /* NULL once the owner has let go of it */
};

/*
 * What is known of an input: kept up to date when it spreads.  Telling the
 * same twice does no harm.
 */
enum hy_mark {
	MARK_WITHOUT = 1, /* counted in `without` */
	MARK_ENDED = 2,	  /* counted in `ended` */
	/* OP_SIGNALS: since the cell was last computed */
	MARK_VALUE = 4, /* a value, an error or the loss of one came */
	MARK_END = 8,	/* the end came */
};

/*
 * The inputs of a cell that has more than one, or notes what they bring.  Of
 * the block that this is in, the values lie in front of it, because it is
 * these and `count` that the cell is computed from; and the marks behind it.
 * Behind the marks lie sets of inputs (base/bits.h, of `capacity`), so that
 * nobody has to look at all of them.  OP_SIGNALS, but OP_BLIND: hy_news(),
 * those whose marks say that they brought something.  OP_DYNAMIC too:
 * hy_holes(), the slots below `count` that have no input.
 *
 *	values | struct hy_fan_in, edges | marks | news | holes
 */
struct hy_fan_in {
	uint32_t count;		/* slots in use; an edge may have no input */
	uint32_t without;	/* of them without a value */
	uint32_t ended;		/* of them ended */
	uint32_t capacity : 29; /* slots */
	uint32_t small : 1;	/* lies in a slot: HY_CHUNK_INPUTS */
	uint32_t running : 1;	/* computed.c: its function is under way, */
	uint32_t again : 1;	/* and it has to be computed once more */
	struct hy_edge edges[];
};

/* Most have few inputs: two edges and what is known of them fit. */
#define HY_SMALL_INPUTS 128

struct hy_derived {
	struct hy_cell cell;
	const struct hy_op *op;
	void (*fn)(void); /* the user's function, of the op's type */
	void *ctx;
	struct hy_derived *next_queued;
	union {
		struct hy_edge one;
		struct { /* F_NARY */
			struct hy_fan_in *fan_in;
			const void **values;  /* kept up to date by spread() */
			uintptr_t held;	      /* in place of one.held */
			unsigned char *marks; /* enum hy_mark */
		};
	};
};

/* What `run` tells, beside a negative errno: HY_VALUE or HY_KEEP, and more. */
enum hy_outcome {
	HY_VALUE = 0, /* *out was made */
	HY_KEEP = 1,  /* stay as you are */
	HY_END = 2,   /* and then complete */
	HY_MORE = 4,  /* and run again, in a wave after this one */
};

enum hy_op_flags {
	/*
	 * Hands on values of its inputs: *out is the word of one of them
	 * (hy_input_word()), whose box is then shared.
	 */
	OP_SHARES = 1,
	/*
	 * Runs whenever an input brought anything, also an error or its end,
	 * and when it was woken; the marks say what.  Nothing happens by
	 * itself: it hands errors on and ends by what it does.
	 */
	OP_SIGNALS = 2,
	/* What it makes of an event is an event. */
	OP_STREAM = 4,
	/* Keeps as few inputs as it likes, also none. */
	OP_DYNAMIC = 8,
	/* With OP_SHARES: *out comes with a reference, for the cell to take. */
	OP_GIVES = 32,
	/*
	 * A plain operator of one input that also runs when it was touched and
	 * the input has no value: see hy_sees_value().
	 */
	OP_SEES = 512,
	/* OP_SIGNALS: what was brought stays until it is taken (hy_take()). */
	OP_KEEPS = 16,
	/* What it makes is an event, also of a cell. */
	OP_EVENT = 64,
	/* With OP_SHARES: it makes values, too (hy_made_begin()). */
	OP_MAKES = 128,
	/* With OP_STREAM: it is the first input that has to be an event. */
	OP_LEADS = 256,
	/* OP_SIGNALS: does not ask what was brought, only what has ended. */
	OP_BLIND = 1024,
	/* OP_BLIND: counts how often it was touched: hy_run_count(). */
	OP_COUNTS = 2048,
};

enum hy_direct { HY_DIRECT_MAP = 1, HY_DIRECT_COMBINE = 4 };

/*
 * An operator: its name, and how to compute one cell of it.
 * The rules for `run` stand in derive.h.
 */
struct hy_op {
	const char *name;
	int (*run)(struct hy_graph *graph, struct hy_derived *d, void *out);
	/* Give up the state behind d->ctx, when the cell is released. */
	void (*free)(struct hy_graph *graph, struct hy_derived *d);
	/* Begin afresh: a lazy cell went idle.  NULL: it keeps no state. */
	void (*reset)(struct hy_graph *graph, struct hy_derived *d);
	/*
	 * The cell has been raised: call each() for the cells that have to lie
	 * above it though they do not follow it.  NULL: there are none.
	 */
	bool (*above)(struct hy_derived *d,
		      bool (*each)(struct hy_cell *c, void *ctx), void *ctx);
	/*
	 * OP_DYNAMIC: a lazy cell has woken: follow now what is followed first,
	 * to hear what inputs say that wake with it.  NULL: `run` does that.
	 */
	void (*wake)(struct hy_graph *graph, struct hy_derived *d);
	uint32_t flags; /* OP_... */
	/* OP_DYNAMIC: the first inputs, which it always has. */
	uint32_t fixed;
	/*
	 * HY_DIRECT_MAP: all there is to it is d->fn, of a word and called as
	 * that of a map: hy_compute() does so itself in a graph without a lock.
	 * But a map's returns what the user says, others' what `run` does.
	 * HY_DIRECT_COMBINE: likewise as that of combine, of several inputs.
	 */
	uint32_t direct;
	/* The subscriber that calls d->fn, of which tools are told instead. */
	hyphae_subscriber_fn caller;
	/* What waits in the state; NULL: it queues nothing. */
	void (*backlog)(const struct hy_derived *d,
			struct hyphae_backlog *ret_backlog);
};

enum hy_sub_flags {
	SUB_DEAD = 1,
	SUB_STARTING = 2, /* another thread than the drainer's calls it */
	SUB_PAUSED = 4,
	SUB_BLOCKED = 8,
	/* Meanwhile the cell told a value or error, and its end. */
	SUB_MISSED = 16,
	SUB_MISSED_END = 32,
	SUB_FRESH = 64,	  /* it has what the cell is about to tell */
	SUB_EXTRA = 128,  /* ctx is a struct hy_extra */
	SUB_CALLED = 256, /* a call that is none of a wave is under way */
	SUB_OWNS = 512,	  /* has data, or a block of the heap; data.c */
	SUB_APART = 1024, /* dead, and its cell is not kept by it any more */
};
#define SUB_HELD (SUB_PAUSED | SUB_BLOCKED)
#define SUB_ANY_MISSED (SUB_MISSED | SUB_MISSED_END)

struct hy_sub_own {
	void (*drop)(void *ctx);
	struct hy_owned *owned;
};

struct hy_sub {
	uint64_t id; /* 0: a free slot; ascending in order of subscription */
	struct hy_sub *next, *prev; /* in cell->subs */
	union {
		hyphae_subscriber_fn fn;
		struct hy_sub *next_dead; /* SUB_DEAD */
	};
	void *ctx;
	struct hy_cell *cell;
	union {
		void (*drop)(void *ctx);
		struct hy_sub_own *own; /* SUB_OWNS */
	};
	uint32_t flags;
	uint16_t pauses, blocks; /* not 0: SUB_PAUSED, SUB_BLOCKED */
};

/* What was made together; scope.c. */
struct hy_scope {
	uint64_t id;		     /* 0: a free slot */
	struct hyphae_scope *parent; /* this is an item of that one, or NULL */
	/* Entered before it on the thread; or the next one to dispose. */
	struct hy_scope *outer;
	struct hy_scope_item *items;
	size_t capacity;
	uint32_t count;
	uint32_t swept;	 /* items that were left by the last sweep */
	uint32_t walked; /* for walks over the children */
	bool entered, disposing;
	bool doomed; /* to be disposed when no scope below is entered */
	struct hy_owned *owned; /* hyphae_scope_set_data() */
};

/*
 * A write of a value that waits, and nothing else is known about it: no
 * reference is held, and the cell does not know where it lies.
 */
struct hy_bare {
	struct hy_cell *cell;
	uint64_t word;
} __attribute__((may_alias));

/* One write that waits for its wave. */
struct hy_log_entry {
	struct hy_cell *cell; /* holds a reference */
	uint64_t word;
	struct hy_error *error;
	uint32_t what; /* LOG_... */
	/* The cell's newest entry before this one, in another log. */
	uint32_t older_epoch, older_index;
};
enum { LOG_VALUE = 1, LOG_COMPLETE = 2, LOG_FAIL = 4, LOG_KEPT = 8 };

struct hy_log {
	union {
		struct hy_log_entry *entries;
		struct hy_bare *bare; /* is_bare; in the same memory */
	};
	size_t count, capacity;
	uint32_t epoch;	    /* tells this filling of this log from all others */
	uint64_t writes;    /* accepted since the log was emptied */
	uint64_t coalesced; /* of these, replaced by a later one */
	size_t events;	    /* entries of event cells: these never coalesce */
	bool ends;	    /* there was an entry with an end */
	bool is_bare;	    /* closed, and nothing but bare: see log.h */
};

/* The open batch of one thread in one graph. */
struct hy_batch {
	struct hy_batch *next; /* of the same thread */
	struct hy_graph *graph;
	struct hy_log log;
	uint64_t pass;
	uint32_t depth;
	bool frame; /* of a frame; time/frame.c */
};

/*
 * Derived cells to compute, by height, first in first out in each.  The last
 * one's `next_queued` is anything, and `last` of an empty bucket too.
 */
struct hy_bucket {
	struct hy_derived *first, *last;
};

#define HY_QUEUE_LEVELS 5 /* 64^5 heights */
struct hy_queue {
	size_t count; /* of buckets in use */
	/* Not just the first of the lowest bucket is to be taken: QUEUE_... */
	uint32_t special;
	uint32_t told; /* followers, of a large graph, since it was empty */
	bool large;    /* the graph: a cache may not hold it */
	struct hy_bucket *buckets;
	size_t heights; /* room */
	/* What is taken from: nothing waits below.  It may be empty. */
	struct hy_bucket *lowest;
	size_t lowest_at;
	/*
	 * level[0]: a bit for each bucket in use, but perhaps for the lowest
	 * and the one above it, and for some that were; above: for each word
	 * below.
	 */
	uint64_t *level[HY_QUEUE_LEVELS];
	int levels; /* in use: the highest of them is one word */
};

/* A subscribed cell that has fired in the wave: its turn comes. */
struct hy_fired {
	struct hy_cell *cell;
	struct hy_sub *next; /* the next of its subscribers to call */
};

/* While somebody watches, of its subscribers that were called so far. */
struct hy_fired_part {
	uint64_t start, spent_ns, called;
};

/* Of a place in graph->fired: behind all of these lie as many parts. */
#define HY_FIRED_BYTES (sizeof(struct hy_fired) + sizeof(struct hy_fired_part))

struct hy_eager_entry {
	struct hy_cell *cell;
	uint32_t depth;
	uint16_t why;  /* compute it: F_VALUE_TOUCH or 0 */
	uint16_t subs; /* 1: call its subscribers instead */
};

/* Cells that wait for something; lists of cells are short or empty. */
struct hy_list {
	struct hy_cell **cells;
	size_t count, capacity;
};

/* A graph as one thread sees it. */
struct hy_thread {
	struct hy_batch *batches;
	struct hy_graph *guard; /* inside a compute, equal, ... function */
};

/* On the stack of the drainer, which computes a cell that is not plain. */
struct hy_run {
	const struct hy_cell *cell;
	struct hy_run *outer;
};

struct hy_graph {
	uint64_t id;
	uint64_t pass; /* that runs now */
	/*
	 * Not 0: hyphae_cell_set() may not start a wave just so, because the
	 * graph is shared, drains, or has a batch open.
	 */
	uint32_t busy;
	uint32_t flags;
	uint64_t pass_next, pass_end; /* pass ids in stock */
	uint64_t id_next, id_end;     /* object ids in stock */
	struct hy_thread *drainer;    /* of a shared one: who propagates now */
	bool pass_open;		      /* `pass` is under way */
	bool depth_first;	      /* this wave is an eager one */
	/* Asked in one look when a write is over. */
	union {
		uint16_t unfinished;
		struct {
			bool left;   /* something may be left to do after it */
			bool posted; /* there are posts, or will be: `posts` */
		};
	};
	int result;	 /* first error of a subscriber */
	uint32_t served; /* waves it ran for other threads */
	/*
	 * Of this pass: how many inputs and bridges, one after the other, led
	 * to it.  A chain of them that leads back ends at the wave limit.
	 */
	uint32_t hop;
	uint32_t depth;		/* of the cell that fires (eager) */
	uint64_t deliver_limit; /* newest subscription of this wave */
	uint64_t called;	/* subscribers that a watched fan-out called */
	struct hyphae_signal signal; /* of its fan-outs; fanout.c */

	struct hy_queue queue;
	struct hy_fired *fired; /* I7 */
	size_t nfired, fired_capacity, nsubscribed;
	struct hy_eager_entry *stack; /* I7 */
	size_t nstack, stack_capacity;
	size_t nedges;	       /* parked ones too */
	struct hy_log next;    /* written by subscribers: the next wave */
	struct hy_log inbox;   /* written by other threads meanwhile */
	struct hy_log running; /* one of these, while it is flushed */
	uint32_t log_epoch;
	bool gathering; /* a flush writes all its sources before it fires */
	struct hy_cell **gathered; /* I7: those that changed */
	size_t ngathered, gathered_capacity;

	/* For what is seldom; link.c, lazy.c. */
	struct hy_list more;	  /* F_MORE: derived cells, each referenced */
	struct hy_list again;	  /* F_AGAIN: likewise */
	struct hy_list attention; /* F_ATTENTION: cells, each referenced */
	struct hy_list needed;	  /* lazy cells that are being woken */
	bool waking;
	bool cutting;		  /* hy_cut_begin() */
	struct hy_raised *raised; /* a heap while heights grow */
	size_t raised_capacity;
	size_t nsignals;       /* cells with F_SIGNALS */
	size_t nlazy;	       /* cells with F_LAZY or F_HOOKS */
	bool lazy;	       /* derived cells are made lazy */
	struct hy_run *runs;   /* cells being computed, innermost first */
	uint32_t settling;     /* nested reads of cells that must settle */
	uint32_t making;       /* functions under way that make cells */
	struct hy_list wanted; /* settle.c: cells that must, no references */
	struct hy_list reads;  /* track.c: new ones of runs under way, held */
	struct hy_read_set read_set;
	uint32_t want_epoch;  /* tells one settling from another */
	uint32_t outer_epoch; /* of the outermost of them */
	uint32_t raises;      /* heights have grown so often */

	/* I6: what died and is not freed yet, oldest first; see release.c */
	struct hy_cell *dead_cells, **dead_cells_end;
	struct hy_sub *dead_subs, **dead_subs_end;

	struct hy_chunk *chunks;    /* newest first */
	void *free_slots[HY_KINDS]; /* by kind */
	struct hy_chunk *open_chunk[HY_KINDS];
	uint64_t ncells, nsubs;
	uint32_t max_height;
	uint32_t wave_limit;
	hyphae_problem_fn on_problem;
	void *problem_ctx;
	/*
	 * Where a bare log goes on (BUSY_BARE), and where its room ends; with
	 * a spare batch, the room in the log of that.
	 */
	struct hy_bare *bare_at, *bare_end;
	struct hy_batch *spare_batch;
	uint32_t open_batches; /* of a shared graph */
	uint32_t entered_scopes;
	uint32_t doomed_scopes;
	bool freeing;	      /* nothing is made, no links are mended */
	struct hy_time *time; /* NULL until needed; time/clocks.h */

	/* Only looked at while somebody watches (watch.c). */
	uint64_t watched_pass; /* the pass that these are of */
	uint64_t clock;	       /* the last reading in it, or 0 */
	uint64_t pass_fires, pass_refires;

	struct hy_posts *posts; /* post.h; NULL until there was one */

	struct hy_thread solo; /* the thread of a single-threaded graph */
	struct hy_lock lock;
	pthread_cond_t idle;	/* the drainer has left */
	uint32_t waiters;	/* for that */
	struct hy_thread *heir; /* waits to be the drainer */
	struct hy_sub *calling; /* whom the drainer calls now */
	uint32_t call_waiters;	/* for the end of a call; on `idle` */
	uint32_t starting;	/* SUB_STARTING: no graph_free() */
	uint32_t walking;	/* hyphae_graph_each_cell(): none either */
	struct hy_graph *list_next, *list_prev;
	struct hy_region *region; /* its storage, or NULL: the process's */
	struct hy_owned *owned;	  /* hyphae_graph_set_data() */
};

enum {
	BUSY_SHARED = 1,
	BUSY_DRAINING = 2,
	BUSY_BATCH = 4,
	BUSY_GUARD = 8,
	BUSY_BARE = 16, /* and the log of that batch is bare: log.h */
};

#define HY_CHUNK_BYTES 65536
struct hy_chunk {
	struct hy_chunk *next; /* of the graph, or of the free ones */
	struct hy_graph *graph;
	uint32_t kind; /* enum hy_chunk_kind: never changes */
	uint32_t slot_bytes;
	uint32_t used; /* slots that were opened, from the first on */
	uint32_t slots;
	uint32_t slot_shift; /* log2 of slot_bytes, of cells */
	uint32_t users_at;   /* of cells: HY_SOURCE_USERS or _DERIVED_ */
	uint32_t reserved[6];
	/* slots from here, at 64 */
};
#define HY_CHUNK_HEADER 64

/*
 * Of cells: behind the slots lie the counts of users.  A source has its count
 * one place further back than its slot, for then both kinds find theirs by a
 * shift (hy_users()).
 */
#define HY_CHUNK_FIT(bytes) ((HY_CHUNK_BYTES - HY_CHUNK_HEADER) / (bytes))
#define HY_SOURCE_BYTES (sizeof(struct hy_cell) + sizeof(uint32_t))
#define HY_DERIVED_BYTES (sizeof(struct hy_derived) + sizeof(uint32_t))
#define HY_SOURCE_SHIFT 6
#define HY_DERIVED_SHIFT 7
#define HY_SOURCE_USERS                                                        \
	(HY_CHUNK_HEADER +                                                     \
	 HY_CHUNK_FIT(HY_SOURCE_BYTES) * sizeof(struct hy_cell) -              \
	 sizeof(uint32_t))
#define HY_DERIVED_USERS                                                       \
	(HY_CHUNK_HEADER +                                                     \
	 HY_CHUNK_FIT(HY_DERIVED_BYTES) * sizeof(struct hy_derived))

_Static_assert(sizeof(struct hy_cell) == 64, "a cell is a cache line");
_Static_assert(sizeof(struct hy_derived) == 128, "two cache lines");
_Static_assert(offsetof(struct hy_derived, held) ==
		       offsetof(struct hy_derived, one.held),
	       "one place for what any derived cell holds as an error");
_Static_assert(1 << HY_SOURCE_SHIFT == sizeof(struct hy_cell) &&
		       HY_CHUNK_HEADER >> HY_SOURCE_SHIFT == 1 &&
		       1 << HY_DERIVED_SHIFT == sizeof(struct hy_derived) &&
		       HY_CHUNK_HEADER >> HY_DERIVED_SHIFT == 0,
	       "shifts of an address, that hy_users() knows");
_Static_assert(sizeof(struct hy_cold) == 64, "a cache line");
_Static_assert(offsetof(struct hy_cold, no_text) == sizeof(struct hy_label),
	       "the text follows the label");
_Static_assert(sizeof(struct hy_sub) == 64, "a subscription is a cache line");
_Static_assert(sizeof(struct hy_scope) <= 64, "a scope fits a slot");
_Static_assert(sizeof(struct hy_chunk) == HY_CHUNK_HEADER, "chunk header");
_Static_assert(offsetof(struct hy_box, payload) == 16, "aligned payload");

static inline struct hy_chunk *hy_chunk_of(const void *slot)
{
	return (struct hy_chunk *)((uintptr_t)slot &
				   ~(uintptr_t)(HY_CHUNK_BYTES - 1));
}

static inline struct hy_graph *hy_graph_of(const struct hy_cell *c)
{
	return load_relaxed(&hy_chunk_of(c)->graph);
}

static inline struct hy_label *hy_label_of(const struct hy_cell *c)
{
	return (struct hy_label *)(uintptr_t)c->name - 1;
}

/* NULL: it has none. */
static inline struct hy_cold *hy_cold_of(const struct hy_cell *c)
{
	return hy_label_of(c)->cold;
}

static inline bool hy_more_refs(const struct hy_cell *c)
{
	return likely(c->refs < HY_REFS_MAX);
}

/* Of its references, those that users have to give back: how many. */
static inline uint32_t *hy_users_at(const struct hy_cell *c, size_t at,
				    uint32_t shift)
{
	size_t place = (uintptr_t)c % HY_CHUNK_BYTES;

	return (uint32_t *)((char *)hy_chunk_of(c) + at) + (place >> shift);
}
#define hy_users_of_source(c) hy_users_at(c, HY_SOURCE_USERS, HY_SOURCE_SHIFT)
#define hy_users_of_derived(c)                                                 \
	hy_users_at(c, HY_DERIVED_USERS, HY_DERIVED_SHIFT)

/* The same of a cell of either kind. */
static inline uint32_t *hy_users(const struct hy_cell *c)
{
	const struct hy_chunk *chunk = hy_chunk_of(c);

	return hy_users_at(c, chunk->users_at, chunk->slot_shift);
}

/* A reference that the user has to give back. */
static inline void hy_user_ref(struct hy_cell *c)
{
	c->refs++;
	++*hy_users(c);
}

static inline struct hy_derived *hy_derived_of(struct hy_cell *c)
{
	return container_of(c, struct hy_derived, cell);
}

static inline uint32_t hy_inputs(const struct hy_derived *d)
{
	return d->cell.flags & F_NARY ? d->fan_in->count : 1;
}

static inline struct hy_edge *hy_edges(struct hy_derived *d)
{
	return d->cell.flags & F_NARY ? d->fan_in->edges : &d->one;
}

/*
 * An edge that lies in its cell need not say so: while that holds an error, it
 * says where this is, with a bit that no address has.  Then its input has
 * F_TELLS set; who has seen that it has not may just read `owner`.
 */
#define HY_HELD_ERROR 1

static inline struct hy_derived *hy_edge_owner(const struct hy_edge *e)
{
	if (unlikely(e->held & HY_HELD_ERROR))
		return container_of(e, struct hy_derived, one);
	return e->owner;
}

static inline const void **hy_fan_in_values(const struct hy_fan_in *in)
{
	return (const void **)(uintptr_t)in - in->capacity;
}

static inline unsigned char *hy_fan_in_marks(const struct hy_fan_in *in)
{
	return (unsigned char *)(uintptr_t)(in->edges + in->capacity);
}

static inline uint64_t *hy_news(const struct hy_fan_in *in)
{
	size_t marks = (in->capacity + 7) / 8 * 8;

	return (uint64_t *)(uintptr_t)(hy_fan_in_marks(in) + marks);
}

static inline uint64_t *hy_holes(const struct hy_fan_in *in)
{
	return hy_news(in) + hy_bits_words(in->capacity);
}

/* ---- handles --------------------------------------------------------- */

#define HY_ADDRESS_BITS 48

/*
 * A handle is the address of a slot with 16 bits of its id on top.  Those of
 * all but cells are marked, by what is added to these bits without a carry, so
 * that a handle of one kind never fits a slot of another; cells, which are
 * looked up most, pay nothing for it.
 */
enum hy_tag {
	HY_TAG_CELL = 0,
	HY_TAG_SUB = 1 << 12,
	HY_TAG_SCOPE = 2 << 12,
	HY_TAG_TIMER = 3 << 12,
	HY_TAG_GRAPH = 4 << 12,
	HY_TAG_CLOCK = 5 << 12,
	HY_TAG_LOOP = 6 << 12,
	HY_TAG_FLOW = 7 << 12, /* flow/handle.h */
};

static inline void *hy_handle(const void *slot, uint64_t id, enum hy_tag tag)
{
	return (void *)((uintptr_t)slot | (uintptr_t)((id ^ tag) & 0xffff)
						  << HY_ADDRESS_BITS);
}

/* Where it points to, whether it fits or not. */
static inline void *hy_place(const void *handle)
{
	return (void *)((uintptr_t)handle &
			(((uintptr_t)1 << HY_ADDRESS_BITS) - 1));
}

/* What a handle has on top. */
static inline uintptr_t hy_top(const void *handle)
{
	return (uintptr_t)handle >> HY_ADDRESS_BITS;
}

/* The low 16 bits of the id that a slot begins with; no more is loaded. */
static inline uint16_t hy_id_bits(const void *slot)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	typedef uint16_t __attribute__((may_alias)) low;

	return load_relaxed((const low *)slot);
#else
	return (uint16_t)load_relaxed((const uint64_t *)slot);
#endif
}

/* The slot, or NULL if the handle is NULL, stale or of another kind. */
static inline void *hy_slot(const void *handle, enum hy_tag tag)
{
	void *slot = hy_place(handle);

	/* Ids with 16 low zero bits are not given out: a free slot fits none. */
	if (unlikely(!slot) ||
	    unlikely((hy_id_bits(slot) ^ tag) != hy_top(handle)))
		return NULL;
	return slot;
}

static inline struct hy_graph *hy_graph(const struct hyphae_graph *handle)
{
	return hy_slot(handle, HY_TAG_GRAPH);
}

/* The code for a handle that has no slot. */
static inline int hy_bad_handle(const void *handle)
{
	return handle ? -ESTALE : -EINVAL;
}

static inline struct hy_cell *hy_cell(const struct hyphae_cell *handle)
{
	return hy_slot(handle, HY_TAG_CELL);
}

/*
 * Where the cell of a handle lies that fitted a moment ago.  Without the lock
 * another thread may release it at any time: then what is read there is
 * another's, until somebody who has the lock finds that the handle is stale.
 */
static inline struct hy_cell *hy_cell_place(const struct hyphae_cell *handle)
{
	return hy_place(handle);
}

static inline struct hyphae_cell *hy_cell_handle(const struct hy_cell *c)
{
	return hy_handle(c, c->id, HY_TAG_CELL);
}

/* ---- values ---------------------------------------------------------- */

static inline struct hy_box *hy_box_of(uint64_t word)
{
	return (struct hy_box *)(uintptr_t)word;
}

/* Where the value lies; NULL if it is boxed and there is none. */
static inline const void *hy_value_of(const struct hy_cell *c)
{
	if (likely(!(c->flags & F_BOXED)))
		return &c->word;
	return c->word ? hy_box_of(c->word)->payload : NULL;
}

static inline void hy_flags_set(struct hy_cell *c, uint32_t set, uint32_t clear)
{
	store_relaxed(&c->flags, (c->flags & ~clear) | set);
}

#endif
