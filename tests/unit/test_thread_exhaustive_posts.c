/* SPDX-License-Identifier: MIT */
/*
 * Posts in every interleaving up to a number of preemptions; see explore.h.
 *
 * Part of them is lock-free, so here the two sources are compiled once more,
 * with a point before each atomic operation and each access to the eventfd.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/eventfd.h>

#include "explore.h"

/* A macro does not apply inside of itself. */
#define __atomic_load_n(...) (explore_point(), __atomic_load_n(__VA_ARGS__))
#define __atomic_store_n(...) (explore_point(), __atomic_store_n(__VA_ARGS__))
#define __atomic_exchange_n(...)                                               \
	(explore_point(), __atomic_exchange_n(__VA_ARGS__))
#define __atomic_compare_exchange_n(...)                                       \
	(explore_point(), __atomic_compare_exchange_n(__VA_ARGS__))
#define __atomic_add_fetch(...)                                                \
	(explore_point(), __atomic_add_fetch(__VA_ARGS__))

#define eventfd_read(...) (explore_point(), eventfd_read(__VA_ARGS__))
#define eventfd_write(...) (explore_point(), eventfd_write(__VA_ARGS__))

#include "../../src/core/post.c"
#include "../../src/core/poster.c"

#include <poll.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TWO 2
#define THREE 1
#else
#define TWO 3
#define THREE 2
#endif

struct told {
	int64_t last;
	unsigned int calls;
};

static struct {
	struct hyphae_graph *graph;
	struct hyphae_cell *a, *b;
	struct hyphae_poster *pa, *pb;
	struct told told_a, told_b, told_more;
	int64_t finals[4]; /* a ends as one of these; 0: no more */
	int64_t final_b;
	int fd; /* 0: none */
	uint64_t posted, refused;
} w;

static int tell(const struct hyphae_signal *signal, void *ctx)
{
	struct told *told = ctx;

	told->last = hyphae_int64_of(signal);
	told->calls++;
	explore_point();
	return 0;
}

static void begin_in(unsigned int flags)
{
	memset(&w, 0, sizeof(w));
	w.graph = hyphae_graph_new(flags);
	w.a = hyphae_int64_new(w.graph, 0);
	w.b = hyphae_int64_new(w.graph, 0);
	hyphae_subscribe(w.a, tell, &w.told_a);
	hyphae_subscribe(w.b, tell, &w.told_b);
}

static void begin(void)
{
	begin_in(0);
}

static void begin_single(void)
{
	begin_in(HYPHAE_SINGLE_THREAD);
}

static void begin_posters_in(unsigned int flags)
{
	begin_in(flags);
	w.pa = hyphae_poster_new(w.a);
	w.pb = hyphae_poster_new(w.b);
}

static void begin_posters(void)
{
	begin_posters_in(0);
}

static void begin_posters_single(void)
{
	begin_posters_in(HYPHAE_SINGLE_THREAD);
}

static void begin_full_poster(void)
{
	begin_posters();
	hyphae_poster_post_int64(w.pb, 5);
	w.posted = w.refused = 1;
}

static void must(int r)
{
	if (r < 0)
		explore_fail("something failed");
}

static void flush(void)
{
	must(hy_posts_flush(hy_graph(w.graph)));
}

static bool readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static const char *check(void)
{
	struct hyphae_post_counts counts;
	int64_t a = -1, b = -1;
	int i = 0;

	if (w.fd && hy_posts_waiting(hy_graph(w.graph)) && !readable(w.fd))
		return "posts wait, and nobody is told";
	flush();
	hyphae_int64_get(w.a, &a);
	hyphae_int64_get(w.b, &b);
	while (i < 3 && w.finals[i] != a)
		i++;
	if (w.finals[i] != a || b != w.final_b)
		return "a post was lost";
	if (w.told_a.last != a || w.told_b.last != b)
		return "told last is not what the cell holds";
	must(hyphae_graph_post_counts(w.graph, &counts));
	if (counts.waiting || counts.refused != w.refused ||
	    counts.posted != w.posted)
		return "the counts are wrong";
	return hyphae_graph_check_idle(w.graph) ? "something is left" : NULL;
}

static const char *end(void)
{
	const char *wrong = check();

	hyphae_poster_free(w.pa);
	hyphae_poster_free(w.pb);
	must(hyphae_graph_free(w.graph));
	return wrong;
}

static const char *end_with(int64_t one, int64_t two, int64_t b,
			    uint64_t posted)
{
	w.finals[0] = one;
	w.finals[1] = two;
	w.final_b = b;
	w.posted += posted;
	return end();
}

