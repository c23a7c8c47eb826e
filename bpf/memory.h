/* SPDX-License-Identifier: MIT */
/*
 * Reading the memory of another process, which may be any bytes or missing.
 * An interface, so that tests can put a made-up process behind it.
 */
#ifndef HYPHAE_BPF_MEMORY_H
#define HYPHAE_BPF_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A piece to read. */
struct piece {
	uint64_t address;
	void *to;
	size_t size;
	bool ok; /* was it read, all of it */
};

struct memory {
	/* Read the pieces and set their `ok`. */
	void (*read)(const struct memory *memory, struct piece *pieces,
		     size_t n);
	pid_t pid; /* for memory_of_process() */
	void *ctx; /* for others */
};

/* The memory of a process, which goes on running meanwhile. */
struct memory memory_of_process(pid_t pid);

/* One piece; false if it cannot be read. */
bool memory_read(const struct memory *memory, uint64_t address, void *to,
		 size_t size);

#define MEMORY_PAGE 4096

/*
 * A NUL-terminated text, at most `size` - 1 bytes.  Reads up to the end of a
 * page at a time, because what follows may not be there.  Returns the length,
 * -1 if it cannot be read.
 */
int memory_text(const struct memory *memory, uint64_t address, char *to,
		size_t size);

#endif
