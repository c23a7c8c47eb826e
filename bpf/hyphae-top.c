// SPDX-License-Identifier: MIT
/*
 * hyphae-top: what the cells of a running program do.
 *
 * main() reads the options and finds the process; loop.c watches it.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf/capability.h"
#include "bpf/fault.h"
#include "bpf/loop.h"
#include "bpf/options.h"
#include "bpf/target.h"
#include "bpf/text.h"
#include "include/hyphae/hyphae.h"

static int complain(struct fault *fault)
{
	text_plain(fault->text);
	if (fault->text[0])
		fprintf(stderr, "hyphae-top: %s\n", fault->text);
	return fault->status;
}

/*
 * Output to a pipe that is closed fails when it is flushed.  That is how
 * `head` ends, and no news to anybody.
 */
static int finish(void)
{
	struct fault fault;

	if (!fflush(stdout) && !ferror(stdout))
		return EXIT_OK;
	if (errno == EPIPE)
		fault_set(&fault, EXIT_OUTPUT, "%s", "");
	else
		fault_set(&fault, EXIT_OUTPUT,
			  "cannot write to standard output: %s.",
			  strerror(errno ? errno : EIO));
	return complain(&fault);
}

static int list(void)
{
	struct fault fault;
	int hidden, carriers = target_list(stdout, &hidden);

	if (capability_ptrace())
		hidden = 0; /* what is still hidden, nobody may see */
	if (carriers && hidden)
		fprintf(stderr,
			"hyphae-top: %d more processes belong to other users; "
			"to look into them it needs CAP_SYS_PTRACE.\n",
			hidden);
	if (carriers)
		return finish();
	if (hidden)
		fault_set(&fault, EXIT_PRIVILEGE,
			  "no process that may be looked into carries probes "
			  "of hyphae; for the %d others hyphae-top needs "
			  "CAP_SYS_PTRACE.",
			  hidden);
	else
		fault_set(&fault, EXIT_NO_PROCESS,
			  "no running process carries probes of hyphae.");
	return complain(&fault);
}

/*
 * A standard descriptor that is closed would be given to the next file that
 * is opened, and output would go there.  So that writing fails, read-only.
 */
static void occupy_descriptors(void)
{
	int fd;

	for (fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
			_exit(EXIT_OUTPUT);
}

int main(int argc, char **argv)
{
	struct options options;
	struct fault fault;

	occupy_descriptors();
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	signal(SIGPIPE, SIG_IGN);
	if (options_read(&options, argc, argv, &fault))
		return complain(&fault);
	if (options.help) {
		options_help(stdout);
		return finish();
	}
	if (options.version) {
		puts("hyphae-top " HYPHAE_VERSION);
		return finish();
	}
	if (!options.pid && !options.process)
		return list();
	if (options.process &&
	    target_by_name(options.process, &options.pid, &fault))
		return complain(&fault);
	if (loop_run(&options, &fault))
		return complain(&fault);
	return EXIT_OK;
}
