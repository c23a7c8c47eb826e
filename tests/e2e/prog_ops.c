// SPDX-License-Identifier: MIT
/*
 * prog_ops TRUTH passes|bare now|watched: one cell of each operator, driven
 * the same way each time by writes and a virtual clock.
 *
 * It counts itself what its cells do: by reports, with `passes`, in which each
 * step is a pass, and by a subscriber of each cell.  The two have to agree;
 * what they say is written to the file TRUTH, cell by cell, and which operators
 * there were.  With `watched` it begins when hyphae_watched(), else when stdin
 * has a line.
 */
#include <errno.h>
#include <hyphae/hyphae.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 101
#define US UINT64_C(1000)

static struct hyphae_graph *graph, *eager;
static struct hyphae_clock *timer;
/* Sources: two values, an event, and one that a subscriber writes. */
static struct hyphae_cell *a, *b, *event, *echo, *gate, *query, *answer, *deep;
static struct hyphae_stream *stream;
static bool passes;

__attribute__((noreturn, format(printf, 1, 2))) static void
die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "prog_ops: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	exit(1);
}

static void must(int r)
{
	if (r < 0)
		die("%s", strerror(-r));
}

/* ---- counting ------------------------------------------------------------- */

#define IDS 65536

/* By id. */
static struct account {
	const char *name; /* of one that is subscribed to */
	uint64_t fires, refires, writes, unchanged;
	uint64_t calls, ends;
	bool at_once; /* the first call tells what it holds */
} accounts[IDS];
static uint64_t stream_items;

static struct account *account_of(uint64_t id)
{
	if (!id || id >= IDS)
		die("no account for cell %" PRIu64, id);
	return &accounts[id];
}

static int called(const struct hyphae_signal *signal, void *ctx)
{
	struct account *account = ctx;

	if (signal->terminal)
		account->ends++;
	else
		account->calls++;
	return 0;
}

/* Its name, and a subscriber that counts. */
static struct hyphae_cell *made(const char *name, struct hyphae_cell *cell)
{
	struct account *account;

	if (!cell)
		die("%s: %s", name, strerror(errno));
	must(hyphae_cell_set_name(cell, name));
	account = account_of(hyphae_cell_id(cell));
	account->name = name;
	if (!hyphae_subscribe(cell, called, account))
		die("%s: %s", name, strerror(errno));
	return cell;
}

static void add_report(void)
{
	struct hyphae_report report;
	size_t i;

	must(hyphae_report_take(&report));
	if (report.lost)
		die("a report has lost %" PRIu64 " events", report.lost);
	for (i = 0; i < report.count; i++) {
		const struct hyphae_report_cell *cell = &report.cells[i];
		struct account *account = account_of(cell->id);

		account->fires += cell->fires;
		account->refires += cell->fires > 1 ? cell->fires - 1 : 0;
		account->writes += cell->writes;
		account->unchanged += cell->unchanged;
	}
	hyphae_report_done(&report);
}

/* What is done between the two is one pass, if there shall be any. */
static void begin(void)
{
	if (passes)
		must(hyphae_pass_begin());
}

static void end(void)
{
	if (!passes)
		return;
	must(hyphae_pass_end());
	add_report();
}

/* Each change was told, once; an end has a fan-out of its own, or a value's. */
static void compare(void)
{
	size_t id;

	for (id = 1; passes && id < IDS; id++) {
		const struct account *one = &accounts[id];

		if (one->name && !one->at_once &&
		    (one->fires < one->calls ||
		     one->fires > one->calls + one->ends))
			die("%s fired %" PRIu64 " times, and was heard %" PRIu64
			    " times and %" PRIu64 " ends",
			    one->name, one->fires, one->calls, one->ends);
	}
}

/* Names of operators, each once, with quotes and commas. */
static char ops[4096];

static int add_op(struct hyphae_cell *cell, void *ctx)
{
	struct hyphae_cell_info info;
	char name[64];
	size_t used = strlen(ops);

	(void)ctx;
	must(hyphae_cell_info(cell, &info));
	snprintf(name, sizeof(name), "\"%s\"", info.op);
	if (!strstr(ops, name))
		snprintf(ops + used, sizeof(ops) - used, "%s%s",
			 used ? "," : "", name);
	return 0;
}

