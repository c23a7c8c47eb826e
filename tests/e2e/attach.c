// SPDX-License-Identifier: MIT
/*
 * attach [-p] PID FILE PROBE CYCLES HOLD_MS
 *
 * Attach to a probe of a running process and detach again, CYCLES times, with
 * HOLD_MS in between; FILE is what carries the probes.  At last prints
 *
 *   cycles N hits N seconds X
 *
 * A tracer of bpftrace's kind needs a second to start; this one starts once.
 * It uses the kernel's uprobe_multi links, whose detaching takes a few
 * milliseconds; with -p, or where the kernel has none, perf events as libbpf
 * does, which takes a tenth of a second.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach.skel.h"
#include "binary.h"

#define ATTACH_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI, Linux 6.6 */

/* The part of union bpf_attr that older headers do not have. */
struct multi_attr {
	__u32 prog_fd, target_fd, attach_type, link_flags;
	__u64 path, offsets, semaphores, cookies;
	__u32 count, flags, pid, padding;
};

struct target {
	int pid;
	const char *file, *probe;
	bool multi;
	__u64 offset, semaphore; /* in the file */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void hold(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000,
			     .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static bool find_probe(struct target *target)
{
	struct binary *binary = binary_open(target->file);
	const struct note *note =
		binary ? binary_note(binary, target->probe) : NULL;

	if (note) {
		target->offset = binary_offset(binary, note->pc);
		if (note->semaphore)
			target->semaphore =
				binary_offset(binary, note->semaphore);
	}
	binary_close(binary);
	return note;
}

static int multi_link(struct attach_bpf *bpf, const struct target *target)
{
	struct multi_attr attr = {
		.prog_fd = (__u32)bpf_program__fd(bpf->progs.hit),
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (__u64)(uintptr_t)target->file,
		.offsets = (__u64)(uintptr_t)&target->offset,
		.semaphores = target->semaphore
				      ? (__u64)(uintptr_t)&target->semaphore
				      : 0,
		.count = 1,
		.pid = (__u32)target->pid,
	};

	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

static struct attach_bpf *load(bool multi)
{
	struct attach_bpf *bpf = attach_bpf__open();

	if (!bpf)
		return NULL;
	if (multi) {
		bpf_program__set_type(bpf->progs.hit, BPF_PROG_TYPE_KPROBE);
		bpf_program__set_expected_attach_type(bpf->progs.hit,
						      ATTACH_UPROBE_MULTI);
	}
	if (attach_bpf__load(bpf)) {
		attach_bpf__destroy(bpf);
		return NULL;
	}
	return bpf;
}

static bool cycle(struct attach_bpf *bpf, const struct target *target, long ms)
{
	struct bpf_link *link;
	int fd;

	if (target->multi) {
		fd = multi_link(bpf, target);
		if (fd < 0)
			return false;
		hold(ms);
		return !close(fd);
	}
	link = bpf_program__attach_usdt(bpf->progs.hit, target->pid,
					target->file, "hyphae", target->probe,
					NULL);
	if (!link)
		return false;
	hold(ms);
	return !bpf_link__destroy(link);
}

static int run(struct attach_bpf *bpf, const struct target *target, long cycles,
	       long ms)
{
	double start = now();

	for (long done = 0; done < cycles; done++) {
		if (!cycle(bpf, target, ms)) {
			fprintf(stderr,
				"Attaching to %s of process %d, cycle %ld: "
				"%s.\n",
				target->probe, target->pid, done,
				strerror(errno));
			return 1;
		}
	}
	printf("cycles %ld hits %llu seconds %.3f\n", cycles,
	       (unsigned long long)bpf->bss->hits, now() - start);
	return 0;
}

/* uprobe_multi if wanted and if the kernel knows it: it is tried. */
static struct attach_bpf *load_best(struct target *target)
{
	struct attach_bpf *bpf = target->multi ? load(true) : NULL;
	int fd;

	if (bpf) {
		fd = multi_link(bpf, target);
		if (fd >= 0) {
			close(fd);
			return bpf;
		}
		attach_bpf__destroy(bpf);
	}
	target->multi = false;
	return load(false);
}

int main(int argc, char **argv)
{
	bool perf = argc == 7 && !strcmp(argv[1], "-p");
	struct target target = {.multi = !perf};
	struct attach_bpf *bpf;
	int status;

	if (argc != 6 && !perf) {
		fprintf(stderr, "usage: attach [-p] PID FILE PROBE CYCLES "
				"HOLD_MS\n");
		return 2;
	}
	argv += perf;
	target.pid = atoi(argv[1]);
	target.file = argv[2];
	target.probe = argv[3];
	if (!find_probe(&target)) {
		fprintf(stderr, "%s has no probe %s.\n", argv[2], argv[3]);
		return 1;
	}
	bpf = load_best(&target);
	if (!bpf) {
		fprintf(stderr, "The BPF program cannot be loaded: %s.\n",
			strerror(errno));
		return 1;
	}
	status = run(bpf, &target, atol(argv[4]), atol(argv[5]));
	attach_bpf__destroy(bpf);
	return status;
}
