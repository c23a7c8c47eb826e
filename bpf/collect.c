// SPDX-License-Identifier: MIT
/* The kernel's side; see collect.h. */
#include "bpf/collect.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/drain.h"
#include "hyphae_top.skel.h"

#define LINKS_MAX 8
#define READ_BATCH 1024

struct collect {
	struct collect_config config;
	struct collect_sink sink;
	struct hyphae_top_bpf *skeleton;
	struct ring_buffer *rings;
	struct bpf_link *links[LINKS_MAX];
	struct bpf_link *announced;
	struct bpf_program *programs[LINKS_MAX];
	size_t count; /* of programs in use */
	int stats_fd; /* while open the kernel times BPF programs */
	int cpus;
	struct drain drain;
};

/* A probe and the program for it. */
struct site {
	const char *probe;
	bool probes; /* of probe mode */
	struct bpf_program *program;
};

/* What libbpf last complained about: the detail of a fault. */
static char complaint[400];

static int keep_complaint(enum libbpf_print_level level, const char *format,
			  va_list args)
{
	if (level == LIBBPF_WARN) {
		vsnprintf(complaint, sizeof(complaint), format, args);
		complaint[strcspn(complaint, "\n")] = '\0';
	}
	return 0;
}

/* A ring buffer is a power of two of pages. */
static uint32_t ring_size(size_t bytes)
{
	uint32_t size = (uint32_t)sysconf(_SC_PAGESIZE);

	while (size < bytes && size < 1u << 30)
		size *= 2;
	return size;
}

/* What cannot be said before the load: sizes, and which programs to load. */
static void configure(struct collect *collect)
{
	struct hyphae_top_bpf *s = collect->skeleton;
	bool probes = collect->config.probes;
	uint32_t ring = ring_size(probes ? 0 : collect->config.ring_bytes);

	bpf_map__set_max_entries(s->maps.blocks, ring);
	s->rodata->wake_bytes = ring / 8;
	if (!probes) {
		bpf_map__set_max_entries(s->maps.cells, 1);
		bpf_map__set_max_entries(s->maps.buckets, 1);
	}
}

static void choose_programs(struct collect *collect)
{
	struct hyphae_top_bpf *s = collect->skeleton;
	const struct site sites[] = {
		{"records", false, s->progs.top_records},
		{"compute_done", true, s->progs.top_compute_done},
		{"pass_done", true, s->progs.top_pass_done},
		{"fanout_done", true, s->progs.top_fanout_done},
		{"fanout", true, s->progs.top_fanout},
		{"write_value", true, s->progs.top_write_value},
		{"notify", true, s->progs.top_notify},
	};
	size_t i;

	for (i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
		bool use = sites[i].probes == collect->config.probes;

		bpf_program__set_autoload(sites[i].program, use);
		if (use)
			collect->programs[collect->count++] = sites[i].program;
	}
}

static int load(struct collect *collect, struct fault *fault)
{
	int error = hyphae_top_bpf__load(collect->skeleton);

	if (error == -EPERM || error == -EACCES)
		return fault_set(fault, EXIT_PRIVILEGE,
				 "the kernel does not allow to load BPF "
				 "programs here: %s (lockdown, a container or "
				 "a security module may forbid it; CAP_BPF and "
				 "CAP_PERFMON are needed).",
				 strerror(-error));
	if (error)
		return fault_set(fault, EXIT_KERNEL,
				 "the BPF programs cannot be loaded: %s. %s",
				 strerror(-error), complaint);
	return 0;
}

static int open_rings(struct collect *collect, struct fault *fault)
{
	const struct hyphae_top_bpf *s = collect->skeleton;
	int error = drain_open(&collect->drain, bpf_map__fd(s->maps.blocks),
			       bpf_map__fd(s->maps.losses), &collect->sink);

	if (!error && !collect->config.probes)
		error = drain_start(&collect->drain);
	if (!error)
		return 0;
	return fault_set(fault, EXIT_KERNEL,
			 "the ring buffer cannot be used: %s. A smaller one "
			 "can be asked for with --ring.",
			 strerror(-error));
}

