/* SPDX-License-Identifier: MIT */
/*
 * A small run loop, for programs that have none: it waits for graphs and for
 * file descriptors and calls what is ready.  Programs that have one wait for
 * hyphae_graph_fd() there (clock.h).
 *
 * A loop is used by one thread at a time, which is the caller's business; its
 * callbacks may call any of these.  hyphae_loop_quit() may be called by any
 * thread and in signal handlers.
 */
#ifndef HYPHAE_LOOP_H
#define HYPHAE_LOOP_H

#include <hyphae/export.h>
#include <hyphae/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hyphae_loop;

/* NULL with errno ENOMEM, or what the kernel says (EMFILE, ...). */
HYPHAE_API struct hyphae_loop *hyphae_loop_new(void);

/*
 * The graphs and descriptors in it stay as they are.  NULL is allowed.
 * -ESTALE; -EBUSY while it runs.
 */
HYPHAE_API int hyphae_loop_free(struct hyphae_loop *loop);

/*
 * Have hyphae_graph_dispatch() called when there is something to do.  The
 * graph is not kept alive; when it is freed the loop forgets it.
 * 0, -EINVAL, -ESTALE, -ENOMEM, -EEXIST, or what hyphae_graph_fd() says.
 */
HYPHAE_API int hyphae_loop_add_graph(struct hyphae_loop *loop,
				     struct hyphae_graph *graph);
/* 0, -EINVAL, -ESTALE (the loop), or -ENOENT. */
HYPHAE_API int hyphae_loop_remove_graph(struct hyphae_loop *loop,
					struct hyphae_graph *graph);

/*
 * `events` are those of poll(): POLLIN, POLLOUT, and also POLLERR or POLLHUP.
 * Returns 0, HYPHAE_DETACH to have the descriptor removed, or a negative
 * errno, with which the loop's run ends.
 */
typedef int (*hyphae_fd_fn)(int fd, unsigned int events, void *ctx);

/*
 * Have `fn` called while the descriptor is ready for one of `events`, of
 * POLLIN, POLLOUT, POLLPRI and POLLRDHUP (level-triggered).  It is removed
 * before it is closed.  0, -EINVAL, -ESTALE, -ENOMEM, -EEXIST, or what the
 * kernel says: -EBADF, -EPERM for a regular file.
 */
HYPHAE_API int hyphae_loop_add_fd(struct hyphae_loop *loop, int fd,
				  unsigned int events, hyphae_fd_fn fn,
				  void *ctx);
/* It is not called again.  0, -EINVAL, -ESTALE, or -ENOENT. */
HYPHAE_API int hyphae_loop_remove_fd(struct hyphae_loop *loop, int fd);

/*
 * Wait up to `timeout_ms` (0: not at all, below 0: for ever) until something
 * is ready, and call what is, once.  Returns how many graphs and descriptors
 * were called; 0 after the time, a signal, or hyphae_loop_quit().
 * -EINVAL, -ESTALE; -EBUSY inside a callback of the loop; else the error of a
 * callback, or of hyphae_graph_dispatch(): the loop can be run again.
 */
HYPHAE_API int hyphae_loop_run_once(struct hyphae_loop *loop, int timeout_ms);

/*
 * The same again and again until hyphae_loop_quit(), which may have been
 * called before.  0 then, or an error as above.
 */
HYPHAE_API int hyphae_loop_run(struct hyphae_loop *loop);

/*
 * End the run that is under way, after the callback that is, or else the next
 * one.  Async-signal-safe, errno is kept; from any thread as long as nobody
 * frees the loop meanwhile.  0, -EINVAL, -ESTALE.
 */
HYPHAE_API int hyphae_loop_quit(struct hyphae_loop *loop);

#ifdef __cplusplus
}
#endif

#endif