static void write_truth(const char *path)
{
	FILE *file = fopen(path, "w");
	const char *comma = "";
	size_t id;

	if (!file)
		die("%s: %s", path, strerror(errno));
	fprintf(file, "{\"ops\":[%s],\n\"cells\":[", ops);
	for (id = 1; id < IDS; id++) {
		const struct account *one = &accounts[id];

		if (!one->fires && !one->writes && !one->calls && !one->ends)
			continue;
		fprintf(file,
			"%s\n{\"id\":%zu,\"name\":\"%s\",\"fires\":%" PRIu64
			",\"refires\":%" PRIu64 ",\"writes\":%" PRIu64
			",\"unchanged\":%" PRIu64 ",\"calls\":%" PRIu64
			",\"ends\":%" PRIu64 "}",
			comma, id, one->name ? one->name : "", one->fires,
			one->refires, one->writes, one->unchanged, one->calls,
			one->ends);
		comma = ",";
	}
	fprintf(file, "\n]}\n");
	if (fclose(file))
		die("%s: %s", path, strerror(errno));
}

/* ---- functions of operators ----------------------------------------------- */

static int twice(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = 2 * *(const int64_t *)input;
	return 0;
}

/* Fails for each fifth value; that is recovered from with the next. */
static int risky(void *ret, const void *input, void *ctx)
{
	int64_t value = *(const int64_t *)input;

	(void)ctx;
	if (value % 5 == 0)
		return hyphae_error(-EIO, "five of %" PRId64, value);
	*(int64_t *)ret = value;
	return 0;
}

static int even(const void *input, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)input % 2 == 0;
}

static int below_90(const void *input, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)input < 90;
}

static int sum(void *ret, const void *const *inputs, size_t count, void *ctx)
{
	int64_t *result = ret;

	(void)ctx;
	for (*result = 0; count > 0; count--)
		*result += *(const int64_t *)inputs[count - 1];
	return 0;
}

static int add(void *ret, const void *acc, const void *value, void *ctx)
{
	(void)ctx;
	*(int64_t *)ret = *(const int64_t *)acc + *(const int64_t *)value;
	return 0;
}

static int caught(void *ret, int code, const char *message, void *ctx)
{
	(void)message;
	(void)ctx;
	*(int64_t *)ret = code;
	return 0;
}

static int translated(int code, const char *message, void *ctx)
{
	(void)code;
	(void)ctx;
	return hyphae_error(-ENOENT, "%s", message);
}

static void seen(const void *value, void *ctx)
{
	(void)value;
	(void)ctx;
}

static bool same_third(const void *last, const void *value, void *ctx)
{
	(void)ctx;
	return *(const int64_t *)last / 3 == *(const int64_t *)value / 3;
}

static void over(enum hyphae_end_kind kind, void *ctx)
{
	(void)kind;
	(void)ctx;
}

static int count_down(void *ret, void *ctx)
{
	int64_t *left = ctx;

	*(int64_t *)ret = *left;
	return (*left)-- > 0;
}

static int read_some(void *ret, void *ctx)
{
	int64_t one = 0, other = 0;
	int r = hyphae_int64_get(a, &one);

	(void)ctx;
	/* Sometimes another input. */
	if (!r)
		r = hyphae_int64_get(one % 2 ? b : echo, &other);
	*(int64_t *)ret = one + other;
	return r;
}

/* Cells that live until the next value: an event and a debounce of it. */
static struct hyphae_cell *look_up(const void *value, void *ctx)
{
	(void)value;
	(void)ctx;
	answer = hyphae_event_new(graph, &hyphae_int64);
	return hyphae_debounce(answer, US);
}

/* One of two that are there anyway. */
static struct hyphae_cell *choose(const void *value, void *ctx)
{
	(void)ctx;
	return hyphae_cell_ref(*(const int64_t *)value % 2 ? a : b);
}

static struct hyphae_cell *try_again(size_t attempt, void *ctx)
{
	(void)attempt;
	(void)ctx;
	return hyphae_map(a, &hyphae_int64, risky, NULL);
}