struct collect *collect_open(const struct collect_config *config,
			     const struct collect_sink *sink,
			     struct fault *fault)
{
	struct collect *collect = calloc(1, sizeof(*collect));

	if (!collect) {
		fault_set(fault, EXIT_KERNEL, "out of memory.");
		return NULL;
	}
	libbpf_set_print(keep_complaint);
	collect->config = *config;
	collect->sink = *sink;
	collect->stats_fd = -1;
	collect->cpus = libbpf_num_possible_cpus();
	collect->skeleton = hyphae_top_bpf__open();
	if (!collect->skeleton) {
		fault_set(fault, EXIT_KERNEL,
			  "the BPF programs cannot be opened: %s. %s",
			  strerror(errno), complaint);
		collect_close(collect);
		return NULL;
	}
	configure(collect);
	choose_programs(collect);
	if (load(collect, fault) || open_rings(collect, fault)) {
		collect_close(collect);
		return NULL;
	}
	/* Needs CAP_SYS_ADMIN; without it the cost is not known. */
	collect->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	return collect;
}

/* Programs are named after their probe. */
static const char *probe_of(const struct bpf_program *program)
{
	return bpf_program__name(program) + strlen("top_");
}

static struct bpf_link *attach(const struct collect *collect,
			       const struct bpf_program *program)
{
	const struct collect_config *config = &collect->config;
	struct bpf_link *link;

	link = bpf_program__attach_usdt(program, config->thread, config->path,
					"hyphae", probe_of(program), NULL);
	/* Where libbpf attaches another way, only processes have numbers. */
	if (!link && config->thread != config->pid)
		link = bpf_program__attach_usdt(program, config->pid,
						config->path, "hyphae",
						probe_of(program), NULL);
	return link;
}

static int attach_fault(const struct collect *collect, const char *probe,
			struct fault *fault)
{
	int error = errno;

	if (error == ESRCH)
		return fault_set(fault, EXIT_NO_PROCESS,
				 "process %d ended before the probes could be "
				 "attached.",
				 collect->config.pid);
	if (error == EPERM || error == EACCES)
		return fault_set(fault, EXIT_PRIVILEGE,
				 "the kernel does not allow to attach to probe "
				 "%s: that takes CAP_SYS_PTRACE and "
				 "CAP_SYS_ADMIN (with libbpf 1.3 and Linux 6.6 "
				 "or newer CAP_PERFMON instead of the latter).",
				 probe);
	return fault_set(fault, EXIT_KERNEL,
			 "probe %s cannot be attached: %s. %s", probe,
			 strerror(error), complaint);
}

int collect_attach(struct collect *collect, struct fault *fault)
{
	size_t i;

	for (i = 0; i < collect->count; i++) {
		struct bpf_program *program = collect->programs[i];

		collect->links[i] = attach(collect, program);
		if (!collect->links[i])
			return attach_fault(collect, probe_of(program), fault);
	}
	return 0;
}

int collect_move(struct collect *collect, pid_t thread, const char *path)
{
	struct bpf_link *old[LINKS_MAX], *announced = collect->announced;
	struct fault fault;
	size_t i;

	memcpy(old, collect->links, sizeof(old));
	memset(collect->links, 0, sizeof(old));
	collect->config.thread = thread;
	collect->config.path = path;
	if (collect_attach(collect, &fault)) {
		for (i = 0; i < collect->count; i++)
			bpf_link__destroy(collect->links[i]);
		memcpy(collect->links, old, sizeof(old));
		return -1;
	}
	collect_announce(collect);
	bpf_link__destroy(announced);
	for (i = 0; i < collect->count; i++)
		bpf_link__destroy(old[i]);
	return 0;
}

/* A library without that probe has nobody who waits for it. */
void collect_announce(struct collect *collect)
{
	collect->announced =
		attach(collect, collect->skeleton->progs.top_watch);
}

