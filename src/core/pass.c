/* SPDX-License-Identifier: MIT */
/*
 * Pass reports.  While one is open on a thread, what the thread propagates is
 * counted by cell in a hash table; the hot functions come here through
 * watch.c, so a pass that nobody opened costs nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "core/probe.h"
#include "core/slab.h"
#include "core/watch.h"

struct hy_pass {
	uint64_t id;
	uint32_t depth;
	uint64_t lost;
	struct hyphae_report_cell *cells; /* open addressing; id 0: free */
	size_t count, slots;		  /* slots: 0 or a power of two */
};

static size_t place(const struct hy_pass *pass, uint64_t id)
{
	/* Fibonacci hashing (Knuth, TAOCP 3, 6.4): ids are consecutive. */
	return (size_t)((id * 0x9e3779b97f4a7c15ull) >> 32) & (pass->slots - 1);
}

static struct hyphae_report_cell *find(struct hy_pass *pass, uint64_t id)
{
	size_t at = place(pass, id);

	while (pass->cells[at].id && pass->cells[at].id != id)
		at = (at + 1) & (pass->slots - 1);
	return &pass->cells[at];
}

static bool grow(struct hy_pass *pass)
{
	struct hyphae_report_cell *old = pass->cells;
	size_t had = pass->slots, slots = had ? 2 * had : 64;
	struct hyphae_report_cell *cells = hy_zalloc(slots * sizeof(*cells));

	if (!cells)
		return false;
	pass->cells = cells;
	pass->slots = slots;
	for (size_t i = 0; i < had; i++)
		if (old[i].id)
			*find(pass, old[i].id) = old[i];
	hy_free(old);
	return true;
}

static struct hyphae_report_cell *entry(struct hy_pass *pass, uint64_t id)
{
	struct hyphae_report_cell *cell;

	/* Half full at most; when it cannot grow, full but for one. */
	if (2 * pass->count >= pass->slots && !grow(pass) &&
	    pass->count + 1 >= pass->slots)
		return pass->slots && (cell = find(pass, id))->id ? cell : NULL;
	cell = find(pass, id);
	if (!cell->id) {
		cell->id = id;
		pass->count++;
	}
	return cell;
}

bool hy_pass_count(struct hy_pass *pass, uint64_t id, enum hy_count what)
{
	struct hyphae_report_cell *cell = entry(pass, id);

	if (!cell) {
		pass->lost++;
		return false;
	}
	if (what == HY_COUNT_FIRE)
		return cell->fires++ > 0;
	cell->writes++;
	cell->unchanged += what == HY_COUNT_UNCHANGED;
	return false;
}

uint64_t hy_pass_id(const struct hy_pass *pass)
{
	return pass->id;
}

static void pass_free(struct hy_pass *pass)
{
	if (pass)
		hy_free(pass->cells);
	hy_free(pass);
}

int hyphae_pass_begin(void)
{
	struct hy_pass *pass = hy_self.pass;

	if (!pass) {
		pass = hy_zalloc(sizeof(*pass));
		if (!pass || hy_watch_thread()) {
			hy_free(pass);
			return -ENOMEM;
		}
		pass->id = hy_pass_ids(1);
		hy_self.pass = pass;
		hy_watch_reports(1);
		hy_watch_pass_began(pass->id);
	}
	pass->depth++;
	return 0;
}

static void sum(const struct hy_pass *pass, struct hyphae_report *report)
{
	*report = (struct hyphae_report){.lost = pass->lost};
	for (size_t i = 0; i < pass->slots; i++) {
		const struct hyphae_report_cell *cell = &pass->cells[i];

		if (!cell->id)
			continue;
		report->fires += cell->fires;
		report->writes += cell->writes;
		report->unchanged += cell->unchanged;
		report->cells_fired += cell->fires > 0;
		report->refiring += cell->fires > 1;
	}
	report->refires = report->fires - report->cells_fired;
	if (report->fires)
		report->coalesceable =
			(double)report->refires / (double)report->fires;
}

int hyphae_pass_end(void)
{
	struct hy_pass *pass = hy_self.pass;
	struct hyphae_report report;

	if (!pass)
		return -EINVAL;
	if (--pass->depth)
		return 0;
	sum(pass, &report);
	hy_self.pass = NULL;
	hy_watch_pass_ended(pass->id, report.fires, report.refires);
	hy_watch_reports(-1);
	pass_free(hy_self.last_pass);
	hy_self.last_pass = pass;
	return 0;
}

void hy_pass_thread_ends(void)
{
	if (hy_self.pass) {
		hy_watch_reports(-1);
		pass_free(hy_self.pass);
		hy_self.pass = NULL;
	}
	pass_free(hy_self.last_pass);
	hy_self.last_pass = NULL;
}

static int worst_first(const void *a, const void *b)
{
	const struct hyphae_report_cell *x = a, *y = b;

	if (x->fires != y->fires)
		return x->fires < y->fires ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

int hyphae_report_take(struct hyphae_report *ret_report)
{
	struct hy_pass *pass = hy_self.last_pass;
	struct hyphae_report report = {0};

	if (!ret_report)
		return -EINVAL;
	if (pass) {
		sum(pass, &report);
		if (pass->count) {
			report.cells =
				hy_alloc(pass->count * sizeof(*report.cells));
			if (!report.cells)
				return -ENOMEM;
		}
		for (size_t i = 0; i < pass->slots; i++)
			if (pass->cells[i].id)
				report.cells[report.count++] = pass->cells[i];
		if (report.count)
			qsort(report.cells, report.count, sizeof(*report.cells),
			      worst_first);
	}
	pass_free(pass);
	hy_self.last_pass = NULL;
	*ret_report = report;
	return 0;
}

void hyphae_report_done(struct hyphae_report *report)
{
	if (!report)
		return;
	hy_free(report->cells);
	memset(report, 0, sizeof(*report));
}

int hyphae_pass(int (*fn)(void *ctx), void *ctx,
		struct hyphae_report *ret_report)
{
	int r, taken;

	if (!fn || !ret_report)
		return -EINVAL;
	*ret_report = (struct hyphae_report){0};
	r = hyphae_pass_begin();
	if (r)
		return r;
	r = fn(ctx);
	hyphae_pass_end();
	/* Nested in another pass there is nothing to take yet: empty. */
	if (hy_self.pass)
		return r;
	taken = hyphae_report_take(ret_report);
	return r ? r : taken;
}
