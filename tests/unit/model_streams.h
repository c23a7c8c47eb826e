/* SPDX-License-Identifier: MIT */
/*
 * Random programs of operators with a state, and of operators of time, against
 * a model: what the headers say, in plain C.
 *
 *	model_streams.c		the model: waves, batches, followers
 *	model_streams_ops.c	its operators, each a little state machine
 *	model_streams_many.c	those of several inputs
 *	model_streams_time.c	those of time
 *	model_streams_clock.c	the clock, and the program's timers
 *	model_streams_fn.c	the functions that operators call
 *	model_streams_real.c	the same operators in the library
 *	model_streams_compare.c	what both tell, side by side
 *	model_streams_run.c	programs and steps
 *	model_streams_moves.c	steps that have to do with time
 *
 * A value is a number, of whatever type the program has.  The functions that a
 * user would write (ms_fn_...) are the same for both sides.
 */
#ifndef HYPHAE_TESTS_UNIT_MODEL_STREAMS_H
#define HYPHAE_TESTS_UNIT_MODEL_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hyphae/hyphae.h>

/* name, inputs, of what it makes an event, needs a clock */
#define MS_OPS(X)                                                              \
	X(CELL, 0, NEVER, false)                                               \
	X(EVENT, 0, ALWAYS, false)                                             \
	X(MAP, 1, FIRST, false)                                                \
	X(FILTER, 1, FIRST, false)                                             \
	X(TAP, 1, FIRST, false)                                                \
	X(FINALIZE, 1, FIRST, false)                                           \
	X(CATCH, 1, FIRST, false)                                              \
	X(MAP_ERROR, 1, FIRST, false)                                          \
	X(UNWRAP, 1, FIRST, false)                                             \
	X(SAME_BY, 1, FIRST, false)                                            \
	X(DEDUPED, 1, FIRST, false)                                            \
	X(DISTINCT, 1, FIRST, false)                                           \
	X(HOLD, 1, NEVER, false)                                               \
	X(CHANGES, 1, ALWAYS, false)                                           \
	X(SHARE, 1, FIRST, false)                                              \
	X(SCAN, 1, NEVER, false)                                               \
	X(REDUCE, 1, NEVER, false)                                             \
	X(PAIRWISE, 1, FIRST, false)                                           \
	X(WINDOW, 1, FIRST, false)                                             \
	X(BUFFER, 1, FIRST, false)                                             \
	X(MACHINE, 1, FIRST, false)                                            \
	X(TAKE, 1, FIRST, false)                                               \
	X(FIRST, 1, FIRST, false)                                              \
	X(ELEMENT, 1, FIRST, false)                                            \
	X(SKIP, 1, FIRST, false)                                               \
	X(TAKE_WHILE, 1, FIRST, false)                                         \
	X(SKIP_WHILE, 1, FIRST, false)                                         \
	X(TAKE_UNTIL, 2, FIRST, false)                                         \
	X(SKIP_UNTIL, 2, FIRST, false)                                         \
	X(LAST, 1, NEVER, false)                                               \
	X(LAST_OR, 1, NEVER, false)                                            \
	X(COMBINE, 2, NEVER, false)                                            \
	X(ZIP, 2, ANY, false)                                                  \
	X(MERGE, 2, ANY, false)                                                \
	X(LATEST, 2, FIRST, false)                                             \
	X(SAMPLE, 2, FIRST, false)                                             \
	X(CONCAT, 2, ANY, false)                                               \
	X(RACE, 2, ANY, false)                                                 \
	X(GROUP, 2, ALWAYS, false)                                             \
	X(DEBOUNCE, 1, FIRST, true)                                            \
	X(THROTTLE, 1, FIRST, true)                                            \
	X(AUDIT, 1, FIRST, true)                                               \
	X(SAMPLE_TIME, 1, FIRST, true)                                         \
	X(BUFFER_TIME, 1, FIRST, true)                                         \
	X(DELAY, 1, FIRST, true)                                               \
	X(TIMEOUT, 1, FIRST, true)                                             \
	X(INTERVAL, 0, NEVER, true)                                            \
	X(AFTER, 0, NEVER, true)                                               \
	X(ARRAY, 0, NEVER, true)

enum ms_op {
#define X(name, inputs, event, time) MS_##name,
	MS_OPS(X)
#undef X
		MS_COUNT
};

enum ms_events {
	MS_NEVER_EVENT,
	MS_ALWAYS_EVENT,
	MS_FIRST_EVENT,
	MS_ANY_EVENT
};