bool collect_drain(struct collect *collect, bool (*enough)(void *ctx),
		   void *ctx)
{
	return drain_take(&collect->drain, enough, ctx);
}

void collect_lose(struct collect *collect)
{
	drain_lose(&collect->drain);
}

/* Hand over a batch of a map; what is in `values` belongs to `keys`. */
static void hand_over(struct collect *collect, bool buckets, const void *keys,
		      const void *values, uint32_t n)
{
	const struct collect_sink *sink = &collect->sink;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (buckets) {
			const struct wire_bucket *key = keys;
			const uint64_t *count = values;

			sink->bucket(sink->ctx, key[i].cell,
				     (unsigned int)key[i].bucket, count[i]);
		} else {
			const uint64_t *id = keys;
			const struct wire_cell *cell = values;

			sink->cell(sink->ctx, id[i], &cell[i]);
		}
	}
}

/* Elements may be read twice or move while they are read; they only grow. */
static int read_map(struct collect *collect, const struct bpf_map *map,
		    bool buckets)
{
	uint32_t key_size =
		buckets ? sizeof(struct wire_bucket) : sizeof(uint64_t);
	uint32_t value_size =
		buckets ? sizeof(uint64_t) : sizeof(struct wire_cell);
	uint64_t position = 0, next = 0;
	void *keys = malloc((size_t)READ_BATCH * key_size);
	void *values = malloc((size_t)READ_BATCH * value_size);
	bool first = true;
	int error = keys && values ? 0 : -ENOMEM;

	while (!error) {
		uint32_t n = READ_BATCH;

		error = bpf_map_lookup_batch(bpf_map__fd(map),
					     first ? NULL : &position, &next,
					     keys, values, &n, NULL);
		error = error ? -errno : 0;
		if (!error || error == -ENOENT)
			hand_over(collect, buckets, keys, values, n);
		position = next;
		first = false;
	}
	free(keys);
	free(values);
	return error == -ENOENT ? 0 : error;
}

int collect_read(struct collect *collect)
{
	int error = read_map(collect, collect->skeleton->maps.cells, false);

	if (error)
		return error;
	return read_map(collect, collect->skeleton->maps.buckets, true);
}

static void read_cost(const struct collect *collect, struct cost *cost)
{
	size_t i;

	cost->hits = 0;
	cost->bpf_ns = 0;
	cost->bpf_known = collect->stats_fd >= 0;
	for (i = 0; i < collect->count; i++) {
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);

		if (bpf_obj_get_info_by_fd(
			    bpf_program__fd(collect->programs[i]), &info,
			    &size))
			continue;
		cost->hits += info.run_cnt;
		cost->bpf_ns += info.run_time_ns;
	}
}

void collect_counters(const struct collect *collect,
		      uint64_t counters[WIRE_COUNTERS], struct cost *cost)
{
	int fd = bpf_map__fd(collect->skeleton->maps.counters), cpu;
	uint64_t *values = calloc((size_t)collect->cpus, sizeof(*values));
	uint32_t key;

	memset(counters, 0, WIRE_COUNTERS * sizeof(*counters));
	for (key = 0; values && key < WIRE_COUNTERS; key++) {
		if (bpf_map_lookup_elem(fd, &key, values))
			continue;
		for (cpu = 0; cpu < collect->cpus; cpu++)
			counters[key] += values[cpu];
	}
	free(values);
	read_cost(collect, cost);
}

void collect_detach(struct collect *collect)
{
	size_t i;

	bpf_link__destroy(collect->announced);
	collect->announced = NULL;
	for (i = 0; i < collect->count; i++) {
		bpf_link__destroy(collect->links[i]);
		collect->links[i] = NULL;
	}
}

void collect_close(struct collect *collect)
{
	if (!collect)
		return;
	collect_detach(collect);
	drain_close(&collect->drain);
	hyphae_top_bpf__destroy(collect->skeleton);
	if (collect->stats_fd >= 0)
		close(collect->stats_fd);
	free(collect);
}
