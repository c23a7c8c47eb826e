/* SPDX-License-Identifier: MIT */
/*
 * Running other programs from a test: start them, wait for what they say,
 * signal them, and know how they ended.
 *
 * What a program prints is kept (in memory, so it never waits for a reader)
 * and can be looked at while it runs and afterwards.  Everything that a test
 * started and did not close is killed by run_teardown(), and by the kernel
 * when the test program itself dies.
 *
 * Functions that wait take a limit in milliseconds; it exists so that a test
 * ends, and is generous.  No function asserts: the test does.
 */
#ifndef HYPHAE_TESTS_LIB_RUN_H
#define HYPHAE_TESTS_LIB_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* For whatever should happen at once. */
#define RUN_LIMIT 60000

struct run_how {
	const char *cwd;     /* NULL: the test's */
	bool keep_stdin;     /* `in` is a pipe to its stdin; else /dev/null */
	bool close_stdout;   /* its stdout is a pipe that nobody reads */
	bool new_group;	     /* a process group of its own */
	unsigned short rows; /* not 0: on a terminal of this size */
	unsigned short columns;
};

struct run {
	pid_t pid; /* stays what it was after the end */
	int in;	   /* with keep_stdin or a terminal: write here; else -1 */
	bool ended;
	int status; /* when ended: exit status, or 128 + signal */
	/* private */
	int out_fd, err_fd, terminal;
	char *out, *err;
	size_t out_size;
	struct run *next;
};

/*
 * Start argv[0] (found by PATH if it has no slash).  NULL only if fork or
 * memory fails; a program that cannot be executed ends with status 127.
 */
struct run *run_start(const char *const *argv);
struct run *run_start_how(const char *const *argv, const struct run_how *how);
#define RUN(...) run_start((const char *const[]){__VA_ARGS__, NULL})
/* The same with a pipe to its stdin, for run_say(). */
#define RUN_TALK(...)                                                          \
	run_start_how((const char *const[]){__VA_ARGS__, NULL},                \
		      &(struct run_how){.keep_stdin = true})

/*
 * Wait until `text` was printed, on stdout, stderr or the terminal.  False if
 * the program ended without it, or at the limit.
 */
bool run_wait_text(struct run *run, const char *text, int limit_ms);

/* Wait for its end: the status, or -1 at the limit. */
int run_wait(struct run *run, int limit_ms);

/* Write a line to its stdin (keep_stdin or a terminal); 0 or -errno. */
int run_say(struct run *run, const char *line);

/* Send a signal to this process alone; 0 or a negative errno. */
int run_kill(struct run *run, int signal);

/*
 * What it printed until now, as a string that is valid until the next call
 * for the same run.  A terminal has all of it in run_out().
 */
const char *run_out(struct run *run);
const char *run_err(struct run *run);

/* Kill it if it still runs, and forget it.  NULL is allowed. */
void run_close(struct run *run);

/* Close all: a cmocka teardown. */
int run_teardown(void **state);

/*
 * Run to the end and return its stdout, to be freed; `ret_status` may be
 * NULL and gets -1 at the limit.
 */
char *run_capture(int *ret_status, const char *const *argv);
#define CAPTURE(ret_status, ...)                                               \
	run_capture(ret_status, (const char *const[]){__VA_ARGS__, NULL})

/* A shell command, with printf arguments; as run_capture(). */
__attribute__((format(printf, 2, 3))) char *run_shell(int *ret_status,
						      const char *format, ...);

/* ---- places ----------------------------------------------------------- */

/* build/CONFIG/NAME, by $BUILD; one of 16 rotating buffers. */
const char *in_build(const char *name);

/* The same of the build with HYPHAE_PROBES=0. */
const char *in_build_without(const char *name);

/* A folder of this test program, removed at its end with all in it. */
const char *temp_dir(void);

/* temp_dir()/NAME; one of 16 rotating buffers. */
const char *in_temp(const char *name);

/* The whole file as a string to be freed, or NULL. */
char *read_file(const char *path);
/* 0, or a negative errno. */
int write_file(const char *path, const char *text);

/*
 * Where a tool is: by PATH, /usr/sbin, or where Ubuntu keeps those that
 * belong to a kernel.  NULL if it is nowhere.
 */
const char *find_tool(const char *name);

/* ---- what the machine permits ------------------------------------------ */

/* NULL if BPF programs can be attached to user probes here, or why not. */
const char *bpf_forbidden(void);

/*
 * Leave the test as skipped, with the reason printed, where the kernel
 * forbids BPF.  (Needs cmocka.h, which a test includes anyway.)
 */
#define NEED_BPF()                                                             \
	do {                                                                   \
		if (bpf_forbidden())                                           \
			SKIP_BECAUSE(bpf_forbidden());                         \
	} while (0)
#define SKIP_BECAUSE(reason)                                                   \
	do {                                                                   \
		print_message("skipped: %s\n", reason);                        \
		skip();                                                        \
	} while (0)

/* ---- numbers ------------------------------------------------------------ */

/* $variable; one that is empty counts as one that is not set. */
unsigned long test_number(const char *variable, unsigned long otherwise);

/* $SEED, or `otherwise`; printed, so that a failure can be repeated. */
unsigned long long test_seed(unsigned long long otherwise);

/* How often `text` occurs in `in`, without overlap. */
size_t count_text(const char *in, const char *text);

#endif
