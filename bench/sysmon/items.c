/* SPDX-License-Identifier: MIT */
/* Things, and the cells of each; see items.h. */
#include "items.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blocks.h"
#include "screen.h"

/* Averages are over about this many seconds. */
#define SMOOTH_SECONDS 2.0

/*
 * A struct becomes a type of cells with one line: it defines process_type, and
 * process_new_at(), process_set(), process_get() and process_of(), which take
 * no other struct.
 */
HYPHAE_TYPE(cpu_times, struct cpu_times);
HYPHAE_TYPE(traffic, struct traffic);
HYPHAE_TYPE(process, struct process);
HYPHAE_TYPE(usage, struct usage);

/* ---- compute functions ------------------------------------------------ */

/*
 * A compute function gets a pointer to the value of its input and writes its
 * own value to `ret`.  It does not get called when the input is what it was,
 * and what follows it is not computed when the result is what it was.
 */

static int user_ticks(void *ret, const void *input, void *ctx)
{
	const struct cpu_times *times = input;

	(void)ctx;
	*(int64_t *)ret = times->user;
	return 0;
}

static int system_ticks(void *ret, const void *input, void *ctx)
{
	const struct cpu_times *times = input;

	(void)ctx;
	*(int64_t *)ret = times->system;
	return 0;
}

static int bytes_in(void *ret, const void *input, void *ctx)
{
	const struct traffic *traffic = input;

	(void)ctx;
	*(int64_t *)ret = traffic->in;
	return 0;
}

static int bytes_out(void *ret, const void *input, void *ctx)
{
	const struct traffic *traffic = input;

	(void)ctx;
	*(int64_t *)ret = traffic->out;
	return 0;
}

static int process_ticks(void *ret, const void *input, void *ctx)
{
	const struct process *process = input;

	(void)ctx;
	*(int64_t *)ret = process->ticks;
	return 0;
}

/* Inputs of a combine may be of different types; they come in order. */
static int compute_usage(void *ret, const void *const *inputs, size_t count,
			 void *ctx)
{
	const struct process *process = inputs[0];
	const double *cpu = inputs[1];
	struct usage *usage = ret;

	(void)count;
	(void)ctx;
	usage->pid = process->pid;
	memcpy(usage->name, process->name, sizeof(usage->name));
	usage->cpu = *cpu;
	usage->resident_kib = process->resident_kib;
	return 0;
}

/* ---- the cells of a thing ----------------------------------------------- */

/*
 * These make the cells of a new item.  They check nothing on the way: what is
 * made of NULL is NULL, so the last cell tells whether all of it worked.
 */

static double seconds_per_tick(void)
{
	return 1 / (double)sysconf(_SC_CLK_TCK);
}

static void add_cpu(const struct items *items, struct item *item,
		    const struct proc_entry *entry)
{
	struct hyphae_cell *times, *user, *system, *rates[2], *load;
	const char *name = entry->name;

	times = cpu_times_new_at(items->graph, entry->cpu, HYPHAE_HERE);
	user = hyphae_map(times, &hyphae_int64, user_ticks, NULL);
	system = hyphae_map(times, &hyphae_int64, system_ticks, NULL);
	rates[0] = rate_of(items->now, user, seconds_per_tick());
	rates[1] = rate_of(items->now, system, seconds_per_tick());
	load = sum_of(rates, 2);
	item->source = times;
	item->result = smoothed(items->now, load, SMOOTH_SECONDS);

	name_cell(times, "cpu%s.times", name);
	name_cell(user, "cpu%s.user", name);
	name_cell(system, "cpu%s.system", name);
	name_cell(rates[0], "cpu%s.user.rate", name);
	name_cell(rates[1], "cpu%s.system.rate", name);
	name_cell(load, "cpu%s.load", name);
	name_cell(item->result, "cpu%s.load.smooth", name);
}

static void add_interrupt(const struct items *items, struct item *item,
			  const struct proc_entry *entry)
{
	const char *kind = items->kind == PROC_SOFTIRQ ? "softirq" : "irq";
	struct hyphae_cell *count, *rate;
	const char *name = entry->name;

	count = hyphae_int64_new(items->graph, entry->count);
	rate = rate_of(items->now, count, 1);
	item->source = count;
	item->result = smoothed(items->now, rate, SMOOTH_SECONDS);

	name_cell(count, "%s.%s", kind, name);
	name_cell(rate, "%s.%s.rate", kind, name);
	name_cell(item->result, "%s.%s.smooth", kind, name);
}

static void add_traffic(const struct items *items, struct item *item,
			const struct proc_entry *entry)
{
	const char *kind = items->kind == PROC_DISK ? "disk" : "net";
	struct hyphae_cell *traffic, *in, *out, *in_rate, *out_rate;
	const char *name = entry->name;

	traffic = traffic_new_at(items->graph, entry->traffic, HYPHAE_HERE);
	in = hyphae_map(traffic, &hyphae_int64, bytes_in, NULL);
	out = hyphae_map(traffic, &hyphae_int64, bytes_out, NULL);
	in_rate = rate_of(items->now, in, 1);
	out_rate = rate_of(items->now, out, 1);
	item->source = traffic;
	item->second_result = smoothed(items->now, out_rate, SMOOTH_SECONDS);
	if (item->second_result)
		item->result = smoothed(items->now, in_rate, SMOOTH_SECONDS);

	name_cell(traffic, "%s.%s", kind, name);
	name_cell(in, "%s.%s.in", kind, name);
	name_cell(out, "%s.%s.out", kind, name);
	name_cell(in_rate, "%s.%s.in.rate", kind, name);
	name_cell(out_rate, "%s.%s.out.rate", kind, name);
	name_cell(item->result, "%s.%s.in.smooth", kind, name);
	name_cell(item->second_result, "%s.%s.out.smooth", kind, name);
}