/* ---- through posters -------------------------------------------------------------- */

static void poster_a_1_2(void)
{
	must(hyphae_poster_post_int64(w.pa, 1));
	must(hyphae_poster_post_int64(w.pa, 2));
}

static void poster_a_11(void)
{
	must(hyphae_poster_post_int64(w.pa, 11));
}

static void poster_b_3(void)
{
	must(hyphae_poster_post_int64(w.pb, 3));
}

static void free_poster_b(void)
{
	hyphae_poster_free(w.pb);
	w.pb = NULL;
}

static const char *end_one_poster(void)
{
	return end_with(2, 2, 0, 2);
}

static const char *end_same_poster(void)
{
	return end_with(2, 11, 0, 3);
}

static const char *end_two_posters(void)
{
	return end_with(2, 2, 3, 3);
}

/* Taken before it is freed, or not. */
static const char *end_freed(void)
{
	struct hyphae_post_counts counts;

	must(hyphae_graph_post_counts(w.graph, &counts));
	w.refused = counts.refused;
	return end_with(2, 2, w.refused ? 0 : 5, 2);
}

/* ---- by cell -------------------------------------------------------------------------- */

static void post_a_1_2(void)
{
	must(hyphae_int64_post(w.a, 1));
	must(hyphae_int64_post(w.a, 2));
}

static void post_b_3(void)
{
	must(hyphae_int64_post(w.b, 3));
}

static void set_b_3(void)
{
	must(hyphae_int64_set(w.b, 3));
}

static const char *end_posts(void)
{
	return end_with(2, 2, 3, 3);
}

static const char *end_posts_and_set(void)
{
	return end_with(2, 2, 3, 2);
}

/* ---- a main loop --------------------------------------------------------------------------- */

static void open_and_dispatch(void)
{
	w.fd = hy_post_fd(hy_graph(w.graph));
	if (readable(w.fd))
		flush();
}

/* Who only subscribes takes no posts along, unless a dispatch left them. */
static void subscribe_b(void)
{
	if (!hyphae_subscribe(w.b, tell, &w.told_more))
		explore_fail("not subscribed");
}

static const char *end_one_post(void)
{
	return end_with(2, 2, 0, 2);
}

static const struct explore_scenario scenarios[] = {
	{"one poster",
	 TWO,
	 begin_posters,
	 {poster_a_1_2, flush},
	 end_one_poster},
	{"one poster, single-threaded",
	 TWO,
	 begin_posters_single,
	 {poster_a_1_2, flush},
	 end_one_poster},
	{"the same poster",
	 THREE,
	 begin_posters,
	 {poster_a_1_2, poster_a_11, flush},
	 end_same_poster},
	{"two posters",
	 THREE,
	 begin_posters,
	 {poster_a_1_2, poster_b_3, flush},
	 end_two_posters},
	{"one is freed",
	 THREE,
	 begin_full_poster,
	 {poster_a_1_2, free_poster_b, flush},
	 end_freed},
	{"posts", THREE, begin, {post_a_1_2, post_b_3, flush}, end_posts},
	{"posts, single-threaded",
	 THREE,
	 begin_single,
	 {post_a_1_2, post_b_3, flush},
	 end_posts},
	{"posts and a set",
	 THREE,
	 begin,
	 {post_a_1_2, set_b_3, flush},
	 end_posts_and_set},
	{"posts and a set, single-threaded",
	 TWO,
	 begin_single,
	 {post_a_1_2, set_b_3},
	 end_posts_and_set},
	{"main loop",
	 THREE,
	 begin,
	 {post_a_1_2, post_b_3, open_and_dispatch},
	 end_posts},
	{"main loop beside a subscriber",
	 THREE,
	 begin,
	 {post_a_1_2, subscribe_b, open_and_dispatch},
	 end_one_post},
	{"main loop and posters",
	 THREE,
	 begin_posters,
	 {poster_a_1_2, poster_b_3, open_and_dispatch},
	 end_two_posters},
};

#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static void every_schedule(void **state)
{
	assert_null(explore_all(*state));
}

int main(void)
{
	struct CMUnitTest tests[SCENARIOS];

	hy_lock_patience = 0;	/* each time a lock is taken is a point */
	hy_hand_over_waves = 1; /* what comes meanwhile waits for the next */
	for (size_t i = 0; i < SCENARIOS; i++)
		tests[i] =
			(struct CMUnitTest){scenarios[i].name, every_schedule,
					    NULL, NULL, (void *)&scenarios[i]};
	return _cmocka_run_group_tests("posts", tests, SCENARIOS, NULL, NULL);
}
