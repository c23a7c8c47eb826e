/* SPDX-License-Identifier: MIT */
/* A frame is a batch with a number and a time by which it shall be done. */
#include <errno.h>

#include "core/batch.h"
#include "core/drain.h"
#include "time/clocks.h"

static HY_FRAME void probe_frame(struct hy_graph *g, uint64_t number,
				 uint64_t boundary)
{
	hy_probe_frame(g->id, number, boundary);
}

static HY_FRAME void probe_frame_done(struct hy_graph *g, uint64_t number,
				      uint64_t cells, int64_t distance)
{
	hy_probe_frame_done(g->id, number, cells, distance);
}

/* now - boundary, as far as that goes. */
static int64_t distance(uint64_t now, uint64_t boundary)
{
	if (now >= boundary)
		return now - boundary > INT64_MAX ? INT64_MAX
						  : (int64_t)(now - boundary);
	return boundary - now > INT64_MAX ? INT64_MIN
					  : -(int64_t)(boundary - now);
}

void hy_frame_watch(struct hy_graph *g)
{
	struct hy_time *time = g->time;

	if (hy_gate.detail)
		probe_frame_done(g, time->frames, g->pass_fires,
				 distance(hy_now(g), time->boundary));
}

static int begin_locked(struct hy_graph *g, uint64_t boundary_ns)
{
	struct hy_time *time;
	int r;

	if (hy_guarded(g))
		return -EPERM;
	if (hy_drains(g) || hy_batch_of(g))
		return -EBUSY;
	time = hy_time_with_clock(g);
	if (!time)
		return -ENOMEM;
	if (time->frame)
		return -EBUSY;
	r = hy_batch_begin(g);
	if (r)
		return r;
	time->frame = hy_thread_of(g);
	time->frame->batches->frame = true;
	time->boundary = boundary_ns;
	time->frames++;
	probe_frame(g, time->frames, boundary_ns);
	return 0;
}

int hyphae_frame_begin(struct hyphae_graph *handle, uint64_t boundary_ns)
{
	struct hy_graph *g = hy_graph(handle);
	int r;

	if (!g)
		return hy_bad_handle(handle);
	hy_lock_to_open(g);
	r = begin_locked(g, boundary_ns);
	hy_unlock(g);
	return r;
}

int hy_frame_close(struct hy_graph *g, struct hy_batch *batch)
{
	int r = hy_batch_end(g, batch);

	g->time->frame = NULL;
	return r;
}

static int end_locked(struct hy_graph *g)
{
	struct hy_batch *batch = hy_batch_of(g);

	if (hy_guarded(g))
		return -EPERM;
	if (!batch || !batch->frame)
		return -EINVAL;
	if (batch->depth > 1 || hy_drains(g))
		return -EBUSY;
	while (hy_drained(g))
		hy_wait_idle(g);
	return hy_frame_close(g, batch);
}

int hyphae_frame_end(struct hyphae_graph *handle)
{
	struct hy_graph *g = hy_graph(handle);
	int r;

	if (!g)
		return hy_bad_handle(handle);
	hy_lock(g);
	r = end_locked(g);
	hy_unlock(g);
	return r;
}

uint64_t hyphae_frame_number(const struct hyphae_graph *handle)
{
	struct hy_graph *g = hy_graph(handle);
	uint64_t number;

	if (!g)
		return 0;
	hy_lock(g);
	number = g->time ? g->time->frames : 0;
	hy_unlock(g);
	return number;
}
