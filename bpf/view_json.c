// SPDX-License-Identifier: MIT
/* A report as one line of JSON; see view_json.h. */
#include "bpf/view_json.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "bpf/column.h"

#define FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(15))

/* JSON numbers of jansson are signed; nothing we count comes near that. */
static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *latency(const struct row *row)
{
	return json_pack(
		"{sI sI sI sI sI}", "sum", (json_int_t)row->counts.fanout_ns,
		"p50", (json_int_t)row->p50, "p90", (json_int_t)row->p90, "p99",
		(json_int_t)row->p99, "max", (json_int_t)row->max);
}

static json_t *cost(const struct report_head *head)
{
	const struct cost *c = &head->cost;
	json_t *json = json_pack("{sf sI}", "cpu_s", c->cpu_s, "hits",
				 (json_int_t)c->hits);

	/* Unknown is null, not 0. */
	json_object_set_new(json, "bpf_ns",
			    c->bpf_known ? number(c->bpf_ns) : json_null());
	json_object_set_new(json, "cpu_percent",
			    head->interval > 0
				    ? json_real(100 * c->cpu_s / head->interval)
				    : json_null());
	return json;
}

/* All but the cells. */
static json_t *head(const struct report *report)
{
	const struct report_head *h = &report->head;
	const struct row *total = &report->total;
	const struct counts *counts = &total->counts;
	json_t *json = json_object();

#define SET(key, value) json_object_set_new(json, key, value)
	SET("time", json_real(h->time));
	SET("interval_s", json_real(h->interval));
	SET("pid", number((uint64_t)h->pid));
	SET("comm", json_string(h->comm));
	SET("mode", json_string(h->mode));
	SET("events", number(report->events));
	SET("lost", number(report->lost.records));
	SET("passes", number(report->passes));
	SET("fires", number(counts->fires));
	SET("refires", number(counts->refires));
	SET("lost_fires", number(report->lost.fires));
	SET("lost_passes", number(report->lost.passes));
	SET("lost_blocks", number(report->lost.blocks));
	SET("not_told_apart", number(report->lost.unsorted));
	SET("left_out", number(h->stale));
	SET("exact", json_boolean(!losses_any(&report->lost)));
	SET("notifies", number(counts->notifies));
	SET("writes", number(counts->writes));
	SET("unchanged", number(counts->unchanged));
	SET("computes", number(counts->computes));
	SET("refire_ratio", json_real(row_refire_ratio(total)));
	SET("latency_ns", latency(total));
	SET("self_ns", number(row_self(total)));
	SET("cells_active", number(report->active));
	SET("cells_known", number(report->known));
	SET("cells_alive",
	    h->alive >= 0 ? number((uint64_t)h->alive) : json_null());
	SET("cost", cost(h));
	SET("final", json_boolean(h->final));
	SET("end", json_string(h->end));
	SET("unfinished", json_boolean(report->lost.unfinished));
	SET("cells_released", number(report->released));
#undef SET
	return json;
}

static json_t *field(const struct column *column, const struct row *row)
{
	switch (column->kind) {
	case COLUMN_TEXT:
		return json_string(column->text(row));
	case COLUMN_RATIO:
		return json_real(row_refire_ratio(row));
	default:
		return number(column->number(row));
	}
}

static json_t *cell(const struct row *row)
{
	json_t *json = json_object(), *group;
	const struct column *column;
	char name[32];

	for (column = columns; column->json; column++) {
		const char *member = strchr(column->json, '.');

		if (!member) {
			json_object_set_new(json, column->json,
					    field(column, row));
			continue;
		}
		snprintf(name, sizeof(name), "%.*s",
			 (int)(member - column->json), column->json);
		group = json_object_get(json, name);
		if (!group) {
			group = json_object();
			json_object_set_new(json, name, group);
		}
		json_object_set_new(group, member + 1, field(column, row));
	}
	return json;
}

/* Write and release; a million cells are never held at once. */
static int put(json_t *json, FILE *file, bool open_ended)
{
	char *text = json ? json_dumps(json, FLAGS) : NULL;
	int error = 0;
	size_t length;

	json_decref(json);
	if (!text)
		return -ENOMEM;
	length = strlen(text) - (open_ended ? 1 : 0);
	if (fwrite(text, 1, length, file) != length)
		error = errno ? -errno : -EIO;
	free(text);
	return error;
}

int view_json(const struct report *report, FILE *file)
{
	int error = put(head(report), file, true);
	size_t i;

	fputs(",\"cells\":[", file);
	for (i = 0; !error && i < report->count; i++) {
		if (i)
			fputc(',', file);
		error = put(cell(&report->rows[i]), file, false);
	}
	fputs("]}\n", file);
	if (!error && (fflush(file) || ferror(file)))
		error = errno ? -errno : -EIO;
	return error;
}
