// SPDX-License-Identifier: MIT
/* Running other programs from a test: see run.h. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static struct run *all_runs;

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/* ---- start --------------------------------------------------------------- */

static void stop_here(void)
{
	_exit(127);
}

/* In the child: the last steps before the program. */
static void exec_child(const char *const *argv, const struct run_how *how,
		       pid_t parent)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		stop_here();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (how->cwd && chdir(how->cwd))
		stop_here();
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	dprintf(2, "%s cannot be started: %s.\n", argv[0], strerror(errno));
	stop_here();
}

static int start_on_terminal(struct run *run, const char *const *argv,
			     const struct run_how *how)
{
	struct winsize size = {.ws_row = how->rows, .ws_col = how->columns};
	pid_t parent = getpid();
	int terminal;

	run->pid = forkpty(&terminal, NULL, NULL, &size);
	if (run->pid < 0)
		return -errno;
	if (run->pid == 0)
		exec_child(argv, how, parent);
	fcntl(terminal, F_SETFD, FD_CLOEXEC);
	fcntl(terminal, F_SETFL, O_NONBLOCK);
	run->terminal = run->in = terminal;
	return 0;
}

static int start_plain(struct run *run, const char *const *argv,
		       const struct run_how *how)
{
	int in[2] = {-1, -1}, closed[2];
	pid_t parent = getpid();

	run->out_fd = memfd_create("stdout", MFD_CLOEXEC);
	run->err_fd = memfd_create("stderr", MFD_CLOEXEC);
	if (run->out_fd < 0 || run->err_fd < 0)
		return -errno;
	if (how->keep_stdin && pipe2(in, O_CLOEXEC))
		return -errno;
	run->pid = fork();
	if (run->pid < 0)
		return -errno;
	if (run->pid == 0) {
		if (how->new_group)
			setpgid(0, 0);
		dup2(how->keep_stdin ? in[0] : open("/dev/null", O_RDONLY), 0);
		if (how->close_stdout && !pipe2(closed, O_CLOEXEC)) {
			dup2(closed[1], 1);
			close(closed[0]);
			close(closed[1]);
		} else {
			dup2(run->out_fd, 1);
		}
		dup2(run->err_fd, 2);
		exec_child(argv, how, parent);
	}
	if (how->keep_stdin) {
		close(in[0]);
		run->in = in[1];
	}
	return 0;
}

struct run *run_start_how(const char *const *argv, const struct run_how *how)
{
	struct run *run = calloc(1, sizeof(*run));
	int error;

	if (!run)
		return NULL;
	run->in = run->out_fd = run->err_fd = run->terminal = -1;
	fflush(NULL);
	if (how->rows)
		error = start_on_terminal(run, argv, how);
	else
		error = start_plain(run, argv, how);
	if (error) {
		free(run);
		return NULL;
	}
	run->next = all_runs;
	all_runs = run;
	return run;
}

struct run *run_start(const char *const *argv)
{
	return run_start_how(argv, &(struct run_how){0});
}

/* ---- read ---------------------------------------------------------------- */

/* The whole of a memory file as a string. */
static char *slurp(int fd, char *old)
{
	struct stat st;
	char *text;
	ssize_t got;

	free(old);
	if (fd < 0 || fstat(fd, &st))
		return strdup("");
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return NULL;
	got = pread(fd, text, (size_t)st.st_size, 0);
	text[got > 0 ? got : 0] = '\0';
	/* A string ends at a NUL; what a program prints may have one. */
	for (ssize_t i = 0; i < got; i++) {
		if (text[i] == '\0')
			text[i] = '?';
	}
	return text;
}

/* Take what the terminal has to say. */
static void pump(struct run *run)
{
	char piece[4096], *more;
	ssize_t got;

	while (run->terminal >= 0) {
		got = read(run->terminal, piece, sizeof(piece));
		if (got <= 0)
			return;
		more = realloc(run->out, run->out_size + (size_t)got + 1);
		if (!more)
			return;
		memcpy(more + run->out_size, piece, (size_t)got);
		run->out = more;
		run->out_size += (size_t)got;
		run->out[run->out_size] = '\0';
	}
}

const char *run_out(struct run *run)
{
	if (run->terminal >= 0) {
		pump(run);
		return run->out ? run->out : "";
	}
	run->out = slurp(run->out_fd, run->out);
	return run->out;
}

const char *run_err(struct run *run)
{
	run->err = slurp(run->err_fd, run->err);
	return run->err;
}

/* ---- wait and end -------------------------------------------------------- */

static void reap(struct run *run)
{
	int status;

	pump(run);
	if (run->ended || waitpid(run->pid, &status, WNOHANG) != run->pid)
		return;
	run->ended = true;
	run->status = WIFEXITED(status) ? WEXITSTATUS(status)
					: 128 + WTERMSIG(status);
	pump(run);
}

bool run_wait_text(struct run *run, const char *text, int limit_ms)
{
	long long end = now_ms() + limit_ms;

	for (;;) {
		bool last = run->ended || now_ms() > end;

		if (strstr(run_out(run), text) || strstr(run_err(run), text))
			return true;
		if (last)
			return false;
		nap();
		reap(run);
	}
}

int run_wait(struct run *run, int limit_ms)
{
	long long end = now_ms() + limit_ms;

	for (;;) {
		reap(run);
		if (run->ended)
			return run->status;
		if (now_ms() > end)
			return -1;
		nap();
	}
}

int run_say(struct run *run, const char *line)
{
	return dprintf(run->in, "%s\n", line) < 0 ? -errno : 0;
}

int run_kill(struct run *run, int signal)
{
	/* An ended child was waited for; its number may be another's. */
	reap(run);
	if (run->ended)
		return -ESRCH;
	return kill(run->pid, signal) ? -errno : 0;
}

void run_close(struct run *run)
{
	struct run **at = &all_runs;

	if (!run)
		return;
	while (*at && *at != run)
		at = &(*at)->next;
	if (*at)
		*at = run->next;
	if (run_kill(run, SIGKILL) == 0)
		run_wait(run, RUN_LIMIT);
	if (run->in >= 0)
		close(run->in);
	if (run->out_fd >= 0)
		close(run->out_fd);
	if (run->err_fd >= 0)
		close(run->err_fd);
	free(run->out);
	free(run->err);
	free(run);
}

int run_teardown(void **state)
{
	(void)state;
	while (all_runs)
		run_close(all_runs);
	return 0;
}

char *run_capture(int *ret_status, const char *const *argv)
{
	struct run *run = run_start(argv);
	char *text;
	int status;

	if (!run)
		return NULL;
	status = run_wait(run, 4 * RUN_LIMIT);
	if (ret_status)
		*ret_status = status;
	text = slurp(run->out_fd, NULL);
	if (status != 0 && *run_err(run))
		printf("%s: %s", argv[0], run_err(run));
	run_close(run);
	return text;
}

char *run_shell(int *ret_status, const char *format, ...)
{
	char *command = NULL, *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&command, format, args) < 0)
		command = NULL;
	va_end(args);
	if (!command)
		return NULL;
	text = CAPTURE(ret_status, "/bin/sh", "-c", command);
	free(command);
	return text;
}
