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
#define STEPS HY_LABEL_STEPS

struct hy_shared_label hy_shared_labels[HY_LABEL_SITES + STEPS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void hy_labels_begin(void)
{
	const char **site = &hy_shared_labels[0].label.site;

	if (unlikely(!load_acquire(site)))
		store_release(site, "");
}

/* NULL: the table has no place for it. */
static NOINLINE struct hy_label *share(const char *site)
{
	struct hy_shared_label *at = hy_label_place(site), *end = at + STEPS;
	const char *here = NULL;

	pthread_mutex_lock(&lock);
	for (; at < end; at++) {
		here = load_relaxed(&at->label.site);
		if (!here || here == site)
			break;
	}
	/* Another thread may have been faster, and its cells are about. */
	if (at < end && !here)
		store_release(&at->label.site, site);
	pthread_mutex_unlock(&lock);
	return at < end ? &at->label : NULL;
}

static inline struct hy_label *shared_label(const char *site)
{
	struct hy_shared_label *at = hy_label_place(site), *end = at + STEPS;

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

struct hy_label *hy_label_find(struct hy_graph *g, const char *site)
{
	struct hy_label *label = shared_label(site);

	if (unlikely(!label)) {
		label = hy_label_new(g, "", 0);
		if (label)
			label->site = site;
	}
	hy_touch_text(site);
	return label;
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
	return !hy_label_is_shared(label) &&
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
	if (hy_label_is_shared(label))
		use(c, &cold->label);
	else
		label->cold = cold;
	return cold;
}

void hy_label_free(struct hy_label *label)
{
	struct hy_cold *cold = label->cold;

	if (likely(hy_label_is_shared(label)))
		return;
	if (is_own(label))
		hy_free(label);
	hy_free(cold);
}
