/* SPDX-License-Identifier: MIT */
/*
 * What an ELF file says about probes, and what of it a process has in memory.
 * Reads with libelf and nothing of the library or the tools, so that it can
 * judge them.
 */
#ifndef HYPHAE_TESTS_LIB_BINARY_H
#define HYPHAE_TESTS_LIB_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A note of .note.stapsdt: one site of a probe. */
struct note {
	char provider[32];
	char name[64];
	char args[512]; /* "8@%rax -8@$5" */
	uint64_t pc, base, semaphore;
};

struct binary {
	struct note *notes;
	size_t count;
	bool has_base;	/* is there a section .stapsdt.base ... */
	uint64_t base;	/* ... and where */
	uint64_t start; /* address of the lowest loaded segment */
	/* private */
	unsigned char *bytes;
	size_t size;
	void *elf;
};

/* NULL, and a sentence on stdout, if it is not an ELF file. */
struct binary *binary_open(const char *path);
void binary_close(struct binary *binary);

/* The note of that name, NULL if there is none; how many there are. */
const struct note *binary_note(const struct binary *binary, const char *name);
size_t binary_sites(const struct binary *binary, const char *name);

/* The file's bytes for an address; NULL unless `size` of them are there. */
const unsigned char *binary_at(const struct binary *binary, uint64_t address,
			       size_t size);

/* The place of an address in the file, or (uint64_t)-1. */
uint64_t binary_offset(const struct binary *binary, uint64_t address);

/* Do `size` bytes lie in a segment that is mapped writable? */
bool binary_writable(const struct binary *binary, uint64_t address,
		     size_t size);

/* The address of a symbol (local ones too), or 0; how many have the name. */
uint64_t binary_symbol(const struct binary *binary, const char *name);
size_t binary_symbols(const struct binary *binary, const char *name);

/* ---- processes ------------------------------------------------------------ */

/*
 * What to add to an address of the file to get that of the process, or
 * (uint64_t)-1 if the file (compared by its end, so that a relative path will
 * do) is not mapped.
 */
uint64_t process_bias(pid_t pid, const struct binary *binary, const char *path);

/* Read from a process's memory; false if it cannot be. */
bool process_read(pid_t pid, uint64_t address, void *data, size_t size);

/* ---- probes/hyphae.d -------------------------------------------------------- */

struct probe {
	char name[64];
	size_t args;
	bool is_signed[12]; /* an int64_t */
	bool is_narrow[12]; /* a uint32_t */
	char gate;	    /* 'p'lain, 'd'etail, 'r'ecords, 'w'atch */
};

/* All probes that the file defines; returns their number, at most `room`. */
size_t probes_defined(const char *path, struct probe *probes, size_t room);

#endif
