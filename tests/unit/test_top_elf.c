/* SPDX-License-Identifier: MIT */
/*
 * Finding the probes: in ELF files made here, in this program, in broken
 * files, and among the mappings of a process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <hyphae/hyphae.h>

#include "bpf/elf_notes.h"
#include "bpf/maps.h"
#include "run.h"

/* ---- a file with one note, and more --------------------------------------- */

static const char names[] = "\0.note.stapsdt\0.stapsdt.base\0.shstrtab";

struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[4];
	char names[64];
	char notes[512];
	size_t notes_used;
};

static void add_note(struct file *file, const char *provider, const char *name,
		     uint64_t location, uint64_t base, uint64_t semaphore)
{
	char *at = file->notes + file->notes_used;
	uint64_t address[3] = {location, base, semaphore};
	size_t p = strlen(provider) + 1, n = strlen(name) + 1;
	Elf64_Nhdr note = {8, (Elf64_Word)(24 + p + n + 10), 3};

	memcpy(at, &note, sizeof(note));
	memcpy(at + 12, "stapsdt", 8);
	memcpy(at + 20, address, 24);
	memcpy(at + 44, provider, p);
	memcpy(at + 44 + p, name, n);
	memcpy(at + 44 + p + n, "8@%rdi 8@1", 10);
	file->notes_used += (44 + p + n + 10 + 3) & ~(size_t)3;
}

static void make_file(struct file *file, uint64_t base)
{
	memset(file, 0, sizeof(*file));
	memcpy(file->header.e_ident, ELFMAG, SELFMAG);
	file->header.e_ident[EI_CLASS] = ELFCLASS64;
	file->header.e_ident[EI_DATA] = ELFDATA2LSB;
	file->header.e_ident[EI_VERSION] = EV_CURRENT;
	file->header.e_type = ET_DYN;
	file->header.e_machine = EM_X86_64;
	file->header.e_version = EV_CURRENT;
	file->header.e_ehsize = sizeof(Elf64_Ehdr);
	file->header.e_phoff = offsetof(struct file, segment);
	file->header.e_phentsize = sizeof(Elf64_Phdr);
	file->header.e_phnum = 1;
	file->header.e_shoff = offsetof(struct file, sections);
	file->header.e_shentsize = sizeof(Elf64_Shdr);
	file->header.e_shnum = 4;
	file->header.e_shstrndx = 3;
	file->segment = (Elf64_Phdr){.p_type = PT_LOAD,
				     .p_offset = 0x1000,
				     .p_vaddr = 0x401000,
				     .p_memsz = 0x2000};
	memcpy(file->names, names, sizeof(names));
	file->sections[1] =
		(Elf64_Shdr){.sh_name = 1,
			     .sh_type = SHT_NOTE,
			     .sh_offset = offsetof(struct file, notes),
			     .sh_addralign = 4};
	file->sections[2] = (Elf64_Shdr){
		.sh_name = 15, .sh_type = SHT_NOBITS, .sh_addr = base};
	file->sections[3] =
		(Elf64_Shdr){.sh_name = 29,
			     .sh_type = SHT_STRTAB,
			     .sh_offset = offsetof(struct file, names),
			     .sh_size = sizeof(names)};
}

static int read_bytes(const void *bytes, size_t size, struct elf_notes *notes)
{
	int fd = memfd_create("elf", 0), error;

	assert_int_equal(write(fd, bytes, size), size);
	error = elf_notes_read(fd, notes);
	close(fd);
	return error;
}

static int read_made(struct file *file, struct elf_notes *notes)
{
	file->sections[1].sh_size = file->notes_used;
	return read_bytes(file, sizeof(*file), notes);
}

static void a_note_tells_all(void **test)
{
	struct elf_notes notes;
	struct file file;

	(void)test;
	make_file(&file, 0x600000);
	add_note(&file, "other", "records", 1, 0x600000, 2);
	add_note(&file, "hyphae", "notify", 0x401100, 0x600000, 0);
	add_note(&file, "hyphae", "records", 0x401234, 0x600000, 0x700010);
	assert_int_equal(read_made(&file, &notes), 0);
	assert_int_equal(notes.probes, 2);
	assert_true(notes.records);
	assert_true(notes.other_notes);
	assert_int_equal(notes.location, 0x401234);
	assert_int_equal(notes.semaphore, 0x700010);
	assert_int_equal(notes.segment_vaddr, 0x401000);
	assert_int_equal(notes.segment_offset, 0x1000);
}

static void prelinked_files_were_moved(void **test)
{
	struct elf_notes notes;
	struct file file;

	(void)test;
	make_file(&file, 0x600100);
	add_note(&file, "hyphae", "records", 0x401234, 0x600000, 0x700010);
	assert_int_equal(read_made(&file, &notes), 0);
	assert_int_equal(notes.location, 0x401334);
	assert_int_equal(notes.semaphore, 0x700110);
	/* A linker that has thrown the section away: nothing to go by. */
	make_file(&file, 0x600100);
	add_note(&file, "hyphae", "records", 0x401234, 0, 0x700010);
	assert_int_equal(read_made(&file, &notes), 0);
	assert_int_equal(notes.location, 0x401234);
}

