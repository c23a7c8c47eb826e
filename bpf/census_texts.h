/* SPDX-License-Identifier: MIT */
/*
 * The texts of the cells that a census found.  They lie all over the process,
 * so many are fetched with one system call; types, operators and sites, which
 * many cells share, once each.
 */
#ifndef HYPHAE_BPF_CENSUS_TEXTS_H
#define HYPHAE_BPF_CENSUS_TEXTS_H

#include "bpf/census.h"

/* A cell and the addresses of its texts; `site` is found last. */
struct census_found {
	uint64_t id, id_address;
	uint64_t targets;
	uint32_t height;
	uint64_t name, type, op, site;
};

#define CENSUS_BATCH 512
#define CENSUS_TEXT 256

/* A text that is shared, by its address. */
struct census_shared {
	uint64_t address; /* 0: this entry is free */
	char *text;
};

struct census_texts {
	const struct census *census;
	const struct census_visitor *visitor;
	struct census_found found[CENSUS_BATCH];
	size_t count;
	char (*names)[CENSUS_TEXT];
	struct census_shared *shared; /* hash table */
	size_t mask, nshared;
};

int census_texts_open(struct census_texts *texts, const struct census *census,
		      const struct census_visitor *visitor);

/* Remember a cell; when there are many, fetch texts and tell the visitor. */
void census_texts_add(struct census_texts *texts,
		      const struct census_found *found);
void census_texts_flush(struct census_texts *texts);

void census_texts_close(struct census_texts *texts);

#endif
