/* SPDX-License-Identifier: MIT */
/*
 * Faults that were found by reading the sources (test_regressions.c): what
 * watchers are told, by records, reports and probes.
 */
#include "regressions.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/alloc.h"
#include "binary.h"
#include "core/probe.h"
#include "core/types.h"
#include "core/watch.h"

/* ---- what watchers are told ----------------------------------------------------------- */

/* As a tracer does that attaches. */
static void watch(void)
{
	hy_gate.records = 1;
}

/* Of this thread, emptied by hand so that the next test finds it empty. */
static struct hy_record *records(uint32_t *ret_count)
{
	static struct hy_record copy[HY_BLOCK_RECORDS];
	struct hy_block *block = hy_self.watcher->block;

	hy_gate.records = 0;
	hy_self.watcher->open = NULL;
	*ret_count = block->count;
	memcpy(copy, block->records, block->count * sizeof(copy[0]));
	block->count = block->fires = 0;
	return copy;
}

static uint32_t depth_of(const struct hy_record *records_, uint32_t n,
			 struct hyphae_cell *cell)
{
	while (n--)
		if (HY_RECORD_ID(&records_[n]) == hyphae_cell_id(cell))
			return records_[n].depth;
	return 99;
}

/*
 * In an eager graph a record told the depth of what had fired last, and one
 * more, instead of the cell's.
 */