struct ms_kind {
	const char *name;
	int inputs; /* 2: two or three */
	enum ms_events event;
	bool time;
};
extern const struct ms_kind ms_kinds[MS_COUNT];

#define MS_INPUTS 3
#define MS_NODES 24
#define MS_SUBS 64
#define MS_LOG 4096
#define MS_QUEUE 8 /* the most that an operator of a program remembers */

/* An operator with its arguments; what a, b and c are each knows itself. */
struct ms_recipe {
	enum ms_op op;
	int a, b, c;
	uint64_t ns;
	int count; /* inputs */
	int in[MS_INPUTS];
};

/* What functions of the user's were called with, in one number. */
struct ms_calls {
	unsigned long count;
	uint64_t hash;
};

static inline void ms_called(struct ms_calls *calls, int64_t value)
{
	calls->count++;
	calls->hash = calls->hash * 1000003 + (uint64_t)value;
}

/* What a subscriber was told. */
struct ms_call {
	int sub;
	enum hyphae_signal_kind kind;
	bool terminal;
	int64_t value;
	int code;
};

struct ms_log {
	struct ms_call calls[MS_LOG];
	size_t count;
};

void ms_log_add(struct ms_log *log, struct ms_call call);

/* ---- the user's functions ----------------------------------------------- */

#define MS_NUMBERS 48 /* values are 0 ... 47 */

static inline int64_t ms_fn_echo(int64_t value)
{
	return (value * 5 + 1) % MS_NUMBERS;
}

int ms_fn_map(const struct ms_recipe *r, int64_t value, int64_t *ret);
int ms_fn_filter(const struct ms_recipe *r, int64_t value);
bool ms_fn_same(const struct ms_recipe *r, int64_t last, int64_t value);
int ms_fn_fold(const struct ms_recipe *r, int64_t acc, int64_t value,
	       int64_t *ret);
int ms_fn_many(const struct ms_recipe *r, const int64_t *values, size_t count,
	       int64_t *ret);
int ms_fn_catch(const struct ms_recipe *r, int code, int64_t *ret);
int ms_fn_error(const struct ms_recipe *r, int code);
/* An ARRAY with a c greater than this is made by an iterator. */
#define MS_ITERATES 10
int ms_fn_next(const struct ms_recipe *r, struct ms_calls *calls, int64_t *ret);

/* The machine: three states, and what is between them. */
#define MS_STATES 3
int ms_fn_guard(const struct ms_recipe *r, int64_t from, int64_t to);
int ms_fn_handler(const struct ms_recipe *r, int64_t from, int64_t to,
		  int64_t *ret);
extern const struct hyphae_transition ms_table[];
extern const size_t ms_table_size;
extern const struct hyphae_state ms_state_table[];
extern const size_t ms_state_table_size;

/* ---- the model ------------------------------------------------------------ */

enum ms_holds { MS_NOTHING, MS_VALUE, MS_ERROR };

/* What a node has brought in the wave: another value, error or nothing; its end. */
#define MS_NEWS 1u
#define MS_END 2u

/* What an input is to the node that follows it. */
struct ms_seen {
	unsigned int news;
	enum ms_holds holds;
	int64_t value;
	int code;
	bool ended, failed;
};

struct ms_entry {
	uint64_t due;
	enum ms_holds holds; /* MS_NOTHING: the end */
	int64_t value;
	int code;
	int input;
};

struct ms_queue {
	struct ms_entry entries[2 * MS_QUEUE];
	size_t count;
};

/* Beyond the end of time is its end. */
static inline uint64_t ms_later(uint64_t time, uint64_t count, uint64_t ns)
{
	if (ns && count > (UINT64_MAX - time) / ns)
		return UINT64_MAX;
	return time + count * ns;
}

struct ms_alarm {
	uint64_t due;
	uint64_t armed; /* 0, or a number: those of one moment run in order */
	uint64_t order; /* of those with one number */
	/* Started by one of the same moment, and that by one, ... so often. */
	unsigned int generation;
	uint64_t run; /* in which that was */
};

struct ms_node {
	struct ms_recipe recipe;
	bool event, handle, alive, lazy, idle;
	bool roused; /* it wakes, and has yet to be computed */
	bool gone;   /* not alive, and that has been noted */
	bool ended, failed;
	enum ms_holds holds;
	int64_t value;
	int code;
	unsigned int news;
	int height;
	struct ms_seen seen[MS_INPUTS];

	/* Asked to run in this wave, beside what inputs bring. */
	bool more, more_now, rang;
	uint64_t woken; /* in this wave: the same of those that wake together */
	struct ms_alarm alarm;

