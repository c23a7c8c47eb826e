/* SPDX-License-Identifier: MIT */
/* Programs that watch this one; see watcher.h. */
#include "watcher.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "bench/lib/measure.h"
#include "bench/lib/options.h"
#include "load.h"

extern char **environ;

#define ATTACH_LIMIT_NS 20000000000ull
#define END_LIMIT_NS 20000000000ull
#define END_PAUSE_NS 2500000000ull
/* bpftrace attaches to its two probes in an order that is its own. */
#define SECOND_PROBE_NS 500000000ull

static void path_of_me(char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - 1);

	if (length < 0)
		give_up("cannot tell where it is", errno);
	path[length] = '\0';
}

static void beside_me(const char *name, char *path, size_t size)
{
	size_t length;

	path_of_me(path, size);
	length = (size_t)(strrchr(path, '/') + 1 - path);
	if ((size_t)snprintf(path + length, size - length, "%s", name) >=
	    size - length)
		give_up("cannot tell where it is", ENAMETOOLONG);
}

/* It did not attach: what it said, and the end. */
_Noreturn static void failed(struct watcher *watcher, const char *name)
{
	char line[256];

	rewind(watcher->output);
	while (fgets(line, sizeof(line), watcher->output))
		fputs(line, stderr);
	fprintf(stderr, "attached: %s did not attach.\n", name);
	exit(EXIT_FAILURE);
}

/* Start it with its output in a file, and wait until the process is watched. */
static void start(struct watcher *watcher, char **arguments)
{
	posix_spawn_file_actions_t actions;
	uint64_t limit = clock_ns() + ATTACH_LIMIT_NS;
	int err;

	watcher->output = tmpfile();
	if (!watcher->output)
		give_up("cannot make a file", errno);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fileno(watcher->output),
					 STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fileno(watcher->output),
					 STDERR_FILENO);
	/* The watcher may run anywhere, this program stays where it is. */
	unpin();
	err = posix_spawnp(&watcher->pid, arguments[0], &actions, NULL,
			   arguments, environ);
	pin_to(-1);
	posix_spawn_file_actions_destroy(&actions);
	if (err)
		give_up(arguments[0], err);
	while (!hyphae_watched()) {
		if (waitpid(watcher->pid, NULL, WNOHANG) != 0 ||
		    clock_ns() > limit)
			failed(watcher, arguments[0]);
		sleep_until_ns(clock_ns() + 1000000);
	}
}

/*
 * A signal that comes before the watcher is ready for it may be lost, so it
 * is repeated.
 */
static void stop(struct watcher *watcher)
{
	uint64_t start = clock_ns(), again = start;
	pid_t ended;

	while (!(ended = waitpid(watcher->pid, NULL, WNOHANG))) {
		if (clock_ns() >= again) {
			kill(watcher->pid,
			     again - start > END_LIMIT_NS ? SIGKILL : SIGINT);
			again += END_PAUSE_NS;
		}
		sleep_until_ns(clock_ns() + 5000000);
	}
	if (ended < 0)
		give_up("the watcher is gone", errno);
	rewind(watcher->output);
}

bool watcher_has(const char *command)
{
	char line[64];

	snprintf(line, sizeof(line), "command -v %s >/dev/null", command);
	return system(line) == 0;
}

/* ---- hyphae-top --------------------------------------------------------------- */

void watcher_start_top(struct watcher *watcher)
{
	char program[PATH_MAX], pid[16];
	char *arguments[] = {program, "-p", pid, "-d", "0.5", "--json", NULL};

	beside_me("hyphae-top", program, sizeof(program));
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	start(watcher, arguments);
}

static uint64_t number_of(const json_t *object, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(object, name));
}

struct seen watcher_stop_top(struct watcher *watcher)
{
	struct seen seen = {0};

	stop(watcher);
	for (;;) {
		json_t *line = json_loadf(watcher->output,
					  JSON_DISABLE_EOF_CHECK, NULL);

		if (!line)
			break;
		seen.fires += number_of(line, "fires");
		seen.lost += number_of(line, "lost");
		json_decref(line);
	}
	fclose(watcher->output);
	return seen;
}

/* ---- bpftrace ------------------------------------------------------------------- */

void watcher_start_bpftrace(struct watcher *watcher)
{
	char self[PATH_MAX], script[2 * PATH_MAX + 128], pid[16];
	char *arguments[] = {"bpftrace", "-p", pid, "-e", script, NULL};

	path_of_me(self, sizeof(self));
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	snprintf(script, sizeof(script),
		 "usdt:%s:hyphae:fanout { @fires = count(); } "
		 "usdt:%s:hyphae:watch { @unused = 1; }",
		 self, self);
	start(watcher, arguments);
	sleep_until_ns(clock_ns() + SECOND_PROBE_NS);
}

struct seen watcher_stop_bpftrace(struct watcher *watcher)
{
	struct seen seen = {0};
	char line[256];

	stop(watcher);
	while (fgets(line, sizeof(line), watcher->output))
		if (sscanf(line, "@fires: %" SCNu64, &seen.fires) == 1)
			break;
	fclose(watcher->output);
	return seen;
}