static void eager_records_tell_the_depth_of_their_cell(void **state)
{
	struct hyphae_graph *graph =
		hyphae_graph_new(HYPHAE_EAGER | HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *source = hyphae_int64_new(graph, 0);
	struct hyphae_cell *a =
		hyphae_map(source, &hyphae_int64, plus_one, NULL);
	struct hyphae_cell *b = hyphae_map(a, &hyphae_int64, plus_one, NULL);
	struct hyphae_cell *c =
		hyphae_map(source, &hyphae_int64, plus_one, NULL);
	struct hy_record *told;
	uint32_t n;

	(void)state;
	watch();
	assert_int_equal(hyphae_int64_set(source, 1), 0);
	told = records(&n);
	assert_int_equal(n, 4);
	assert_int_equal(depth_of(told, n, source), 0);
	assert_int_equal(depth_of(told, n, a), 1);
	assert_int_equal(depth_of(told, n, b), 2);
	assert_int_equal(depth_of(told, n, c), 1);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/* A tracer that comes or goes in the middle of a pass. */
struct visit {
	uint16_t records, detail; /* from this call on */
};

static int come_or_go(const struct hyphae_signal *signal, void *ctx)
{
	struct visit *visit = ctx;

	(void)signal;
	hy_gate.records = visit->records;
	hy_gate.detail = visit->detail;
	return 0;
}

/* Set `cell` to `n`, in a batch or bare. */
static void set_in(struct hyphae_graph *graph, bool batched,
		   struct hyphae_cell *cell, int64_t n)
{
	if (batched)
		assert_int_equal(hyphae_batch_begin(graph), 0);
	assert_int_equal(hyphae_int64_set(cell, n), 0);
	if (batched)
		assert_int_equal(hyphae_batch_end(graph), 0);
}

static void look_at_clock(bool batched)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
	struct hyphae_cell *map =
		hyphae_map(cell, &hyphae_int64, plus_one, NULL);
	struct visit visit = {0, 0};
	const struct hy_record *told;
	unsigned int calls = 0;
	uint32_t n;

	assert_non_null(hyphae_subscribe_with(cell, come_or_go, &visit, NULL,
					      HYPHAE_SKIP_INITIAL));
	assert_non_null(hyphae_subscribe_with(map, count_calls, &calls, NULL,
					      HYPHAE_SKIP_INITIAL));
	watch();
	set_in(graph, batched, cell, 1);
	records(&n);
	/* That was long ago. */
	assert_int_not_equal(hy_graph(graph)->clock, 0);
	hy_graph(graph)->clock = 1;
	visit.records = 1;
	set_in(graph, batched, cell, 2);
	told = records(&n);
	assert_int_equal(calls, 2);
	assert_int_equal(n, 1);
	assert_int_equal(HY_RECORD_ID(&told[0]), hyphae_cell_id(map));
	assert_int_equal(HY_RECORD_FLAGS(&told[0]), HY_RECORD_FIRE);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/*
 * The last reading of the clock outlived its pass when the tracer left in it:
 * a tracer that came in the middle of another was told that a fan-out took
 * all the time between (so long that it is told in other units).
 */
static void reading_of_the_clock_ends_with_its_pass(void **state)
{
	(void)state;
	look_at_clock(true);
	look_at_clock(false);
}

static void look_at_fires(bool batched)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
	struct hyphae_cell *map =
		hyphae_map(cell, &hyphae_int64, plus_one, NULL);
	struct visit visit = {0, 0};
	unsigned int calls = 0;

	assert_non_null(hyphae_subscribe_with(map, come_or_go, &visit, NULL,
					      HYPHAE_SKIP_INITIAL));
	hy_gate.detail = 1;
	set_in(graph, batched, cell, 1);
	assert_int_equal(hy_gate.detail, 0);
	visit.detail = 1;
	map = hyphae_map(map, &hyphae_int64, plus_one, NULL);
	assert_non_null(hyphae_subscribe_with(map, count_calls, &calls, NULL,
					      HYPHAE_SKIP_INITIAL));
	set_in(graph, batched, cell, 2);
	hy_gate.detail = 0;
	assert_int_equal(calls, 1);
	assert_int_equal(hy_graph(graph)->pass_fires, 1);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

/*
 * The fires of a pass in which a tracer left were counted as fires of the one
 * in the middle of which the next tracer came.
 */
static void fires_of_an_earlier_pass_are_not_counted(void **state)
{
	(void)state;
	look_at_fires(true);
	look_at_fires(false);
}

struct needy {
	struct hyphae_cell *cell;
};

/* So that the report, and only that, finds no memory. */
static int write_and_fail(void *ctx)
{
	hyphae_int64_set(((struct needy *)ctx)->cell, 5);
	hy_alloc_fail_after(1);
	return -EIO;
}

/*
 * When the function failed and there was no memory for the report, the
 * report was left as it was, and giving it back freed what was never there.
 */
static void report_is_empty_when_there_is_no_memory_for_it(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct needy needy = {hyphae_int64_new(graph, 0)};
	struct hyphae_report report;
	int r;

	(void)state;
	memset(&report, 0xa5, sizeof(report));
	r = hyphae_pass(write_and_fail, &needy, &report);
	hy_alloc_fail_after(0);
	assert_int_equal(r, -EIO);
	assert_null(report.cells);
	assert_int_equal(report.count, 0);
	assert_int_equal(report.fires, 0);
	hyphae_report_done(&report);
	/* It can still be taken. */
	assert_int_equal(hyphae_report_take(&report), 0);
	assert_int_equal(report.fires, 1);
	assert_int_equal(report.count, 1);
	hyphae_report_done(&report);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

#if defined(__x86_64__)
/* ---- probes that are hit, counted by traps of our own ------------------------------------ */

#define BREAKPOINT 0xcc
#define SITES 8

struct trap {
	const char *probe;
	uint64_t sites[SITES];
	size_t count;
	unsigned int hits;
};

static struct trap traps[] = {{.probe = "batch"}, {.probe = "batch_done"}};
#define TRAPS (sizeof(traps) / sizeof(traps[0]))

static void trapped(int signal, siginfo_t *info, void *context)
{
	ucontext_t *ucontext = context;
	uint64_t site = (uint64_t)ucontext->uc_mcontext.gregs[REG_RIP] - 1;
	size_t i, j;

	(void)signal;
	(void)info;
	for (i = 0; i < TRAPS; i++)
		for (j = 0; j < traps[i].count; j++)
			traps[i].hits += traps[i].sites[j] == site;
}

/* Text is not writable for the program itself, but through this it is. */
static void write_text(uint64_t address, unsigned char byte)
{
	int fd = open("/proc/self/mem", O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)address), 1);
	close(fd);
}

static void find_sites(struct trap *trap, const struct binary *binary,
		       uint64_t bias)
{
	size_t i;

	trap->count = trap->hits = 0;
	for (i = 0; i < binary->count; i++)
		if (!strcmp(binary->notes[i].name, trap->probe)) {
			assert_true(trap->count < SITES);
			trap->sites[trap->count++] = binary->notes[i].pc + bias;
		}
	assert_true(trap->count > 0);
}

static unsigned char nops[TRAPS][SITES];

static void set_traps(void)
{
	struct sigaction action = {.sa_sigaction = trapped,
				   .sa_flags = SA_SIGINFO};
	struct binary *binary;
	char path[4096] = "";
	uint64_t bias;
	size_t i, j;

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	binary = binary_open(path);
	assert_non_null(binary);
	bias = process_bias(getpid(), binary, path);
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	for (i = 0; i < TRAPS; i++) {
		find_sites(&traps[i], binary, bias);
		for (j = 0; j < traps[i].count; j++) {
			nops[i][j] = *(unsigned char *)traps[i].sites[j];
			assert_int_equal(nops[i][j], 0x90);
			write_text(traps[i].sites[j], BREAKPOINT);
		}
	}
	binary_close(binary);
	hy_gate.detail = 1;
}

static void remove_traps(void)
{
	size_t i, j;

	hy_gate.detail = 0;
	for (i = 0; i < TRAPS; i++)
		for (j = 0; j < traps[i].count; j++)
			write_text(traps[i].sites[j], nops[i][j]);
	signal(SIGTRAP, SIG_DFL);
}

/*
 * Settling inside a batch propagated what there was as a batch of its own: one
 * had begun for a tracer, and two ended.
 */
static void settle_in_a_batch_ends_one_and_begins_one(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);

	(void)state;
	set_traps();
	hyphae_batch_begin(graph);
	hyphae_settle(graph); /* with nothing to do */
	hyphae_int64_set(cell, 1);
	hyphae_settle(graph);
	hyphae_int64_set(cell, 2);
	hyphae_batch_end(graph);
	remove_traps();
	assert_int_equal(traps[0].hits, 2);
	assert_int_equal(traps[1].hits, 2);
	assert_int_equal(value(cell), 2);
	assert_int_equal(hyphae_graph_free(graph), 0);
}
#define TRAP_TEST cmocka_unit_test(settle_in_a_batch_ends_one_and_begins_one),
#else
#define TRAP_TEST /* the traps are those of x86 */
#endif

