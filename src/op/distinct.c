/* SPDX-License-Identifier: MIT */
/* Values that are not what came before: distinct and its kin. */
#include <errno.h>
#include <string.h>

#include "op/one.h"

/* As a cell compares; values that are never equal, byte by byte. */
static bool same(const struct hyphae_type *type, const void *a, const void *b)
{
	if (type->equal && type->equal != hyphae_never_equal)
		return type->equal(a, b);
	return memcmp(a, b, type->size) == 0;
}

/* ---- different from the last that passed ------------------------------------- */

struct changed {
	const struct hyphae_type *type;
	void *ctx;
	uint64_t last;
	bool has;
};

static bool is_same(struct hy_graph *g, struct hy_derived *d)
{
	hyphae_same_fn fn = (hyphae_same_fn)d->fn;
	const void *value = hy_input_value(d, 0);
	const struct changed *s = d->ctx;
	const void *last = hy_word_value(s->type, &s->last);
	bool r;

	hy_call_begin(g);
	r = fn ? fn(last, value, s->ctx) : same(s->type, last, value);
	hy_call_end(g);
	return r;
}

static void forget(struct hy_graph *g, struct hy_derived *d)
{
	struct changed *s = d->ctx;
	bool had = s->has;

	s->has = false;
	if (had)
		hy_word_put(g, s->type, s->last);
}

/*
 * After an error every value is different: the cell has lost the last one, and
 * is without also when the error is over.
 */
static int run_changed(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct changed *s = d->ctx;

	if (s->has && !(d->cell.flags & F_NO_VALUE) && is_same(g, d))
		return HY_KEEP;
	forget(g, d);
	s->last = hy_word_ref(s->type, hy_input_word(d, 0));
	s->has = true;
	*(uint64_t *)out = s->last;
	return HY_VALUE;
}

static void free_changed(struct hy_graph *g, struct hy_derived *d)
{
	forget(g, d);
	hy_free(d->ctx);
}

static const struct hy_op op_changed = {.name = "distinct_until_changed_by",
					.run = run_changed,
					.free = free_changed,
					.reset = forget,
					.flags = OP_SHARES | OP_STREAM};
static const struct hy_op op_deduped = {.name = "deduped",
					.run = run_changed,
					.free = free_changed,
					.reset = forget,
					.flags = OP_SHARES | OP_STREAM};

static struct hyphae_cell *changed(const struct hy_op *op,
				   struct hyphae_cell *input, hyphae_same_fn fn,
				   void *ctx, const char *site)
{
	const struct hy_cell *c = hy_cell(input);
	struct hy_order order;
	struct changed *s;

	if (!hy_one_begin(&order, op, &input, site))
		return NULL;
	order.fn = (void (*)(void))fn;
	order.ctx = s = hy_one_state(&order, sizeof(*s));
	if (s)
		*s = (struct changed){.type = load_relaxed(&c->type),
				      .ctx = ctx};
	return hy_one(&order, fn || op == &op_deduped ? 0 : -EINVAL);
}

struct hyphae_cell *
hyphae_distinct_until_changed_by_at(struct hyphae_cell *input,
				    hyphae_same_fn same_fn, void *ctx,
				    const char *site)
{
	return changed(&op_changed, input, same_fn, ctx, site);
}

struct hyphae_cell *hyphae_deduped_at(struct hyphae_cell *input,
				      const char *site)
{
	return changed(&op_deduped, input, NULL, NULL, site);
}

/* ---- never seen before ----------------------------------------------------- */

#define NONE UINT32_MAX

struct entry {
	uint64_t word, hash;
	uint32_t next; /* in the same bucket */
};

/* A ring of the last values, and buckets of their hashes. */
struct seen {
	const struct hyphae_type *type;
	uint32_t capacity, count;
	uint32_t oldest; /* the next to be overwritten, once it is full */
	uint32_t mask;
	uint32_t *buckets;
	struct entry entries[];
};