static int write_echo(const struct hyphae_signal *signal, void *ctx)
{
	(void)ctx;
	if (signal->kind == HYPHAE_VALUE)
		must(hyphae_int64_set(echo, hyphae_int64_of(signal) / 2));
	return 0;
}

/* ---- one of each ------------------------------------------------------------ */

#define INT64 (&hyphae_int64)
#define BOTH(x, y) ((struct hyphae_cell *const[]){x, y})

static const int64_t zero, numbers[] = {3, 1, 4, 1, 5};

static void make_sources(void)
{
	a = made("a", hyphae_int64_new(graph, 1));
	b = made("b", hyphae_int64_new(graph, 2));
	echo = made("echo", hyphae_int64_new(graph, 0));
	event = made("event", hyphae_event_new(graph, INT64));
	gate = made("gate", hyphae_event_new(graph, INT64));
	query = made("query", hyphae_event_new(graph, INT64));
	if (!hyphae_subscribe(a, write_echo, NULL))
		die("%s", strerror(errno));
}

static void make_each(void)
{
	struct hyphae_cell *failing;

	made("map", hyphae_map(a, INT64, twice, NULL));
	made("filter", hyphae_filter(a, even, NULL));
	made("tap", hyphae_tap(event, seen, NULL));
	failing = made("risky", hyphae_map(a, INT64, risky, NULL));
	made("catch_error", hyphae_catch_error(failing, caught, NULL));
	made("map_error", hyphae_map_error(failing, translated, NULL));
	made("unwrap_or", hyphae_unwrap_or(failing, INT64, &zero));
	made("changed_by",
	     hyphae_distinct_until_changed_by(event, same_third, NULL));
	made("deduped", hyphae_deduped(event));
	made("distinct", hyphae_distinct(event, 3));
	made("hold", hyphae_hold(event, INT64, &zero));
	made("changes", hyphae_changes(a));
	made("finalize", hyphae_finalize(b, over, NULL));
	made("share", hyphae_share(b));
	made("cold", hyphae_cold(b));
}

static void make_history(void)
{
	made("scan", hyphae_scan(event, INT64, &zero, add, NULL));
	made("reduce", hyphae_reduce(event, INT64, &zero, add, NULL));
	made("pairwise", hyphae_pairwise(a, INT64, sum, NULL));
	made("window", hyphae_window(a, 3, INT64, sum, NULL));
	made("buffer_count", hyphae_buffer_count(event, 3, INT64, sum, NULL));
}

static void make_limits(void)
{
	made("take", hyphae_take(event, 7));
	made("first", hyphae_first(gate));
	made("element_at", hyphae_element_at(event, 5));
	made("skip", hyphae_skip(event, 5));
	made("take_while", hyphae_take_while(event, below_90, true, NULL));
	made("skip_while", hyphae_skip_while(event, below_90, NULL));
	made("take_until", hyphae_take_until(a, gate));
	made("skip_until", hyphae_skip_until(a, gate));
	made("last", hyphae_last(event));
	made("last_or", hyphae_last_or(gate, INT64, &zero));
}

static void make_many(void)
{
	made("combine", hyphae_combine(BOTH(a, b), 2, INT64, sum, NULL));
	made("zip", hyphae_zip(BOTH(a, event), 2, INT64, sum, NULL, 8,
			       HYPHAE_OVERFLOW_DROP_OLDEST));
	made("merge", hyphae_merge(BOTH(a, b), 2));
	made("with_latest_from",
	     hyphae_with_latest_from(event, &a, 1, INT64, sum, NULL));
	made("sample", hyphae_sample(a, event));
	made("concat",
	     hyphae_concat(BOTH(hyphae_take(event, 11), hyphae_changes(b)), 2));
	made("race", hyphae_race(BOTH(gate, event), 2));
	made("group", hyphae_group(BOTH(a, b), 2));
}

static int look_on(void *ctx)
{
	int64_t sum;

	(void)ctx;
	return read_some(&sum, NULL);
}

