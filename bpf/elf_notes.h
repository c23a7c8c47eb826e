/* SPDX-License-Identifier: MIT */
/* The probes of provider hyphae in an ELF file, from its SystemTap notes. */
#ifndef HYPHAE_BPF_ELF_NOTES_H
#define HYPHAE_BPF_ELF_NOTES_H

#include <stdbool.h>
#include <stdint.h>

struct elf_notes {
	unsigned int probes;	/* notes of provider hyphae */
	bool records;		/* one of them is `records`, of which we know */
	uint64_t location;	/* its virtual address in the file */
	uint64_t semaphore;	/* and that of its semaphore; 0: none */
	uint64_t segment_vaddr; /* of the segment it lies in: p_vaddr */
	uint64_t segment_offset; /* and p_offset */
	bool other_notes;	 /* there are notes, of other providers */
};

/*
 * Read the notes of an open file.  0, or -ENOEXEC: no ELF file, or a broken
 * one.  A file without notes is 0 with no probes.
 */
int elf_notes_read(int fd, struct elf_notes *ret_notes);

#endif
