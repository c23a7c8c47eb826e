// SPDX-License-Identifier: MIT
/* The probes of provider hyphae in an ELF file; see elf_notes.h. */
#include "bpf/elf_notes.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#define NOTE_TYPE 3 /* NT_STAPSDT */

/* The sections that matter, and whether the machine has our byte order. */
struct sections {
	Elf_Scn *notes;
	uint64_t base; /* address of .stapsdt.base; 0: the file has none */
};

static void find_sections(Elf *elf, struct sections *found)
{
	Elf_Scn *section = NULL;
	size_t names;

	memset(found, 0, sizeof(*found));
	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (!name)
			continue;
		if (!strcmp(name, ".note.stapsdt") &&
		    header.sh_type == SHT_NOTE)
			found->notes = section;
		else if (!strcmp(name, ".stapsdt.base"))
			found->base = header.sh_addr;
	}
}

/* The text at `*at`, which moves behind its NUL; NULL if it does not end. */
static const char *take_text(const char **at, const char *end)
{
	const char *text = *at, *nul = memchr(text, 0, (size_t)(end - text));

	if (!nul)
		return NULL;
	*at = nul + 1;
	return text;
}

/* location, base, semaphore, then three texts. */
static void read_note(const char *desc, size_t size, uint64_t base,
		      struct elf_notes *notes)
{
	const char *at = desc + 3 * sizeof(uint64_t), *end = desc + size;
	const char *provider, *name;
	uint64_t address[3], shift;

	if (size < sizeof(address))
		return;
	memcpy(address, desc, sizeof(address));
	provider = take_text(&at, end);
	name = provider ? take_text(&at, end) : NULL;
	if (!name)
		return;
	if (strcmp(provider, "hyphae")) {
		notes->other_notes = true;
		return;
	}
	notes->probes++;
	if (strcmp(name, "records") || notes->records)
		return;
	/* How far a prelinker moved the file after it was linked. */
	shift = base && address[1] ? base - address[1] : 0;
	notes->records = true;
	notes->location = address[0] + shift;
	notes->semaphore = address[2] ? address[2] + shift : 0;
}

static void read_notes(Elf_Scn *section, uint64_t base, struct elf_notes *notes)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t at = 0, name_at, desc_at;
	GElf_Nhdr note;

	while (data &&
	       (at = gelf_getnote(data, at, &note, &name_at, &desc_at))) {
		const char *bytes = data->d_buf;

		if (note.n_type == NOTE_TYPE && note.n_namesz == 8 &&
		    !memcmp(bytes + name_at, "stapsdt", 8))
			read_note(bytes + desc_at, note.n_descsz, base, notes);
	}
}

/* The segment that `records` lies in. */
static int find_segment(Elf *elf, struct elf_notes *notes)
{
	GElf_Phdr segment;
	size_t n, i;

	if (elf_getphdrnum(elf, &n))
		return -ENOEXEC;
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &segment) ||
		    segment.p_type != PT_LOAD)
			continue;
		if (notes->location - segment.p_vaddr < segment.p_memsz) {
			notes->segment_vaddr = segment.p_vaddr;
			notes->segment_offset = segment.p_offset;
			return 0;
		}
	}
	/* A linker threw the code away and left the note. */
	notes->records = false;
	return 0;
}

int elf_notes_read(int fd, struct elf_notes *ret_notes)
{
	struct sections found;
	GElf_Ehdr header;
	Elf *elf;
	int error = -ENOEXEC;

	memset(ret_notes, 0, sizeof(*ret_notes));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return -ENOEXEC;
	if (elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
	    header.e_ident[EI_CLASS] == ELFCLASS64) {
		error = 0;
		find_sections(elf, &found);
		if (found.notes)
			read_notes(found.notes, found.base, ret_notes);
		if (ret_notes->records)
			error = find_segment(elf, ret_notes);
	}
	elf_end(elf);
	return error;
}
