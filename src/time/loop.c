/* SPDX-License-Identifier: MIT */
/* A run loop on epoll. */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "core/value.h"
#include "time/shelf.h"

#define EVENTS_AT_ONCE 16
#define ASKABLE (POLLIN | POLLOUT | POLLPRI | POLLRDHUP)

_Static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT &&
		       POLLPRI == EPOLLPRI && POLLRDHUP == EPOLLRDHUP &&
		       POLLERR == EPOLLERR && POLLHUP == EPOLLHUP,
	       "events of poll() are those of epoll");

/* A place of the table; the serial number tells its uses apart. */
struct watch {
	int fd; /* -1: free */
	uint32_t serial;
	struct hyphae_graph *graph; /* or NULL */
	hyphae_fd_fn fn;
	void *ctx;
};

struct hy_loop {
	struct hy_shelved head;
	int epoll, event_fd;
	uint32_t quit; /* atomic */
	bool running;  /* a run, or a callback of run_once() */
	uint32_t serials;
	struct watch *watches;
	size_t count, capacity;
};

#define QUIT_EVENT UINT64_MAX

static struct hy_shelf shelf = HY_SHELF(struct hy_loop);

static struct hy_loop *loop_of(const struct hyphae_loop *handle)
{
	return hy_slot(handle, HY_TAG_LOOP);
}

/* ---- make and free --------------------------------------------------------- */

static void close_all(struct hy_loop *loop)
{
	if (loop->epoll >= 0)
		close(loop->epoll);
	if (loop->event_fd >= 0)
		close(loop->event_fd);
}

struct hyphae_loop *hyphae_loop_new(void)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = QUIT_EVENT};
	struct hy_loop *loop = hy_shelf_take(&shelf);
	int error;

	if (!loop) {
		errno = ENOMEM;
		return NULL;
	}
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (loop->epoll < 0 || loop->event_fd < 0 ||
	    epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->event_fd, &event)) {
		error = errno;
		close_all(loop);
		hy_shelf_give(&shelf, &loop->head);
		errno = error;
		return NULL;
	}
	hy_shelf_publish(&loop->head);
	return hy_handle(loop, loop->head.id, HY_TAG_LOOP);
}

int hyphae_loop_free(struct hyphae_loop *handle)
{
	struct hy_loop *loop = loop_of(handle);

	if (!handle)
		return 0;
	if (!loop)
		return -ESTALE;
	if (loop->running)
		return -EBUSY;
	store_release(&loop->head.id, 0);
	close_all(loop);
	hy_free(loop->watches);
	hy_shelf_give(&shelf, &loop->head);
	return 0;
}

/* ---- what it waits for ------------------------------------------------------- */

static struct watch *watch_free(struct hy_loop *loop)
{
	struct watch *watches;

	for (size_t i = 0; i < loop->count; i++)
		if (loop->watches[i].fd < 0)
			return &loop->watches[i];
	watches = hy_reserve(loop->watches, &loop->capacity, loop->count + 1,
			     sizeof(*watches));
	if (!watches)
		return NULL;
	loop->watches = watches;
	watches[loop->count].fd = -1;
	return &watches[loop->count++];
}

/* Its graph has gone, and the descriptor with it, out of epoll too. */
static bool is_gone(const struct watch *watch)
{
	return watch->fd >= 0 && watch->graph && !hy_graph(watch->graph);
}

static int watch_add(struct hy_loop *loop, struct watch what, uint32_t events)
{
	struct epoll_event event = {.events = events};
	struct watch *watch;

	for (size_t i = 0; i < loop->count; i++)
		if (is_gone(&loop->watches[i]))
			loop->watches[i].fd = -1;
	watch = watch_free(loop);
	if (!watch)
		return -ENOMEM;
	what.serial = ++loop->serials;
	event.data.u64 =
		(uint64_t)what.serial << 32 | (uint64_t)(watch - loop->watches);
	if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, what.fd, &event))
		return -errno;
	/* Closed without having been removed; the number is used again. */
	for (size_t i = 0; i < loop->count; i++)
		if (loop->watches[i].fd == what.fd)
			loop->watches[i].fd = -1;
	*watch = what;
	return 0;
}

static void watch_remove(struct hy_loop *loop, struct watch *watch)
{
	if (!is_gone(watch))
		epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	watch->fd = -1;
}

int hyphae_loop_add_graph(struct hyphae_loop *handle,
			  struct hyphae_graph *graph)
{
	struct hy_loop *loop = loop_of(handle);
	int fd;

	if (!loop)
		return hy_bad_handle(handle);
	fd = hyphae_graph_fd(graph);
	if (fd < 0)
		return fd;
	return watch_add(loop, (struct watch){.fd = fd, .graph = graph},
			 EPOLLIN);
}

