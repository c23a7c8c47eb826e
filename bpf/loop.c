// SPDX-License-Identifier: MIT
/* Watch a process, interval by interval; see loop.h. */
#include "bpf/loop.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bpf/interrupt.h"
#include "bpf/output.h"
#include "bpf/screen.h"
#include "bpf/view_json.h"
#include "bpf/view_lines.h"
#include "bpf/watch.h"

/* How long blocks may wait until they are decoded. */
#define DRAIN_MS 25

/* Around the rows of a table: head, sums, note, empty line, prompt. */
#define AROUND_ROWS (VIEW_HEAD_LINES + 4)

enum source { SOURCE_PROCESS, SOURCE_TIMER, SOURCE_KEYS };

struct loop {
	const struct options *options;
	struct fault *fault;
	struct watch watch;
	struct report report;
	FILE *out;
	int out_fd;
	bool screen_on;
	bool had_screen; /* its order is kept for what is printed last */
	struct screen screen;
	int epoll, timer;
	unsigned long shown;
	bool due;	 /* an interval is over */
	bool gone;	 /* the process has ended */
	const char *end; /* why it ends; NULL: it goes on */
};

/* ---- output -------------------------------------------------------------- */

static void print_line(void *ctx, enum line_kind kind, const char *text)
{
	struct loop *loop = ctx;

	(void)kind;
	fprintf(loop->out, "%s\n", text);
}

static int output_failed(struct loop *loop)
{
	const char *name =
		loop->options->file ? loop->options->file : "standard output";

	if (errno == EPIPE)
		return fault_set(loop->fault, EXIT_OUTPUT, "%s", "");
	if (errno == EINTR)
		return fault_set(loop->fault, EXIT_OUTPUT,
				 "told to end while nobody took what it wrote "
				 "to %s; the last report is incomplete.",
				 name);
	return fault_set(loop->fault, EXIT_OUTPUT, "cannot write to %s: %s.",
			 name, strerror(errno ? errno : EIO));
}

static const struct column *sort_of(const struct loop *loop)
{
	return loop->had_screen ? loop->screen.sort : loop->options->sort;
}

static struct report_order order_of(const struct loop *loop)
{
	struct report_order order = loop->had_screen
					    ? screen_order(&loop->screen)
					    : column_order(loop->options->sort);

	order.fold = loop->options->output != OUTPUT_JSON;
	/* The screen can scroll through all. */
	if (!loop->screen_on)
		order.top = (size_t)loop->options->top;
	/* What stays of a screen shall not push its own head away. */
	if (!loop->screen_on && loop->had_screen) {
		int rows = output_rows(loop->out_fd) - AROUND_ROWS;

		if (rows < 1)
			rows = 1;
		if (!order.top || order.top > (size_t)rows)
			order.top = (size_t)rows;
	}
	return order;
}

static int make_report(struct loop *loop, bool all)
{
	struct report_order order = order_of(loop);

	loop->report.head.final = !!loop->end;
	loop->report.head.end = loop->end ? loop->end : "";
	loop->report.head.paused = false;
	if (!watch_report(&loop->watch, &loop->report, &order, all))
		return 0;
	return fault_set(loop->fault, EXIT_KERNEL,
			 "out of memory with %zu cells.",
			 loop->watch.model.count);
}

static int print_plain(struct loop *loop)
{
	struct view view = {
		.width = loop->options->wide ? 0 : output_columns(loop->out_fd),
		.sort = sort_of(loop),
		.ascending = order_of(loop).ascending,
		.line = print_line,
		.ctx = loop,
	};

	view_lines(&loop->report, &view);
	fputc('\n', loop->out);
	return fflush(loop->out) || ferror(loop->out) ? output_failed(loop) : 0;
}

static int print_report(struct loop *loop)
{
	int error;

	errno = 0;
	if (loop->options->output != OUTPUT_JSON)
		return print_plain(loop);
	error = view_json(&loop->report, loop->out);
	if (!error)
		return 0;
	errno = -error;
	return output_failed(loop);
}

