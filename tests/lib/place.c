// SPDX-License-Identifier: MIT
/* Where things are and what the machine permits: see run.h. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUND 16

static const char *join(const char *folder, const char *name)
{
	static char paths[ROUND][4096];
	static unsigned int turn;
	char *path = paths[turn++ % ROUND];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static const char *build_folder(void)
{
	const char *build = getenv("BUILD");

	return build && *build ? build : "build/release";
}

const char *in_build(const char *name)
{
	return join(build_folder(), name);
}

const char *in_build_without(const char *name)
{
	char folder[1024];

	snprintf(folder, sizeof(folder), "%s-noprobes", build_folder());
	return join(folder, name);
}

static char temp[64];
static pid_t temp_owner;

static int remove_one(const char *path, const struct stat *st, int kind,
		      struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	remove(path);
	return 0;
}

static void remove_temp(void)
{
	/* A forked child that calls exit() leaves its parent's folder alone. */
	if (getpid() == temp_owner)
		nftw(temp, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *temp_dir(void)
{
	if (!temp_owner) {
		strcpy(temp, "/tmp/hyphae-test-XXXXXX");
		if (!mkdtemp(temp)) {
			perror("a temporary folder cannot be made");
			exit(1);
		}
		temp_owner = getpid();
		atexit(remove_temp);
	}
	return temp;
}

const char *in_temp(const char *name)
{
	return join(temp_dir(), name);
}

char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return NULL;
	if (getdelim(&text, &size, -1, file) < 0) {
		free(text);
		text = strdup("");
	}
	fclose(file);
	return text;
}

int write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");
	int error = 0;

	if (!file)
		return -errno;
	if (fputs(text, file) < 0)
		error = -EIO;
	if (fclose(file) && !error)
		error = -errno;
	return error;
}

const char *find_tool(const char *name)
{
	static const char *const folders[] = {"/usr/local/bin", "/usr/bin",
					      "/bin", "/usr/sbin", "/sbin"};
	static const char *const of_kernels[] = {"/usr/lib/linux-tools",
						 "/usr/lib"};
	const char *found = NULL, *path;
	glob_t at;

	/* Ubuntu's wrappers in /usr/bin fail without their kernel's tools. */
	for (size_t i = 0; i < 2 && !found; i++) {
		char pattern[256];

		snprintf(pattern, sizeof(pattern), "%s/%s*/%s", of_kernels[i],
			 i ? "linux-tools-" : "", name);
		if (glob(pattern, 0, NULL, &at) == 0)
			found = join("", at.gl_pathv[at.gl_pathc - 1] + 1);
		globfree(&at);
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders) && !found;
	     i++) {
		path = join(folders[i], name);
		if (access(path, X_OK) == 0)
			found = path;
	}
	return found;
}

const char *bpf_forbidden(void)
{
	static char why[256];
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY,
			       .key_size = 4,
			       .value_size = 8,
			       .max_entries = 1};
	int fd;

	if (access("/sys/bus/event_source/devices/uprobe/type", R_OK) != 0)
		return "this kernel has no uprobes";
	fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	if (fd >= 0) {
		close(fd);
		return NULL;
	}
	snprintf(why, sizeof(why), "the kernel forbids BPF to user %u: %s",
		 (unsigned int)geteuid(), strerror(errno));
	return why;
}

unsigned long test_number(const char *variable, unsigned long otherwise)
{
	const char *text = getenv(variable);

	return text && *text ? strtoul(text, NULL, 0) : otherwise;
}

unsigned long long test_seed(unsigned long long otherwise)
{
	unsigned long long seed = test_number("SEED", otherwise);

	printf("SEED=%llu\n", seed);
	return seed;
}

size_t count_text(const char *in, const char *text)
{
	size_t count = 0, length = strlen(text);

	while (length && (in = strstr(in, text))) {
		count++;
		in += length;
	}
	return count;
}
