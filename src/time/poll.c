/* SPDX-License-Identifier: MIT */
/* A graph as something to wait for. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "time/clocks.h"

/*
 * The descriptor is only set when it would be too late otherwise: one that
 * fires too early is put right by hyphae_graph_dispatch().
 */
void hy_poll_tell(struct hy_time *time)
{
	const struct hy_timer *first = hy_heap_first(&time->timers);
	struct itimerspec when = {.it_value = {0}};
	uint64_t due = 0;

	if (time->timer_fd < 0)
		return;
	/* 0 would disarm it; at 1 it is due at once. */
	if (first && time->clock->kind == HY_MONOTONIC)
		due = first->due ? first->due : 1;
	if (due == time->told)
		return;
	when.it_value.tv_sec = (time_t)(due / 1000000000u);
	when.it_value.tv_nsec = (long)(due % 1000000000u);
	timerfd_settime(time->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
	time->told = due;
}

void hy_poll_done(struct hy_time *time)
{
	if (time->timer_fd >= 0)
		close(time->timer_fd);
	if (time->epoll >= 0)
		close(time->epoll);
	time->timer_fd = time->epoll = -1;
}
