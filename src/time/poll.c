/* SPDX-License-Identifier: MIT */
/* A graph as something to wait for. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/post.h"
#include "time/clocks.h"

/*
 * Arming, moving and firing would each be a system call; so one that fires
 * too early is left alone until hyphae_graph_dispatch() puts it right
 * (`exact`).
 */
void hy_poll_tell(struct hy_time *time, bool exact)
{
	const struct hy_timer *first = hy_heap_first(&time->timers);
	struct itimerspec when = {.it_value = {0}};
	uint64_t due = 0;

	if (time->timer_fd < 0)
		return;
	/* 0 would disarm it; at 1 it is due at once. */
	if (first && time->clock->kind == HY_MONOTONIC)
		due = first->due ? first->due : 1;
	if (due == time->told ||
	    (!exact && time->told && (!due || due > time->told)))
		return;
	when.it_value.tv_sec = (time_t)(due / 1000000000u);
	when.it_value.tv_nsec = (long)(due % 1000000000u);
	timerfd_settime(time->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
	time->told = due;
}

/* An epoll instance with timer_fd in it, and with what tells of posts. */
static int open_fds(struct hy_graph *g, struct hy_time *time)
{
	struct epoll_event event = {.events = EPOLLIN};
	int post_fd = hy_post_fd(g), r;

	if (post_fd < 0)
		return post_fd;
	time->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (time->epoll >= 0)
		time->timer_fd = timerfd_create(CLOCK_MONOTONIC,
						TFD_CLOEXEC | TFD_NONBLOCK);
	if (time->timer_fd >= 0 &&
	    !epoll_ctl(time->epoll, EPOLL_CTL_ADD, time->timer_fd, &event) &&
	    !epoll_ctl(time->epoll, EPOLL_CTL_ADD, post_fd, &event)) {
		hy_poll_tell(time, true);
		return 0;
	}
	r = -errno;
	hy_poll_done(time);
	return r;
}

int hyphae_graph_fd(struct hyphae_graph *handle)
{
	struct hy_graph *g = hy_graph(handle);
	struct hy_time *time;
	int r = 0;

	if (!g)
		return hy_bad_handle(handle);
	hy_lock(g);
	time = hy_time_with_clock(g);
	if (!time)
		r = g->freeing ? -ESTALE : -ENOMEM;
	else if (time->epoll < 0)
		r = open_fds(g, time);
	if (r == 0)
		r = time->epoll;
	hy_unlock(g);
	return r;
}

int hyphae_graph_deadline(struct hyphae_graph *handle, uint64_t *ret_ns)
{
	struct hy_graph *g = hy_graph(handle);
	const struct hy_timer *first;

	if (!g)
		return hy_bad_handle(handle);
	if (!ret_ns)
		return -EINVAL;
	hy_lock(g);
	first = g->time ? hy_heap_first(&g->time->timers) : NULL;
	if (first)
		*ret_ns = first->due;
	hy_unlock(g);
	return first ? 0 : -ENODATA;
}

static bool is_inside(struct hy_graph *g)
{
	return hy_guarded(g) || hy_drains(g);
}

static int run_timers(struct hy_graph *g)
{
	int r;

	if (!g->time)
		return 0;
	r = hy_time_dispatch(g, HYPHAE_DISPATCH_MAX);
	hy_poll_tell(g->time, true);
	return r;
}

int hyphae_graph_dispatch(struct hyphae_graph *handle)
{
	struct hy_graph *g = hy_graph(handle);
	bool inside;
	int r;

	if (!g)
		return hy_bad_handle(handle);
	hy_lock(g);
	inside = is_inside(g);
	hy_unlock(g);
	if (inside)
		return -EBUSY;
	/* Errors of subscribers have been told; what was not taken waits. */
	r = hy_posts_flush(g);
	hy_lock(g);
	r = r == -ENOMEM && hy_posts_waiting(g) ? r : run_timers(g);
	hy_unlock(g);
	return r;
}

void hy_poll_done(struct hy_time *time)
{
	if (time->timer_fd >= 0)
		close(time->timer_fd);
	if (time->epoll >= 0)
		close(time->epoll);
	time->timer_fd = time->epoll = -1;
}