static struct seen *seen_new(const struct hy_order *order,
			     const struct hyphae_type *type, uint32_t capacity)
{
	uint32_t buckets = 1;
	struct seen *seen;
	size_t bytes;

	while (buckets < capacity)
		buckets *= 2;
	bytes = sizeof(*seen) + capacity * sizeof(struct entry);
	seen = hy_one_state(order, bytes + buckets * sizeof(uint32_t));
	if (!seen)
		return NULL;
	seen->type = type;
	seen->capacity = capacity;
	seen->mask = buckets - 1;
	seen->buckets = (uint32_t *)(seen->entries + capacity);
	memset(seen->buckets, 0xff, buckets * sizeof(uint32_t));
	return seen;
}

/* Without the lock.  What compares by a function but has no hash: a list. */
static uint64_t hash_of(const struct hyphae_type *type, const void *value)
{
	if (type->hash)
		return type->hash(value);
	if (type->equal && type->equal != hyphae_never_equal)
		return 0;
	return hy_hash_bytes(value, type->size);
}

static bool has_seen(const struct seen *seen, const void *value, uint64_t hash)
{
	uint32_t i = seen->buckets[hash & seen->mask];

	for (; i != NONE; i = seen->entries[i].next) {
		const struct entry *e = &seen->entries[i];

		if (e->hash == hash &&
		    same(seen->type, hy_word_value(seen->type, &e->word),
			 value))
			return true;
	}
	return false;
}

/* The place of the next value, out of its bucket; what it held is put away. */
static struct entry *make_room(struct hy_graph *g, struct seen *seen)
{
	struct entry *e = &seen->entries[seen->oldest];
	uint32_t *at = &seen->buckets[e->hash & seen->mask];

	if (seen->count < seen->capacity)
		return &seen->entries[seen->count++];
	while (*at != seen->oldest)
		at = &seen->entries[*at].next;
	*at = e->next;
	seen->oldest = (seen->oldest + 1) % seen->capacity;
	hy_word_put(g, seen->type, e->word);
	return e;
}

static int run_distinct(struct hy_graph *g, struct hy_derived *d, void *out)
{
	const void *value = hy_input_value(d, 0);
	uint64_t word = hy_input_word(d, 0), hash;
	struct seen *seen = d->ctx;
	struct entry *e;
	uint32_t *bucket;
	bool known;

	hy_call_begin(g);
	hash = hash_of(seen->type, value);
	known = has_seen(seen, value, hash);
	hy_call_end(g);
	if (known)
		return hy_nothing(d);
	e = make_room(g, seen);
	bucket = &seen->buckets[hash & seen->mask];
	*e = (struct entry){hy_word_ref(seen->type, word), hash, *bucket};
	*bucket = (uint32_t)(e - seen->entries);
	*(uint64_t *)out = word;
	return HY_VALUE;
}

static void reset_distinct(struct hy_graph *g, struct hy_derived *d)
{
	struct seen *seen = d->ctx;

	memset(seen->buckets, 0xff,
	       ((size_t)seen->mask + 1) * sizeof(uint32_t));
	seen->oldest = 0;
	while (seen->count)
		hy_word_put(g, seen->type, seen->entries[--seen->count].word);
}

static void free_distinct(struct hy_graph *g, struct hy_derived *d)
{
	reset_distinct(g, d);
	hy_free(d->ctx);
}

static const struct hy_op op_distinct = {.name = "distinct",
					 .run = run_distinct,
					 .free = free_distinct,
					 .reset = reset_distinct,
					 .flags = OP_SHARES | OP_STREAM};

struct hyphae_cell *hyphae_distinct_at(struct hyphae_cell *input,
				       size_t capacity, const char *site)
{
	const struct hy_cell *c = hy_cell(input);
	struct hy_order order;

	if (!hy_one_begin(&order, &op_distinct, &input, site))
		return NULL;
	if (!capacity || capacity > HYPHAE_DISTINCT_MAX) {
		errno = EINVAL;
		return NULL;
	}
	order.ctx =
		seen_new(&order, load_relaxed(&c->type), (uint32_t)capacity);
	return hy_one(&order, 0);
}