static void a_note_without_its_code(void **test)
{
	struct elf_notes notes;
	struct file file;

	(void)test;
	make_file(&file, 0x600000);
	add_note(&file, "hyphae", "records", 0, 0x600000, 0x700010);
	assert_int_equal(read_made(&file, &notes), 0);
	assert_int_equal(notes.probes, 1);
	assert_false(notes.records);
}

static void texts_without_an_end(void **test)
{
	struct elf_notes notes;
	struct file file;

	(void)test;
	make_file(&file, 0x600000);
	add_note(&file, "hyphae", "records", 0x401234, 0x600000, 0x700010);
	memset(file.notes + 44, 'x', 27);
	assert_int_equal(read_made(&file, &notes), 0);
	assert_int_equal(notes.probes, 0);
}

static void what_is_no_elf_file(void **test)
{
	struct elf_notes notes;

	(void)test;
	assert_int_equal(read_bytes("#!/bin/sh\n", 10, &notes), -ENOEXEC);
	assert_int_equal(read_bytes("", 0, &notes), -ENOEXEC);
	assert_int_equal(read_bytes(ELFMAG, 4, &notes), -ENOEXEC);
	assert_int_equal(elf_notes_read(-1, &notes), -ENOEXEC);
}

static void corruption_of_any_kind(void **test)
{
	uint64_t state = test_seed(59);
	struct elf_notes notes;
	struct file file;
	int round, i;

	(void)test;
	for (round = 0; round < 3001; round++) {
		make_file(&file, 0x600000);
		add_note(&file, "hyphae", "records", 0x401234, 0x600000, 1);
		add_note(&file, "hyphae", "fanout", 0x401234, 0x600000, 1);
		file.sections[1].sh_size = file.notes_used;
		for (i = 0; i < 1 + round % 7; i++) {
			state = state * 6364136223846793005u +
				1442695040888963407u;
			((unsigned char *)&file)[(state >> 33) % 700] =
				(unsigned char)(state >> 56);
		}
		(void)read_bytes(&file, sizeof(file), &notes);
	}
}

/* ---- mappings ------------------------------------------------------------------ */

static void lines_of_maps(void **test)
{
	char with_path[] = "7f00a000-7f00c000 r-xp 00002000 08:11 1234567    "
			   "  /a b/lib.so (deleted)\n";
	char without[] = "7f00a000-7f00c000 rw-p 00000000 00:00 0 \n";
	char none[] = "nonsense\n";
	struct mapping mapping;

	(void)test;
	assert_true(mapping_parse(with_path, &mapping));
	assert_int_equal(mapping.start, 0x7f00a000);
	assert_int_equal(mapping.end, 0x7f00c000);
	assert_int_equal(mapping.offset, 0x2000);
	assert_int_equal(mapping.inode, 1234567);
	assert_int_equal(mapping.device, makedev(8, 17));
	assert_true(mapping.executable);
	assert_string_equal(mapping.path, "/a b/lib.so (deleted)");
	assert_true(mapping_parse(without, &mapping));
	assert_string_equal(mapping.path, "");
	assert_false(mapping.executable);
	assert_false(mapping_parse(none, &mapping));
}

static void this_program_carries_probes(void **test)
{
	static struct maps_found found, again;
	struct maps_cache cache = {0};
	uint64_t gate[2];

	(void)test;
	/* Something of the library, so that it is linked. */
	assert_int_equal(hyphae_graph_free(hyphae_graph_new(0)), 0);
	assert_int_equal(maps_find(getpid(), &cache, &found), 0);
	assert_true(found.probes);
	assert_true(found.notes.probes >= 10);
	assert_non_null(strstr(found.file, "test_top_elf"));
	assert_string_not_equal(found.path, "");
	/* The semaphores, then the address of the layout. */
	memcpy(gate,
	       (const void *)(uintptr_t)(found.notes.semaphore + found.shift),
	       sizeof(gate));
	assert_int_equal(gate[0] & 0xffff, 0);
	assert_int_not_equal(gate[1], 0);
	assert_int_equal(maps_find(getpid(), &cache, &again), 0);
	assert_true(again.probes);
	assert_int_equal(again.shift, found.shift);
	maps_cache_done(&cache);
	assert_int_equal(maps_find(0x3fffffff, NULL, &found), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_note_tells_all),
		cmocka_unit_test(prelinked_files_were_moved),
		cmocka_unit_test(a_note_without_its_code),
		cmocka_unit_test(texts_without_an_end),
		cmocka_unit_test(what_is_no_elf_file),
		cmocka_unit_test(corruption_of_any_kind),
		cmocka_unit_test(lines_of_maps),
		cmocka_unit_test(this_program_carries_probes),
	};

	return cmocka_run_group_tests_name("top: finding probes", tests, NULL,
					   NULL);
}
