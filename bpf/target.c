// SPDX-License-Identifier: MIT
/* The process to look at; see target.h. */
#include "bpf/target.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/capability.h"
#include "bpf/maps.h"
#include "bpf/text.h"

static void read_comm(pid_t pid, char *comm, size_t size)
{
	char name[64];
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/comm", pid);
	file = fopen(name, "re");
	if (!file || !fgets(comm, (int)size, file))
		snprintf(comm, size, "?");
	if (file)
		fclose(file);
	comm[strcspn(comm, "\n")] = '\0';
	/* A process can give itself any name; terminals obey some. */
	text_plain(comm);
}

/* What /proc/PID/stat says; the name in it may hold anything. */
struct stat_line {
	char state;
	unsigned long long start, stack;
};

static int read_stat(pid_t pid, struct stat_line *stat)
{
	char name[64], text[1024], *at;
	size_t n = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	file = fopen(name, "re");
	if (file) {
		n = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
	}
	text[n] = '\0';
	at = strrchr(text, ')');
	if (!at ||
	    sscanf(at + 1,
		   " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%*s %*s %*s %*s %*s %llu %*s %*s %*s %*s %*s %llu",
		   &stat->state, &stat->start, &stat->stack) != 3)
		return -ESRCH;
	return 0;
}

static bool has_ended(const struct stat_line *stat)
{
	return stat->state == 'Z' || stat->state == 'X';
}

static bool lives(pid_t thread)
{
	struct stat_line stat;

	return !read_stat(thread, &stat) && !has_ended(&stat);
}

/* The main thread, or any other that lives; 0 if none does. */
static pid_t living_thread(pid_t pid)
{
	struct dirent *entry;
	pid_t thread = 0;
	char name[64];
	DIR *dir;

	if (lives(pid))
		return pid;
	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	dir = opendir(name);
	while (dir && !thread && (entry = readdir(dir))) {
		thread = (pid_t)strtol(entry->d_name, NULL, 10);
		if (thread <= 0 || !lives(thread))
			thread = 0;
	}
	if (dir)
		closedir(dir);
	return thread;
}

static int hold(struct target *target, struct fault *fault)
{
	struct stat_line stat;

	target->pidfd = (int)syscall(SYS_pidfd_open, target->pid, 0);
	if (target->pidfd < 0 && (errno == EINVAL || errno == ENOENT))
		return fault_set(fault, EXIT_NO_PROCESS,
				 "%d is no process but a thread of one; give "
				 "the number of the process.",
				 target->pid);
	if (target->pidfd < 0 && errno != ESRCH)
		return fault_set(fault, EXIT_KERNEL,
				 "cannot hold process %d: %s.", target->pid,
				 strerror(errno));
	if (target->pidfd < 0 || read_stat(target->pid, &stat))
		return fault_set(fault, EXIT_NO_PROCESS,
				 "there is no process %d.", target->pid);
	target->start = stat.start;
	target->stack = stat.stack;
	target->thread = living_thread(target->pid);
	if (!target->thread || !target_alive(target))
		return fault_set(fault, EXIT_NO_PROCESS,
				 "process %d has ended already.", target->pid);
	return 0;
}

static int no_probes(const struct target *target,
		     const struct maps_found *found, struct fault *fault)
{
	if (found->suspect[0])
		return fault_set(fault, EXIT_NO_PROBES,
				 "process %d (%s) maps %s, which has no notes "
				 "of probes: it was built with HYPHAE_PROBES=0 "
				 "or stripped with -R .note.stapsdt.",
				 target->pid, target->comm, found->suspect);
	if (found->closed)
		return fault_set(fault, EXIT_PRIVILEGE,
				 "%u of the files that process %d (%s) maps "
				 "cannot be opened; to read them hyphae-top "
				 "needs CAP_SYS_PTRACE and, for deleted ones, "
				 "CAP_CHECKPOINT_RESTORE (root has them).",
				 found->closed, target->pid, target->comm);
	return fault_set(fault, EXIT_NO_PROBES,
			 "process %d (%s) carries no probes of hyphae: none of "
			 "the %u files that it maps as code has notes of "
			 "provider hyphae. It does not use hyphae, or its "
			 "hyphae was built with HYPHAE_PROBES=0 or stripped "
			 "with -R .note.stapsdt.",
			 target->pid, target->comm, found->files);
}

