/* SPDX-License-Identifier: MIT */
/*
 * The files that a process has mapped as code, and which of them carries the
 * probes of hyphae.
 */
#ifndef HYPHAE_BPF_MAPS_H
#define HYPHAE_BPF_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/elf_notes.h"

/* A line of /proc/PID/maps. */
struct mapping {
	uint64_t start, end, offset;
	uint64_t inode;
	dev_t device;
	bool executable;
	const char *path; /* within `line`, with " (deleted)" if it is */
};

/* Cut a line in place.  False if it is none. */
bool mapping_parse(char *line, struct mapping *ret_mapping);

/* Files read before, so that each is read once; start with {0}. */
struct maps_cache {
	struct maps_file {
		dev_t device;
		uint64_t inode;
		struct elf_notes notes;
	} * files;
	size_t count, room;
};
void maps_cache_done(struct maps_cache *cache);

/* What was found. */
struct maps_found {
	bool probes; /* a mapped file has notes of hyphae */
	struct elf_notes notes;
	uint64_t shift;	     /* from addresses of the file to addresses */
	char file[4096];     /* as the process knows it */
	char path[4160];     /* by which it can be opened */
	char suspect[4096];  /* if no probes: a file that should have them */
	unsigned int files;  /* looked at */
	unsigned int closed; /* could not be opened */
};

/*
 * Look through process `pid`.  0, or a negative errno when its maps cannot be
 * read.  `cache` may be NULL.
 */
int maps_find(pid_t pid, struct maps_cache *cache, struct maps_found *found);

#endif