static void make_dynamic(void)
{
	if (!hyphae_effect(graph, look_on, NULL))
		die("an effect: %s", strerror(errno));
	made("computed", hyphae_computed(graph, INT64, read_some, NULL));
	made("switch_map", hyphae_switch_map(query, INT64, look_up, NULL));
	made("switch_events", hyphae_switch_events(event, INT64, choose, NULL));
	made("merge_map", hyphae_merge_map(event, INT64, 4, choose, NULL));
	made("merge_events",
	     hyphae_merge_events(event, INT64, 300, choose, NULL));
	made("retry", hyphae_retry(graph, INT64, 3, try_again, NULL));
	made("retry_events",
	     hyphae_retry_events(graph, INT64, 3, try_again, NULL));
}

static void make_timed(void)
{
	static int64_t left = 13;

	made("debounce", hyphae_debounce(a, US));
	made("throttle", hyphae_throttle(event, 5 * US, HYPHAE_BOTH_EDGES));
	made("audit", hyphae_audit(event, 4 * US));
	made("sample_time", hyphae_sample_time(a, 7 * US));
	made("buffer_time",
	     hyphae_buffer_time(event, 9 * US, 16, INT64, sum, NULL));
	made("delay",
	     hyphae_delay(event, 2 * US, 64, HYPHAE_OVERFLOW_DROP_OLDEST));
	made("timeout", hyphae_timeout(event, 2 * US));
	made("interval", hyphae_interval(graph, 3 * US, 0));
	made("after", hyphae_after(graph, 50 * US));
	made("from_array", hyphae_from_array(graph, INT64, numbers, 5, 6 * US));
	made("from_iterator",
	     hyphae_from_iterator(graph, INT64, 5 * US, count_down, &left));
}

static void made_at_once(const char *name, struct hyphae_cell *cell)
{
	if (!cell)
		die("%s: %s", name, strerror(errno));
	account_of(hyphae_cell_id(cell))->at_once = true;
	made(name, cell);
}

/* Those that run when they are subscribed to. */
static void make_at_once(void)
{
	static int64_t left = 7;
	int64_t value = 42;

	made_at_once("sequence", hyphae_sequence(graph, INT64, numbers, 5));
	made_at_once("generator",
		     hyphae_generator(graph, INT64, count_down, &left, NULL));
	made_at_once("just", hyphae_just(graph, INT64, &value));
	made_at_once("failed", hyphae_failed(graph, INT64, -EIO, "for good"));
	made_at_once("never", hyphae_never(graph, INT64));
}

static int to_state(void *ret, const void *from, const void *to, void *ctx)
{
	return add(ret, from, to, ctx);
}

static void make_state_machine(void)
{
	static const struct hyphae_transition table[] = {
		{HYPHAE_ANY_STATE, 3, NULL, to_state},
		{1, HYPHAE_ANY_STATE, NULL, NULL},
	};
	static const struct hyphae_machine machine = {.transitions = table,
						      .transition_count = 2};

	made("state_transition",
	     hyphae_state_transition(event, INT64, &machine, NULL, NULL));
}

static struct hyphae_pipe *build_pipe(void)
{
	struct hyphae_pipe *pipe = hyphae_pipe(event);

	pipe = hyphae_pipe_filter(pipe, even, NULL);
	pipe = hyphae_pipe_map(pipe, INT64, twice, NULL);
	pipe = hyphae_pipe_scan(pipe, INT64, &zero, add, NULL);
	return hyphae_pipe_take(pipe, 31);
}

/* Where depth comes first, the join of a diamond fires twice for a set. */
static void make_bridged(void)
{
	struct hyphae_cell *far, *left, *right;

	made("pipe", hyphae_materialize(build_pipe()));
	made("unfused", hyphae_materialize_unfused(build_pipe()));
	far = made("bridge", hyphae_bridge(a, eager));
	made("bridged event", hyphae_bridge(event, eager));
	left = made("left", hyphae_map(far, INT64, twice, NULL));
	right = made("right", hyphae_map(far, INT64, twice, NULL));
	made("join", hyphae_combine(BOTH(left, right), 2, INT64, sum, NULL));
	deep = made("deep", hyphae_int64_new(eager, 0));
	left = made("deep left", hyphae_map(deep, INT64, twice, NULL));
	right = made("deep right", hyphae_map(deep, INT64, twice, NULL));
	made("deep join",
	     hyphae_combine(BOTH(left, right), 2, INT64, sum, NULL));
	stream = hyphae_stream_new(event, 1024, HYPHAE_OVERFLOW_FAIL, 0);
	if (!stream)
		die("a stream: %s", strerror(errno));
}