/* A terminal that is stopped (Ctrl-S) would stop us, too. */
static void draw(struct loop *loop)
{
	if (output_is_ready(STDOUT_FILENO))
		screen_draw(&loop->screen, &loop->report);
}

/* An interval is over, or everything is. */
static int show(struct loop *loop)
{
	loop->due = false;
	if (loop->screen_on && loop->screen.paused && !loop->end) {
		watch_next(&loop->watch);
		return 0;
	}
	if (make_report(loop, loop->screen_on && loop->screen.all))
		return -1;
	watch_next(&loop->watch);
	loop->shown++;
	if (!loop->screen_on)
		return print_report(loop);
	draw(loop);
	return 0;
}

/* ---- what wakes us -------------------------------------------------------- */

static int watch_fd(const struct loop *loop, int fd, enum source source)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = source};

	return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event);
}

static int open_timer(struct loop *loop)
{
	double interval = loop->options->interval;
	struct timespec step = {
		.tv_sec = (time_t)interval,
		.tv_nsec = (long)((interval - (double)(time_t)interval) * 1e9),
	};
	struct itimerspec spec = {step, step};

	loop->timer =
		timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return loop->timer < 0 ? -1
			       : timerfd_settime(loop->timer, 0, &spec, NULL);
}

static int open_sources(struct loop *loop)
{
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll < 0 || open_timer(loop) ||
	    watch_fd(loop, loop->timer, SOURCE_TIMER) ||
	    watch_fd(loop, loop->watch.target.pidfd, SOURCE_PROCESS) ||
	    (loop->screen_on && watch_fd(loop, STDIN_FILENO, SOURCE_KEYS)))
		return fault_set(loop->fault, EXIT_KERNEL,
				 "cannot wait for events: %s.",
				 strerror(errno));
	return 0;
}

static int on_keys(struct loop *loop)
{
	if (!screen_keys(&loop->screen, &loop->report))
		return 0;
	if (loop->screen.quit)
		loop->end = "quit";
	/* The numbers stay what they are, unless others are asked for. */
	if (!loop->report.head.comm ||
	    (!loop->screen.paused &&
	     loop->report.head.all != loop->screen.all)) {
		if (make_report(loop, loop->screen.all))
			return -1;
	} else {
		struct report_order order = order_of(loop);

		report_sort(&loop->report, &order);
	}
	loop->report.head.paused = loop->screen.paused;
	draw(loop);
	return 0;
}

static int on_event(struct loop *loop, enum source source)
{
	uint64_t ticks;

	switch (source) {
	case SOURCE_TIMER:
		if (read(loop->timer, &ticks, sizeof(ticks)) > 0)
			loop->due = true;
		break;
	case SOURCE_PROCESS:
		loop->gone = true;
		loop->end = "process ended";
		break;
	case SOURCE_KEYS:
		return on_keys(loop);
	}
	return 0;
}

static int wait_events(struct loop *loop)
{
	struct epoll_event events[8];
	int n, i;

	n = epoll_wait(loop->epoll, events, 8, DRAIN_MS);
	if (interrupt_came())
		loop->end = "interrupted";
	if (n < 0 && errno != EINTR)
		return fault_set(loop->fault, EXIT_KERNEL,
				 "cannot wait for events: %s.",
				 strerror(errno));
	watch_drain(&loop->watch);
	if (n < 0 && loop->screen_on) /* the terminal changed its size */
		return on_keys(loop);
	for (i = 0; i < n; i++)
		if (on_event(loop, (enum source)events[i].data.u32))
			return -1;
	return 0;
}

/* ---- the course of things -------------------------------------------------- */