struct childs_view {
	uint64_t thread, tid, sequence, lost;
	uint32_t count, fires, passes;
	uint16_t reports;
	bool alone;
};

static void look_around(struct hyphae_cell *cell, struct childs_view *view)
{
	const struct hy_block *block;

	hyphae_int64_set(cell, 100);
	block = hy_self.watcher->block;
	*view = (struct childs_view){.thread = block->thread,
				     .tid = (uint64_t)syscall(SYS_gettid),
				     .sequence = block->sequence,
				     .lost = block->lost,
				     .count = block->count,
				     .fires = block->fires,
				     .passes = block->passes,
				     .reports = hy_gate.reports,
				     .alone = hy_watchers == hy_self.watcher &&
					      !hy_watchers->next};
}

/*
 * The child had the parent's records once more, and the parent's thread id in
 * its block.
 */
static void child_begins_with_records_of_its_own(void **state)
{
	struct hyphae_graph *graph = hyphae_graph_new(HYPHAE_SINGLE_THREAD);
	struct hyphae_cell *cell = hyphae_int64_new(graph, 0);
	struct childs_view view;
	int ends[2], status, i;
	uint32_t n;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	watch();
	for (i = 1; i <= 5; i++)
		assert_int_equal(hyphae_int64_set(cell, i), 0);
	child = fork();
	if (child == 0) {
		look_around(cell, &view);
		_exit(write(ends[1], &view, sizeof(view)) != sizeof(view));
	}
	assert_true(child > 0);
	records(&n);
	assert_int_equal(n, 5);
	assert_int_equal(read(ends[0], &view, sizeof(view)), sizeof(view));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(view.tid, (uint64_t)child);
	assert_int_equal(view.thread, view.tid);
	assert_int_equal(view.sequence, 1);
	assert_int_equal(view.count, 1);
	assert_int_equal(view.fires, 1);
	assert_int_equal(view.passes, 1);
	assert_int_equal(view.lost, 0);
	assert_int_equal(view.reports, 0);
	assert_true(view.alone);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(hyphae_graph_free(graph), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eager_records_tell_the_depth_of_their_cell),
		cmocka_unit_test(reading_of_the_clock_ends_with_its_pass),
		cmocka_unit_test(fires_of_an_earlier_pass_are_not_counted),
		cmocka_unit_test(
			report_is_empty_when_there_is_no_memory_for_it),
		cmocka_unit_test(child_begins_with_records_of_its_own),
		TRAP_TEST};

	return cmocka_run_group_tests_name(
		"regressions: what watchers are told", tests, NULL, NULL);
}