static void make_all(void)
{
	graph = hyphae_graph_new(0);
	eager = hyphae_graph_new(HYPHAE_EAGER);
	timer = hyphae_clock_new_virtual(0);
	if (!graph || !eager || !timer)
		die("%s", strerror(errno));
	must(hyphae_graph_set_clock(graph, timer));
	make_sources();
	make_each();
	make_history();
	make_limits();
	make_many();
	make_dynamic();
	make_timed();
	make_state_machine();
	make_bridged();
}

/* ---- what is done to them --------------------------------------------------- */

static int64_t next_number(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (int64_t)(state % 100);
}

/* What a step does is one pass. */
#define STEP(what)                                                             \
	do {                                                                   \
		begin();                                                       \
		must(what);                                                    \
		end();                                                         \
	} while (0)

static void set_both(int64_t round)
{
	begin();
	must(hyphae_batch_begin(graph));
	must(hyphae_int64_set(a, round));
	must(hyphae_int64_set(b, next_number() % 4));
	must(hyphae_int64_set(event, round));
	must(hyphae_int64_set(a, next_number() % 20));
	must(hyphae_int64_set(event, next_number()));
	must(hyphae_batch_end(graph));
	end();
}

static void one_round(int64_t round)
{
	struct hyphae_item item;

	STEP(hyphae_int64_set(a, next_number() % 7));
	STEP(hyphae_int64_set(event, next_number()));
	STEP(hyphae_int64_set(event, round % 4));
	set_both(round);
	STEP(hyphae_int64_set(deep, next_number() % 3));
	STEP(hyphae_int64_set(query, round));
	STEP(hyphae_int64_set(answer, round));
	STEP(hyphae_clock_advance(timer, (uint64_t)next_number() % 5 * 500));
	if (round % 10 == 9)
		STEP(hyphae_int64_set(gate, round));
	/* Posts and bridges that wait. */
	STEP(hyphae_settle(graph));
	STEP(hyphae_settle(eager));
	while (hyphae_stream_next(stream, &item) > 0) {
		stream_items++;
		hyphae_item_release(&item);
	}
}

static void drive(void)
{
	struct account *source = account_of(hyphae_cell_id(event));
	int64_t round;

	begin();
	make_at_once();
	end();
	must(hyphae_graph_each_cell(graph, add_op, NULL));
	must(hyphae_graph_each_cell(eager, add_op, NULL));
	for (round = 0; round < ROUNDS; round++)
		one_round(round);
	compare();
	if (stream_items != source->calls)
		die("the stream had %" PRIu64 " items of %" PRIu64,
		    stream_items, source->calls);
	STEP(hyphae_cell_complete(event));
	STEP(hyphae_cell_fail(b, -EPIPE, "the end"));
	STEP(hyphae_cell_complete(gate));
	STEP(hyphae_clock_advance(timer, 100 * US));
	STEP(hyphae_cell_complete(a));
	compare();
}

/* ---- the course of things --------------------------------------------------- */

static void wait_for(const char *whom)
{
	struct timespec step = {.tv_nsec = 1000000};

	puts("ready");
	fflush(stdout);
	if (!strcmp(whom, "now"))
		(void)getchar();
	while (!strcmp(whom, "watched") && !hyphae_watched())
		nanosleep(&step, NULL);
}

int main(int argc, char **argv)
{
	size_t id;

	if (argc != 4)
		die("arguments");
	passes = !strcmp(argv[2], "passes");
	make_all();
	for (id = 1; id < IDS; id++)
		accounts[id].calls = accounts[id].ends = 0;
	wait_for(argv[3]);
	drive();
	write_truth(argv[1]);
	puts("done");
	fflush(stdout);
	return 0;
}