static int may_not(const struct target *target, struct fault *fault)
{
	const char *why = "that takes CAP_SYS_PTRACE (run hyphae-top as root)";

	if (capability_ptrace())
		why = "CAP_SYS_PTRACE is not enough here, a container or a "
		      "security module of the kernel forbids it";
	else if (!geteuid())
		why = "it has capabilities that root lacks here (in a "
		      "container?); that takes CAP_SYS_PTRACE";
	return fault_set(fault, EXIT_PRIVILEGE,
			 "process %d (%s) may not be looked into: %s.",
			 target->pid, target->comm, why);
}

static int find_probes(struct target *target, struct fault *fault)
{
	static struct maps_found found; /* large */
	int error = maps_find(target->thread, NULL, &found);

	if (error == -EACCES || error == -EPERM)
		return may_not(target, fault);
	if (error || !target_alive(target))
		return fault_set(fault, EXIT_NO_PROCESS,
				 "process %d ended before it could be looked "
				 "into.",
				 target->pid);
	if (!found.probes)
		return no_probes(target, &found, fault);
	target->probes = found.notes.probes;
	target->deleted = !!strstr(found.file, " (deleted)");
	if (found.notes.semaphore)
		target->semaphore = found.notes.semaphore + found.shift;
	snprintf(target->file, sizeof(target->file), "%s", found.file);
	snprintf(target->path, sizeof(target->path), "%s", found.path);
	return 0;
}

/* In another time namespace CLOCK_MONOTONIC may be off. */
static bool same_time_namespace(pid_t pid)
{
	struct stat ours, theirs;
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/ns/time", pid);
	return stat("/proc/self/ns/time", &ours) || stat(name, &theirs) ||
	       ours.st_ino == theirs.st_ino;
}

int target_open(struct target *target, pid_t pid, struct fault *fault)
{
	memset(target, 0, sizeof(*target));
	target->pid = pid;
	target->pidfd = -1;
	if (hold(target, fault)) {
		target_close(target);
		return -1;
	}
	read_comm(pid, target->comm, sizeof(target->comm));
	target->same_clock = same_time_namespace(pid);
	if (find_probes(target, fault)) {
		target_close(target);
		return -1;
	}
	return 0;
}

bool target_alive(const struct target *target)
{
	struct pollfd poll_fd = {.fd = target->pidfd, .events = POLLIN};
	struct stat_line stat;

	if (poll(&poll_fd, 1, 0) > 0)
		return false;
	return !read_stat(target->pid, &stat) && stat.start == target->start;
}

bool target_same_program(const struct target *target)
{
	struct stat_line stat;

	/* The kernel tells where the stack is only to those who may look. */
	return target->stack > 1 && !read_stat(target->pid, &stat) &&
	       stat.stack == target->stack;
}

bool target_thread_ended(const struct target *target)
{
	return !lives(target->thread) && target_alive(target);
}

int target_renew(struct target *target)
{
	struct fault fault;

	target->thread = living_thread(target->pid);
	if (!target->thread)
		return -1;
	return find_probes(target, &fault);
}

bool target_has_memory(const struct target *target)
{
	char name[64], byte;
	bool any = false;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/maps", target->thread);
	file = fopen(name, "re");
	if (file) {
		any = fread(&byte, 1, 1, file) == 1;
		fclose(file);
	}
	return any && target_alive(target);
}

void target_close(struct target *target)
{
	if (target->pidfd >= 0)
		close(target->pidfd);
	target->pidfd = -1;
}

/* The last part of its program's path; "" if that may not be known. */
static void read_program(pid_t pid, char *program, size_t size)
{
	char link[64], exe[4096], *end;
	ssize_t n;

	program[0] = '\0';
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	n = readlink(link, exe, sizeof(exe) - 1);
	if (n <= 0)
		return;
	exe[n] = '\0';
	end = strstr(exe, " (deleted)");
	if (end)
		*end = '\0';
	end = strrchr(exe, '/');
	if (end)
		snprintf(program, size, "%.*s", (int)size - 1, end + 1);
}

