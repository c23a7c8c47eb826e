/* SPDX-License-Identifier: MIT */
#include "core/label.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"

/*
 * The labels that cells share, by the address of their site.  They stay, so
 * the table has an end: cells of more sites than it has room for have labels
 * of their own.
 */
#define SITES 4096
#define STEPS 8 /* how far to look for a place */

struct shared {
	struct hy_label label;
	char no_text[8];
};

static struct shared shared[SITES + STEPS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_shared(const struct hy_label *label)
{
	return (uintptr_t)label - (uintptr_t)shared < sizeof(shared);
}

/* Its first place; the next ones are those behind it. */
static struct shared *place_of(const char *site)
{
	uint64_t hash = (uintptr_t)site * 0x9e3779b97f4a7c15u;

	return &shared[hash >> 52];
}
_Static_assert(SITES == 1 << (64 - 52), "as many as the hash has values");

/* NULL: the table has no place for it. */
static NOINLINE struct hy_label *share(const char *site)
{
	struct shared *at = place_of(site), *end = at + STEPS;

	pthread_mutex_lock(&lock);
	while (at < end && at->label.site && at->label.site != site)
		at++;
	/* Another thread may have been faster, and its cells are about. */
	if (at < end && !at->label.site)
		store_release(&at->label.site, site);
	pthread_mutex_unlock(&lock);
	return at < end ? &at->label : NULL;
}

static inline struct hy_label *shared_label(const char *site)
{
	struct shared *at = place_of(site), *end = at + STEPS;

	for (; at < end; at++) {
		const char *here = load_acquire(&at->label.site);

		if (likely(here == site))
			return &at->label;
		if (!here)
			break;
	}
	return share(site);
}

static void use(struct hy_cell *c, struct hy_label *label)
{
	/* What tools read follows what they read it by. */
	store_release(&c->name, (const char *)(label + 1));
}

bool hy_label_find(struct hy_graph *g, struct hy_cell *c, const char *site)
{
	struct hy_label *label = shared_label(site ? site : "");

	if (likely(label != NULL)) {
		g->last_label = label;
	} else {
		label = hy_label_new(g, "", 0);
		if (!label)
			return false;
		label->site = site ? site : "";
	}
	use(c, label);
	return true;
}

struct hy_label *hy_label_new(struct hy_graph *g, const char *name,
			      size_t length)
{
	struct hy_label *label =
		hy_alloc_in(g->region, sizeof(*label) + length + 1);
	char *text;

	if (!label)
		return NULL;
	text = (char *)(label + 1);
	*label = (struct hy_label){0};
	memcpy(text, name, length);
	text[length] = '\0';
	return label;
}

/* Neither the table's nor a part of the cold part. */
static bool is_own(const struct hy_label *label)
{
	return !is_shared(label) &&
	       (!label->cold || label != &label->cold->label);
}

void hy_label_set(struct hy_cell *c, struct hy_label *label)
{
	struct hy_label *old = hy_label_of(c);

	label->cold = old->cold;
	label->site = old->site;
	use(c, label);
	if (is_own(old))
		hy_free(old);
}

struct hy_cold *hy_cold_new(struct hy_cell *c, struct hy_region *region,
			    size_t bytes)
{
	struct hy_label *label = hy_label_of(c);
	struct hy_cold *cold = hy_zalloc_in(region, bytes);

	if (!cold)
		return NULL;
	cold->label = (struct hy_label){cold, label->site};
	if (is_shared(label))
		use(c, &cold->label);
	else
		label->cold = cold;
	return cold;
}

void hy_label_free(struct hy_label *label)
{
	struct hy_cold *cold = label->cold;

	if (likely(is_shared(label)))
		return;
	if (is_own(label))
		hy_free(label);
	hy_free(cold);
}