	/* What operators remember. */
	size_t number, dropped;
	bool flag, window;
	int64_t last;
	uint64_t since;
	struct ms_queue queue[MS_INPUTS];
	struct ms_calls calls;
	int ends[4], end_count; /* what a finalize was told */
};

/* What a subscriber writes of what it is told, so often; to no source: -1. */
struct ms_echo {
	int node, left;
};

struct ms_sub {
	int node;
	unsigned int flags;
	bool alive;
	struct ms_echo echo;
};

#define MS_TIMERS 12
#define MS_ECHOES (4 * MS_SUBS)
#define MS_WRITES 1024 /* of one batch */

/* A timer of the program, and what its function does. */
struct ms_timer_recipe {
	int graph; /* 1: of a second one, which follows the same clock */
	int64_t delay;
	uint64_t period;
	unsigned int flags;
	int detaches; /* in which call; 0: never */
	int stops;    /* another, or itself; -1 */
	int starts;   /* another, once; -1 */
	int node;     /* a source, to which it writes value + calls; -1 */
	int value;
};

enum ms_timer_state { MS_UNBORN, MS_RUNNING, MS_OVER };

struct ms_timer {
	struct ms_timer_recipe recipe;
	enum ms_timer_state state;
	struct ms_alarm alarm;
	uint64_t missed;
	int called;
	int stopped; /* how often it stopped one */
};

struct ms_write {
	int node;
	enum hyphae_signal_kind kind;
	int64_t value;
	int code;
	int result;
};

struct ms_model {
	struct ms_node nodes[MS_NODES];
	int count;
	struct ms_sub subs[MS_SUBS];
	int sub_count;
	struct ms_log log;
	bool lazy, jumps; /* jumps: the clock visits no moment in between */
	bool (*same)(int64_t a, int64_t b);
	bool (*alike)(int64_t a, int64_t b); /* see struct ms_type */
	uint64_t now;

	struct ms_timer timers[MS_TIMERS];
	int timer_count;
	uint64_t armings;     /* the last number of an alarm */
	uint64_t run, moment; /* how often the clock was run; see alarm */
	bool ringing;	      /* a timer runs, of that moment */
	unsigned int generation, limit;
	int problems;
	uint64_t wakings;
	bool group, tied; /* see model_streams_clock.c */
	uint64_t turn;
	struct ms_write writes[MS_WRITES]; /* in the batch that is open */
	size_t write_count;
	struct ms_write echoes[MS_ECHOES]; /* not propagated yet */
	size_t echo_count;
	bool batch;
};

int ms_add(struct ms_model *m, const struct ms_recipe *recipe);
int ms_subscribe(struct ms_model *m, int node, unsigned int flags,
		 struct ms_echo echo);
void ms_unsubscribe(struct ms_model *m, int sub);
void ms_lazy(struct ms_model *m, int node);
void ms_release(struct ms_model *m, int node);
/* Several writes in a batch, or one without. */
void ms_write(struct ms_model *m, struct ms_write *writes, size_t count);
/* One in the batch that is open, or by itself. */
void ms_write_later(struct ms_model *m, struct ms_write write);
/* 0 or -ELOOP. */
int ms_advance(struct ms_model *m, uint64_t ns);
/* What is due in the first graph, at the moment: how many timers ran; or it. */
int ms_dispatch(struct ms_model *m);
/* When the next timer of a graph is due; false: there is none. */
bool ms_deadline(struct ms_model *m, int graph, uint64_t *ret);
void ms_timer_start(struct ms_model *m, int timer);
bool ms_timer_stop(struct ms_model *m, int timer);
void ms_count(const struct ms_model *m, struct hyphae_graph_counts *counts);

/* For the operators of the model. */
void ms_emit(struct ms_model *m, struct ms_node *n, int64_t value);
void ms_error(struct ms_node *n, int code);
void ms_none(struct ms_node *n);
void ms_complete(struct ms_node *n);
void ms_fail(struct ms_node *n, int code);
/* Take over what an input has brought. */
void ms_pass(struct ms_model *m, struct ms_node *n, const struct ms_seen *in);
/* It begins to follow an input; woken: by which waking, or 0. */
void ms_meet(struct ms_model *m, struct ms_node *n, int input, uint64_t woken);
/* It gets a follower. */
void ms_wake(struct ms_model *m, int node);
void ms_arm(struct ms_model *m, struct ms_node *n, uint64_t due);
void ms_turn(struct ms_model *m);
/* What changed is told, and who has more to say says it. */
void ms_propagate(struct ms_model *m);
void ms_push(struct ms_queue *q, struct ms_entry entry);
struct ms_entry ms_shift(struct ms_queue *q);
/* What is queued counts as dropped. */
void ms_give_up(struct ms_node *n);
/* fn of all that is queued, and the queue is empty. */
void ms_flush(struct ms_model *m, struct ms_node *n);
void ms_many(struct ms_model *m, struct ms_node *n, const int64_t *values,
	     size_t count);