int hyphae_loop_remove_graph(struct hyphae_loop *handle,
			     struct hyphae_graph *graph)
{
	struct hy_loop *loop = loop_of(handle);

	if (!loop)
		return hy_bad_handle(handle);
	if (!graph)
		return -EINVAL;
	for (size_t i = 0; i < loop->count; i++) {
		struct watch *watch = &loop->watches[i];

		if (watch->fd >= 0 && watch->graph == graph) {
			watch_remove(loop, watch);
			return 0;
		}
	}
	return -ENOENT;
}

int hyphae_loop_add_fd(struct hyphae_loop *handle, int fd, unsigned int events,
		       hyphae_fd_fn fn, void *ctx)
{
	struct hy_loop *loop = loop_of(handle);

	if (!loop)
		return hy_bad_handle(handle);
	if (fd < 0 || !fn || !events || events & ~(unsigned int)ASKABLE)
		return -EINVAL;
	return watch_add(loop, (struct watch){.fd = fd, .fn = fn, .ctx = ctx},
			 events);
}

int hyphae_loop_remove_fd(struct hyphae_loop *handle, int fd)
{
	struct hy_loop *loop = loop_of(handle);

	if (!loop)
		return hy_bad_handle(handle);
	if (fd < 0)
		return -EINVAL;
	for (size_t i = 0; i < loop->count; i++) {
		struct watch *watch = &loop->watches[i];

		if (watch->fd == fd && !watch->graph) {
			watch_remove(loop, watch);
			return 0;
		}
	}
	return -ENOENT;
}

/* ---- run ------------------------------------------------------------------------ */

/* 1: something was called; 0: it was removed meanwhile; or its error. */
static int ready(struct hy_loop *loop, const struct epoll_event *event)
{
	size_t at = (uint32_t)event->data.u64;
	uint32_t serial = (uint32_t)(event->data.u64 >> 32);
	struct watch *watch = &loop->watches[at];
	int r;

	if (watch->fd < 0 || watch->serial != serial || is_gone(watch))
		return 0;
	if (watch->graph)
		r = hyphae_graph_dispatch(watch->graph);
	else
		r = hy_failure_code(
			watch->fn(watch->fd, event->events, watch->ctx));
	/* The table may have moved, and the place be another's. */
	watch = &loop->watches[at];
	if (r == HYPHAE_DETACH && !watch->graph && watch->serial == serial &&
	    watch->fd >= 0)
		watch_remove(loop, watch);
	return r < 0 ? r : 1;
}

static int run_once(struct hy_loop *loop, int timeout_ms)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int count, called = 0, r = 0;
	eventfd_t wakes;

	if (load_acquire(&loop->quit))
		return 0;
	count = epoll_wait(loop->epoll, events, EVENTS_AT_ONCE, timeout_ms);
	if (count < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < count && r >= 0; i++) {
		if (events[i].data.u64 == QUIT_EVENT)
			eventfd_read(loop->event_fd, &wakes);
		if (load_acquire(&loop->quit))
			break;
		if (events[i].data.u64 == QUIT_EVENT)
			continue; /* heeded before it was written */
		r = ready(loop, &events[i]);
		called += r > 0;
	}
	return r < 0 ? r : called;
}

/* Whoever asks has heeded it. */
static bool quits(struct hy_loop *loop)
{
	return __atomic_exchange_n(&loop->quit, 0, __ATOMIC_ACQ_REL);
}

int hyphae_loop_run_once(struct hyphae_loop *handle, int timeout_ms)
{
	struct hy_loop *loop = loop_of(handle);
	int r;

	if (!loop)
		return hy_bad_handle(handle);
	if (loop->running)
		return -EBUSY;
	loop->running = true;
	r = run_once(loop, timeout_ms);
	quits(loop);
	loop->running = false;
	return r;
}

int hyphae_loop_run(struct hyphae_loop *handle)
{
	struct hy_loop *loop = loop_of(handle);
	int r = 0;

	if (!loop)
		return hy_bad_handle(handle);
	if (loop->running)
		return -EBUSY;
	loop->running = true;
	while (r >= 0 && !quits(loop))
		r = run_once(loop, -1);
	loop->running = false;
	return r < 0 ? r : 0;
}

int hyphae_loop_quit(struct hyphae_loop *handle)
{
	struct hy_loop *loop = loop_of(handle);
	int saved = errno;

	if (!loop)
		return hy_bad_handle(handle);
	store_release(&loop->quit, 1);
	eventfd_write(loop->event_fd, 1);
	errno = saved;
	return 0;
}