static void add_process(const struct items *items, struct item *item,
			const struct proc_entry *entry)
{
	struct hyphae_cell *process, *ticks, *cpu, *smooth, *both[2];
	const char *pid = entry->name, *name = entry->process.name;

	process = process_new_at(items->graph, entry->process, HYPHAE_HERE);
	ticks = hyphae_map(process, &hyphae_int64, process_ticks, NULL);
	cpu = rate_of(items->now, ticks, seconds_per_tick());
	smooth = smoothed(items->now, cpu, SMOOTH_SECONDS);
	both[0] = process;
	both[1] = smooth;
	item->source = process;
	item->result =
		hyphae_combine(both, 2, &usage_type, compute_usage, NULL);

	name_cell(process, "process.%s.%s", pid, name);
	name_cell(ticks, "process.%s.%s.ticks", pid, name);
	name_cell(cpu, "process.%s.%s.cpu", pid, name);
	name_cell(smooth, "process.%s.%s.cpu.smooth", pid, name);
	name_cell(item->result, "process.%s.%s.usage", pid, name);
}

static void add_cells(const struct items *items, struct item *item,
		      const struct proc_entry *entry)
{
	switch (items->kind) {
	case PROC_CPU:
		add_cpu(items, item, entry);
		break;
	case PROC_INTERRUPT:
	case PROC_SOFTIRQ:
		add_interrupt(items, item, entry);
		break;
	case PROC_DISK:
	case PROC_NETWORK:
		add_traffic(items, item, entry);
		break;
	case PROC_PROCESS:
		add_process(items, item, entry);
		break;
	case PROC_KINDS:
		break;
	}
}

static int write_source(const struct items *items, const struct item *item,
			const struct proc_entry *entry)
{
	switch (items->kind) {
	case PROC_CPU:
		return cpu_times_set(item->source, entry->cpu);
	case PROC_INTERRUPT:
	case PROC_SOFTIRQ:
		return hyphae_int64_set(item->source, entry->count);
	case PROC_DISK:
	case PROC_NETWORK:
		return traffic_set(item->source, entry->traffic);
	case PROC_PROCESS:
		return process_set(item->source, entry->process);
	case PROC_KINDS:
		break;
	}
	return 0;
}

/* ---- things that come and go ---------------------------------------------- */

/*
 * Both lists mostly have the same things in the same order, so the next one
 * is nearly always where it is looked for first.
 */
static struct item *find_item(struct items *items,
			      const struct proc_entry *entry)
{
	size_t i;

	for (i = 0; i < items->count; i++) {
		size_t place = (items->next + i) % items->count;
		struct item *item = &items->items[place];

		if (item->serial == entry->serial &&
		    !strcmp(item->name, entry->name)) {
			items->next = place + 1;
			return item;
		}
	}
	return NULL;
}

static struct item *append_item(struct items *items)
{
	struct item *item;

	if (items->count == items->room) {
		size_t room = items->room ? items->room * 2 : 64;

		item = reallocarray(items->items, room, sizeof(*item));
		if (!item)
			return NULL;
		items->items = item;
		items->room = room;
	}
	item = &items->items[items->count++];
	memset(item, 0, sizeof(*item));
	return item;
}

static int add_item(struct items *items, const struct proc_entry *entry,
		    uint64_t tick)
{
	struct item *item = append_item(items);

	if (!item)
		return -ENOMEM;
	memcpy(item->name, entry->name, sizeof(item->name));
	item->serial = entry->serial;
	item->seen = tick;
	item->scope = hyphae_scope_new(items->graph);
	if (!item->scope)
		return -errno;
	/* What is made from here to the leave belongs to the scope. */
	hyphae_scope_enter(item->scope);
	add_cells(items, item, entry);
	hyphae_scope_leave(item->scope);
	return item->result ? 0 : -errno;
}

/*
 * Release what this tick has not seen, and close the gaps.  A cell that a
 * summary still follows stays until that is released, too.
 */
static bool drop_unseen(struct items *items, uint64_t tick)
{
	size_t kept = 0, i;
	bool dropped;

	for (i = 0; i < items->count; i++) {
		if (items->items[i].seen == tick)
			items->items[kept++] = items->items[i];
		else
			hyphae_scope_dispose(items->items[i].scope);
	}
	dropped = kept < items->count;
	items->count = kept;
	items->next = 0;
	return dropped;
}

int items_follow(struct items *items, const struct proc_list *list,
		 uint64_t tick, bool *ret_changed)
{
	size_t i;
	int err = 0;

	for (i = 0; i < list->count && !err; i++) {
		struct item *item = find_item(items, &list->entries[i]);

		if (item) {
			item->seen = tick;
			continue;
		}
		*ret_changed = true;
		err = add_item(items, &list->entries[i], tick);
	}
	if (!err && drop_unseen(items, tick))
		*ret_changed = true;
	return err;
}

/*
 * A set returns a positive number when the value is what it was; only a
 * negative one is an error.
 */
int items_write(struct items *items, const struct proc_list *list)
{
	size_t i;
	int err = 0;

	for (i = 0; i < list->count && err >= 0; i++) {
		struct item *item = find_item(items, &list->entries[i]);

		if (item)
			err = write_source(items, item, &list->entries[i]);
	}
	return err < 0 ? err : 0;
}