/*
 * True when all inputs have a value and one of them is new; else an error, an
 * end and the want of a value go by.
 */
bool ms_plain(struct ms_node *n);
/* A value that gives no result: what is held stays, but not an error. */
void ms_nothing(struct ms_node *n);
/* It completes if all inputs have. */
void ms_end(struct ms_node *n);
/* The input brought a value, which is not the one that was there before. */
bool ms_ticked(const struct ms_node *n, int input, bool first);

typedef void (*ms_run_fn)(struct ms_model *m, struct ms_node *n, bool first);
extern const ms_run_fn ms_runs[MS_COUNT];
/* Those of several inputs. */
void ms_run_zip(struct ms_model *m, struct ms_node *n, bool first);
void ms_run_merge(struct ms_model *m, struct ms_node *n, bool first);
void ms_run_latest(struct ms_model *m, struct ms_node *n, bool first);
void ms_run_sample(struct ms_model *m, struct ms_node *n, bool first);
void ms_run_concat(struct ms_model *m, struct ms_node *n, bool first);
void ms_run_race(struct ms_model *m, struct ms_node *n, bool first);
void ms_run_group(struct ms_model *m, struct ms_node *n, bool first);
void ms_run_timed(struct ms_model *m, struct ms_node *n, bool first);

/* ---- the library's side -------------------------------------------------- */

struct ms_real_node {
	struct ms_recipe recipe;
	const struct hyphae_type *type;
	struct hyphae_cell *cell; /* NULL: given back */
	struct ms_calls calls;
	int ends[4], end_count;
};

struct ms_real_timer {
	struct ms_timer_recipe recipe;
	struct hyphae_timer *handle;
	int called, stopped, drops;
};

struct ms_real {
	struct hyphae_graph *graph;
	struct hyphae_graph *second; /* NULL, or with timers alone */
	struct hyphae_clock *clock;
	const struct hyphae_type *type;
	struct ms_real_node nodes[MS_NODES];
	struct hyphae_subscription *subs[MS_SUBS];
	struct ms_echo echoes[MS_SUBS];
	struct ms_real_timer timers[MS_TIMERS];
	int problems;
	struct ms_log log;
};

/* Make the operator; false if the library did not. */
bool ms_real_add(struct ms_real *real, int node,
		 const struct ms_recipe *recipe);
int64_t ms_number(const struct hyphae_type *type, const void *value);
int ms_express(const struct hyphae_type *type, void *ret, int64_t number);
void ms_forget(const struct hyphae_type *type, void *value);

struct ms_type {
	const struct hyphae_type *type;
	bool (*same)(int64_t a, int64_t b);  /* as cells see it */
	bool (*alike)(int64_t a, int64_t b); /* as distinct does */
};
extern const struct ms_type ms_types[];
extern const size_t ms_type_count;

/* ---- side by side ----------------------------------------------------------- */

extern struct ms_world {
	struct ms_model model;
	struct ms_real real;
	bool eager;
	int numbers;	/* that are written: 0 to one less */
	bool joins;	/* with time: there are operators of several inputs */
	bool undecided; /* from here on both sides may go different ways */
	bool verbose;	/* tell what happens: the second run of what failed */
	bool waves;	/* the step propagates what was written, or the clock */
} ms_world;

__attribute__((format(printf, 1, 2))) void ms_say(const char *format, ...);
void ms_say_recipe(int node, const struct ms_recipe *r);
/* What differs, when verbose; false, for the caller to hand on. */
__attribute__((format(printf, 1, 2))) bool ms_differ(const char *format, ...);
/*
 * Everything that can be asked; false: it differs.  ordered: calls are in the
 * same order, else only those of each subscriber.
 */
bool ms_compare(bool ordered);
/* A part of that: what was told, which goes on being compared. */
bool ms_compare_logs(bool ordered);
/* Another: timers, the clock, what delays have dropped. */
bool ms_compare_time(void);

/* ---- running ------------------------------------------------------------------ */

struct ms_plan {
	unsigned long programs;
	bool timed; /* at least one operator of time in each */
};

void ms_run_programs(const struct ms_plan *plan, uint64_t seed);

#endif