static int run(struct loop *loop)
{
	unsigned long count = loop->options->count;

	while (!loop->end) {
		if (wait_events(loop))
			return -1;
		watch_names(&loop->watch);
		if (!loop->due && !loop->end)
			continue;
		if (count && loop->shown + 1 >= count && !loop->end)
			loop->end = "count reached";
		watch_update(&loop->watch, loop->gone, !!loop->end);
		if (loop->watch.replaced && !loop->end)
			loop->end = "another program";
		else if (loop->watch.unloaded && !loop->end)
			loop->end = "hyphae unloaded";
		if (show(loop))
			return -1;
	}
	return 0;
}

/* With --fail-on-loss. */
static int judge(struct loop *loop)
{
	const struct losses *lost = &loop->report.lost;

	if (!losses_any(lost))
		return 0;
	if (!lost->records && !lost->fires)
		return fault_set(loop->fault, EXIT_LOSS,
				 "records of unknown content were lost; the "
				 "counts may be too low.");
	return fault_set(loop->fault, EXIT_LOSS,
			 "%llu records were lost, %llu fires among them; the "
			 "counts are too low.",
			 (unsigned long long)lost->records,
			 (unsigned long long)lost->fires);
}

/* What stays on the terminal, and the sentence that says why it ended. */
static int last_words(struct loop *loop)
{
	const struct target *target = &loop->watch.target;
	bool json = loop->options->output == OUTPUT_JSON;
	bool was_screen = loop->screen_on;

	if (was_screen) {
		screen_close();
		loop->screen_on = false;
	}
	if (make_report(loop, true))
		return -1;
	if (!json && (was_screen || loop->shown > 1)) {
		if (!was_screen)
			fputs("since the start:\n", loop->out);
		if (print_plain(loop))
			return -1;
	}
	if (loop->watch.replaced)
		fprintf(stderr,
			"hyphae-top: process %d (%s) runs another program "
			"now.\n",
			target->pid, target->comm);
	else if (loop->watch.unloaded)
		fprintf(stderr,
			"hyphae-top: process %d (%s) has unloaded hyphae.\n",
			target->pid, target->comm);
	else if (loop->gone)
		fprintf(stderr, "hyphae-top: process %d (%s) has ended%s.\n",
			target->pid, target->comm,
			loop->report.lost.unfinished
				? " without delivering its last records"
				: "");
	return loop->options->fail_on_loss ? judge(loop) : 0;
}

static int open_output(struct loop *loop)
{
	const char *name = loop->options->file;

	loop->out = output_open(name, &loop->out_fd);
	return loop->out ? 0 : output_failed(loop);
}

static void open_screen(struct loop *loop)
{
	if (loop->options->output == OUTPUT_AUTO && isatty(STDOUT_FILENO) &&
	    isatty(STDIN_FILENO))
		loop->screen_on = loop->had_screen =
			screen_open(&loop->screen, loop->options->sort);
}

static void loop_close(struct loop *loop)
{
	if (loop->screen_on)
		screen_close();
	report_done(&loop->report);
	watch_close(&loop->watch);
	if (loop->epoll >= 0)
		close(loop->epoll);
	if (loop->timer >= 0)
		close(loop->timer);
}

int loop_run(const struct options *options, struct fault *fault)
{
	struct watch_config config = {
		.pid = options->pid,
		.probes = options->probes,
		.ring_bytes = options->ring_bytes,
		.cells_limit = options->cells_limit,
		.keep_all = options->output != OUTPUT_JSON,
	};
	struct loop loop = {
		.options = options, .fault = fault, .epoll = -1, .timer = -1};
	int error;

	interrupt_open();
	if (open_output(&loop) || watch_open(&loop.watch, &config, fault))
		return -1;
	open_screen(&loop);
	error = open_sources(&loop) || run(&loop) || last_words(&loop);
	loop_close(&loop);
	errno = 0;
	if (loop.out && fclose(loop.out) && !error)
		error = output_failed(&loop);
	return error ? -1 : 0;
}