/* The kernel keeps so many bytes of a name. */
#define COMM_BYTES 15

/* Does the process go by that name? */
static bool goes_by(pid_t pid, const char *name)
{
	char comm[32], program[256];

	read_comm(pid, comm, sizeof(comm));
	if (!strncmp(comm, name, COMM_BYTES) &&
	    (strlen(name) >= COMM_BYTES || strlen(comm) == strlen(name)))
		return true;
	read_program(pid, program, sizeof(program));
	return !strcmp(program, name);
}

/* For people: the whole name, if the kernel has cut it. */
static void read_name(pid_t pid, char *name, size_t size)
{
	char program[256];

	read_comm(pid, name, size);
	if (strlen(name) != COMM_BYTES)
		return;
	read_program(pid, program, sizeof(program));
	text_plain(program);
	if (!strncmp(program, name, COMM_BYTES))
		snprintf(name, size, "%s", program);
}

/* Call fn for each process but this one, until it says stop. */
static void each_process(bool (*fn)(pid_t pid, void *ctx), void *ctx)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && pid != getpid() && !fn(pid, ctx))
			break;
	}
	if (dir)
		closedir(dir);
}

struct search {
	const char *name;
	struct maps_cache cache;
	struct maps_found found;
	int named, carriers;
	pid_t any, carrier;
	char list[256];
	FILE *file;
	int hidden;
};

static bool search_name(pid_t pid, void *ctx)
{
	struct search *search = ctx;
	size_t n = strlen(search->list);

	if (!goes_by(pid, search->name))
		return true;
	search->named++;
	search->any = pid;
	if (maps_find(pid, &search->cache, &search->found) ||
	    !search->found.probes)
		return true;
	search->carriers++;
	search->carrier = pid;
	snprintf(search->list + n, sizeof(search->list) - n, " %d", pid);
	return true;
}

int target_by_name(const char *name, pid_t *ret_pid, struct fault *fault)
{
	struct search *search = calloc(1, sizeof(*search));
	int result = 0;

	if (!search)
		return fault_set(fault, EXIT_KERNEL, "out of memory.");
	search->name = name;
	each_process(search_name, search);
	if (!search->named)
		result = fault_set(fault, EXIT_NO_PROCESS,
				   "there is no process named '%s'.", name);
	else if (search->carriers > 1)
		result = fault_set(fault, EXIT_USAGE,
				   "%d processes named '%s' carry probes; "
				   "choose one with -p:%s.",
				   search->carriers, name, search->list);
	else
		*ret_pid = search->carriers ? search->carrier : search->any;
	maps_cache_done(&search->cache);
	free(search);
	return result;
}

static bool list_one(pid_t pid, void *ctx)
{
	struct search *search = ctx;
	char name[256];
	struct stat_line stat;
	int error = maps_find(pid, &search->cache, &search->found);

	/* One that is about to end may not be looked into either. */
	if ((error == -EACCES || error == -EPERM) && !read_stat(pid, &stat) &&
	    !has_ended(&stat))
		search->hidden++;
	if (error || !search->found.probes)
		return true;
	read_name(pid, name, sizeof(name));
	if (!search->carriers++)
		fprintf(search->file, "%8s  %-16s %s\n", "PID", "NAME",
			"PROBES IN");
	text_plain(search->found.file);
	fprintf(search->file, "%8d  %-16s %s\n", pid, name, search->found.file);
	return true;
}

int target_list(FILE *file, int *ret_hidden)
{
	struct search *search = calloc(1, sizeof(*search));
	int carriers;

	*ret_hidden = 0;
	if (!search)
		return 0;
	search->file = file;
	each_process(list_one, search);
	carriers = search->carriers;
	*ret_hidden = search->hidden;
	maps_cache_done(&search->cache);
	free(search);
	return carriers;
}
