/* SPDX-License-Identifier: MIT */
#include "core/view.h"

#include <string.h>

#include "base/alloc.h"
#include "core/link.h"
#include "core/release.h"

bool hy_view_init(struct hy_view *view, struct hyphae_cell *const *inputs,
		  size_t count)
{
	view->count = count;
	view->inputs = &view->one;
	if (count > 1)
		view->inputs =
			hy_alloc_in(hy_graph_of(hy_cell(inputs[0]))->region,
				    count * sizeof(*view->inputs));
	if (!view->inputs)
		return false;
	for (size_t i = 0; i < count; i++) {
		struct hy_seen *seen = &view->inputs[i];

		/* Now: the function may change the caller's array. */
		seen->cell = hy_cell(inputs[i]);
		seen->copy = *seen->cell;
		seen->error = NULL;
		if (seen->copy.flags & F_ERROR)
			seen->error = hy_error_ref(hy_error_of(seen->cell));
		seen->cell->refs++;
		if (seen->copy.flags & F_BOXED && seen->copy.word)
			hy_box_ref(hy_box_of(seen->copy.word));
		/* An event that is over is not there to be computed from. */
		if (seen->copy.flags & F_EVENT && !(seen->copy.flags & F_ERROR))
			seen->copy.flags |= F_NONE;
	}
	return true;
}

void hy_view_done(struct hy_graph *g, struct hy_view *view)
{
	for (size_t i = 0; i < view->count; i++) {
		struct hy_cell *copy = &view->inputs[i].copy;

		if (copy->flags & F_BOXED && copy->word)
			hy_box_put(g, copy->type, hy_box_of(copy->word));
		hy_error_unref(view->inputs[i].error);
		hy_cell_put(g, view->inputs[i].cell);
	}
	if (view->inputs != &view->one)
		hy_free(view->inputs);
}

/* Whether the function will run: all inputs have values. */
static bool view_complete(const struct hy_view *view)
{
	for (size_t i = 0; i < view->count; i++)
		if (view->inputs[i].copy.flags & F_NO_VALUE)
			return false;
	return true;
}

void hy_view_show(struct hy_view *view, struct hy_derived *d)
{
	bool copies = view_complete(view) && !(d->cell.flags & F_SIGNALS);
	struct hy_edge *edges = hy_edges(d);
	struct hy_fan_in *in = d->fan_in;

	for (uint32_t i = 0; i < view->count; i++) {
		struct hy_cell *copy = &view->inputs[i].copy;
		uint32_t brought = copy->flags & F_NONE ? 0 : MARK_VALUE;

		edges[i].input = copies ? copy : view->inputs[i].cell;
		if (!(d->cell.flags & F_NARY))
			break;
		d->values[i] = hy_value_of(copy);
		if (copy->flags & F_NO_VALUE) {
			d->marks[i] |= MARK_WITHOUT;
			in->without++;
		}
		if (copy->flags & F_ENDED) {
			d->marks[i] |= MARK_ENDED;
			in->ended++;
			brought |= MARK_END;
		}
		if (brought && d->cell.flags & F_SIGNALS)
			hy_news_add(d, i, brought);
	}
}

/* What has come since the copy was made: MARK_VALUE, MARK_END, both or 0. */
static uint32_t news_since(const struct hy_seen *seen)
{
	const struct hy_cell *copy = &seen->copy, *input = seen->cell;
	uint32_t news = 0, state = F_NO_VALUE;

	if (input->flags & F_EVENT)
		state = F_ERROR;
	else if (input->word != copy->word)
		news |= MARK_VALUE;
	if ((input->flags & state) != (copy->flags & state) ||
	    (input->flags & F_ERROR && hy_error_of(input) != seen->error))
		news |= MARK_VALUE;
	if ((input->flags & F_ENDED) != (copy->flags & F_ENDED))
		news |= MARK_END;
	return news;
}

uint32_t hy_view_link(struct hy_graph *g, struct hy_view *view,
		      struct hy_derived *d)
{
	struct hy_edge *edges = hy_edges(d);
	struct hy_fan_in *in = d->fan_in;
	uint32_t any = 0;

	if (d->cell.flags & F_SIGNALS)
		hy_news_clear(d);
	if (d->cell.flags & F_NARY) {
		memset(d->marks, 0, in->count);
		in->without = in->ended = 0;
	}
	for (uint32_t i = 0; i < view->count; i++) {
		const struct hy_seen *seen = &view->inputs[i];
		uint32_t news = news_since(seen);

		hy_edge_link(g, &edges[i], d, seen->cell);
		any |= news;
		if (!(d->cell.flags & F_NARY)) {
			hy_view_state(d);
			break;
		}
		hy_fan_in_begin(d, i);
		if (!(d->cell.flags & F_SIGNALS))
			continue;
		hy_news_remove(d, i);
		if (news)
			hy_news_add(d, i, news);
	}
	return any;
}
