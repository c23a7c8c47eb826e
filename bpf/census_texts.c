// SPDX-License-Identifier: MIT
/* The texts of the cells that a census found; see census_texts.h. */
#include "bpf/census_texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SHARED 1024
/* A process with more sites than this shows "" for the rest. */
#define SHARED_MAX (1u << 20)

int census_texts_open(struct census_texts *texts, const struct census *census,
		      const struct census_visitor *visitor)
{
	memset(texts, 0, sizeof(*texts));
	texts->census = census;
	texts->visitor = visitor;
	texts->names = malloc(CENSUS_BATCH * sizeof(*texts->names));
	texts->shared = calloc(FIRST_SHARED, sizeof(*texts->shared));
	texts->mask = FIRST_SHARED - 1;
	if (texts->names && texts->shared)
		return 0;
	census_texts_close(texts);
	return -ENOMEM;
}

void census_texts_close(struct census_texts *texts)
{
	size_t i;

	for (i = 0; texts->shared && i <= texts->mask; i++)
		free(texts->shared[i].text);
	free(texts->shared);
	free(texts->names);
	texts->shared = NULL;
	texts->names = NULL;
}

static struct census_shared *shared_at(struct census_texts *texts,
				       uint64_t address)
{
	size_t at = (size_t)(address * 0x9e3779b97f4a7c15u >> 32);

	for (at &= texts->mask;
	     texts->shared[at].address && texts->shared[at].address != address;)
		at = (at + 1) & texts->mask;
	return &texts->shared[at];
}

static void grow_shared(struct census_texts *texts)
{
	struct census_shared *old = texts->shared;
	size_t n = texts->mask + 1, i;

	if (n >= SHARED_MAX)
		return;
	texts->shared = calloc(n * 2, sizeof(*old));
	if (!texts->shared) {
		texts->shared = old;
		return;
	}
	texts->mask = n * 2 - 1;
	for (i = 0; i < n; i++)
		if (old[i].address)
			*shared_at(texts, old[i].address) = old[i];
	free(old);
}

/*
 * The text at an address, or, if `pointer_at` is not negative, the one that
 * the pointer at address + pointer_at leads to.
 */
static const char *shared_text(struct census_texts *texts, uint64_t address,
			       int64_t pointer_at)
{
	const struct memory *memory = texts->census->memory;
	struct census_shared *shared;
	char text[CENSUS_TEXT] = "";
	uint64_t from = address;

	if (!address)
		return "";
	shared = shared_at(texts, address);
	if (shared->address)
		return shared->text ? shared->text : "";
	if (texts->nshared * 2 > texts->mask) {
		grow_shared(texts);
		if (texts->nshared * 2 > texts->mask)
			return "";
		shared = shared_at(texts, address);
	}
	if ((pointer_at < 0 ||
	     memory_read(memory, address + (uint64_t)pointer_at, &from, 8)) &&
	    memory_text(memory, from, text, sizeof(text)) < 0)
		text[0] = '\0';
	shared->address = address;
	shared->text = strdup(text);
	texts->nshared++;
	return shared->text ? shared->text : "";
}

/* How many bytes of a name to read next: to the end of the page at most. */
static size_t next_part(uint64_t address, size_t have)
{
	size_t part = MEMORY_PAGE - (address + have) % MEMORY_PAGE;
	size_t most = have ? CENSUS_TEXT - 1 - have : 64;

	return part < most ? part : most;
}

/* The names of all that were found, each round a call for those not done. */
static void read_names(struct census_texts *texts)
{
	struct piece pieces[CENSUS_BATCH];
	uint16_t which[CENSUS_BATCH], have[CENSUS_BATCH];
	size_t i, n, left = texts->count;

	for (i = 0; i < left; i++) {
		which[i] = (uint16_t)i;
		have[i] = 0;
	}
	while (left) {
		for (i = 0; i < left; i++) {
			size_t at = which[i];
			uint64_t name = texts->found[at].name;

			pieces[i] = (struct piece){
				name + have[at], texts->names[at] + have[at],
				next_part(name, have[at]), false};
		}
		texts->census->memory->read(texts->census->memory, pieces,
					    left);
		for (i = n = 0; i < left; i++) {
			size_t at = which[i], size = pieces[i].size;
			char *part = pieces[i].to;

			if (!pieces[i].ok)
				texts->names[at][0] = '\0';
			if (!pieces[i].ok || memchr(part, 0, size))
				continue;
			have[at] = (uint16_t)(have[at] + size);
			part[size] = '\0';
			if (have[at] < CENSUS_TEXT - 1)
				which[n++] = (uint16_t)at;
		}
		left = n;
	}
}

/* Where their sites are: beside their names. */
static void read_sites(struct census_texts *texts)
{
	uint32_t before = texts->census->layout.site_before_name;
	struct piece pieces[CENSUS_BATCH];
	size_t i;

	for (i = 0; i < texts->count; i++)
		pieces[i] = (struct piece){texts->found[i].name - before,
					   &texts->found[i].site, 8, false};
	texts->census->memory->read(texts->census->memory, pieces,
				    texts->count);
	for (i = 0; i < texts->count; i++)
		if (!pieces[i].ok)
			texts->found[i].site = 0;
}

/* Which of them are still the cells that they were? */
static void read_ids(struct census_texts *texts, uint64_t *ids)
{
	struct piece pieces[CENSUS_BATCH];
	size_t i;

	for (i = 0; i < texts->count; i++)
		pieces[i] = (struct piece){texts->found[i].id_address, &ids[i],
					   8, false};
	texts->census->memory->read(texts->census->memory, pieces,
				    texts->count);
	for (i = 0; i < texts->count; i++)
		if (!pieces[i].ok)
			ids[i] = 0;
}

void census_texts_flush(struct census_texts *texts)
{
	const struct hy_layout *l = &texts->census->layout;
	uint64_t ids[CENSUS_BATCH];
	size_t i;

	read_names(texts);
	read_sites(texts);
	read_ids(texts, ids);
	for (i = 0; i < texts->count; i++) {
		const struct census_found *found = &texts->found[i];
		struct census_cell cell = {
			.id = found->id,
			.targets = found->targets,
			.height = found->height,
			.name = texts->names[i],
			.type = shared_text(texts, found->type,
					    l->type_name_at),
			.op = found->op ? shared_text(texts, found->op,
						      l->op_name_at)
					: "source",
			.site = shared_text(texts, found->site, -1),
		};

		if (ids[i] == found->id)
			texts->visitor->cell(texts->visitor->ctx, &cell);
	}
	texts->count = 0;
}

void census_texts_add(struct census_texts *texts,
		      const struct census_found *found)
{
	texts->found[texts->count++] = *found;
	if (texts->count == CENSUS_BATCH)
		census_texts_flush(texts);
}
