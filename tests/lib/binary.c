// SPDX-License-Identifier: MIT
/* ELF files and their probes: see binary.h. */
#include "binary.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

/* ---- open ------------------------------------------------------------------ */

static unsigned char *whole_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "re");
	unsigned char *bytes = NULL;
	long size;

	if (!file)
		return NULL;
	if (!fseek(file, 0, SEEK_END) && (size = ftell(file)) > 0) {
		rewind(file);
		bytes = malloc((size_t)size);
		if (bytes &&
		    fread(bytes, 1, (size_t)size, file) == (size_t)size) {
			*ret_size = (size_t)size;
		} else {
			free(bytes);
			bytes = NULL;
		}
	}
	fclose(file);
	return bytes;
}

/* The three addresses and three strings of one note. */
static void read_note(struct binary *binary, const unsigned char *at,
		      size_t size)
{
	const char *text = (const char *)at + 24;
	const char *end = (const char *)at + size;
	const char *provider, *name, *args;
	struct note *note;
	uint64_t word[3];

	if (size < 27 || end[-1] != '\0')
		return;
	memcpy(word, at, sizeof(word));
	provider = text;
	name = provider + strlen(provider) + 1;
	args = name < end ? name + strlen(name) + 1 : end;
	if (args >= end)
		return;
	note = realloc(binary->notes,
		       (binary->count + 1) * sizeof(*binary->notes));
	if (!note)
		return;
	binary->notes = note;
	note += binary->count++;
	note->pc = word[0];
	note->base = word[1];
	note->semaphore = word[2];
	snprintf(note->provider, sizeof(note->provider), "%s", provider);
	snprintf(note->name, sizeof(note->name), "%s", name);
	snprintf(note->args, sizeof(note->args), "%s", args);
}

static void read_notes(struct binary *binary, Elf_Scn *section)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t at = 0, name_at, desc_at;
	GElf_Nhdr head;

	while (data &&
	       (at = gelf_getnote(data, at, &head, &name_at, &desc_at))) {
		const unsigned char *bytes = data->d_buf;

		if (head.n_type == 3 &&
		    !strcmp((const char *)bytes + name_at, "stapsdt"))
			read_note(binary, bytes + desc_at, head.n_descsz);
	}
}

static void read_sections(struct binary *binary)
{
	Elf_Scn *section = NULL;
	GElf_Shdr head;
	const char *name;
	size_t names;

	elf_getshdrstrndx(binary->elf, &names);
	while ((section = elf_nextscn(binary->elf, section))) {
		if (!gelf_getshdr(section, &head))
			continue;
		name = elf_strptr(binary->elf, names, head.sh_name);
		if (!name)
			continue;
		if (head.sh_type == SHT_NOTE && !strcmp(name, ".note.stapsdt"))
			read_notes(binary, section);
		if (!strcmp(name, ".stapsdt.base")) {
			binary->has_base = true;
			binary->base = head.sh_addr;
		}
	}
}

static bool segment(const struct binary *binary, size_t i, GElf_Phdr *ret)
{
	size_t count;

	return !elf_getphdrnum(binary->elf, &count) && i < count &&
	       gelf_getphdr(binary->elf, (int)i, ret);
}

struct binary *binary_open(const char *path)
{
	struct binary *binary = calloc(1, sizeof(*binary));
	GElf_Phdr head;

	elf_version(EV_CURRENT);
	if (binary)
		binary->bytes = whole_file(path, &binary->size);
	if (binary && binary->bytes)
		binary->elf = elf_memory((char *)binary->bytes, binary->size);
	if (!binary || !binary->elf ||
	    gelf_getclass(binary->elf) != ELFCLASS64) {
		printf("%s is not a 64-bit ELF file.\n", path);
		binary_close(binary);
		return NULL;
	}
	binary->start = UINT64_MAX;
	for (size_t i = 0; segment(binary, i, &head); i++) {
		if (head.p_type == PT_LOAD && head.p_vaddr < binary->start)
			binary->start = head.p_vaddr & ~(uint64_t)4095;
	}
	read_sections(binary);
	return binary;
}

void binary_close(struct binary *binary)
{
	if (!binary)
		return;
	if (binary->elf)
		elf_end(binary->elf);
	free(binary->bytes);
	free(binary->notes);
	free(binary);
}

/* ---- ask -------------------------------------------------------------------- */

const struct note *binary_note(const struct binary *binary, const char *name)
{
	for (size_t i = 0; i < binary->count; i++) {
		if (!strcmp(binary->notes[i].provider, "hyphae") &&
		    !strcmp(binary->notes[i].name, name))
			return &binary->notes[i];
	}
	return NULL;
}

size_t binary_sites(const struct binary *binary, const char *name)
{
	size_t sites = 0;

	for (size_t i = 0; i < binary->count; i++) {
		sites += !strcmp(binary->notes[i].provider, "hyphae") &&
			 !strcmp(binary->notes[i].name, name);
	}
	return sites;
}

uint64_t binary_offset(const struct binary *binary, uint64_t address)
{
	GElf_Phdr head;

	for (size_t i = 0; segment(binary, i, &head); i++) {
		if (head.p_type == PT_LOAD && address >= head.p_vaddr &&
		    address < head.p_vaddr + head.p_filesz)
			return address - head.p_vaddr + head.p_offset;
	}
	return UINT64_MAX;
}

const unsigned char *binary_at(const struct binary *binary, uint64_t address,
			       size_t size)
{
	uint64_t offset = binary_offset(binary, address);

	if (offset == UINT64_MAX || offset + size > binary->size)
		return NULL;
	return binary->bytes + offset;
}

bool binary_writable(const struct binary *binary, uint64_t address, size_t size)
{
	GElf_Phdr head;

	for (size_t i = 0; segment(binary, i, &head); i++) {
		if (head.p_type == PT_LOAD && (head.p_flags & PF_W) &&
		    address >= head.p_vaddr &&
		    address + size <= head.p_vaddr + head.p_memsz)
			return true;
	}
	return false;
}

static size_t find_symbol(const struct binary *binary, const char *wanted,
			  uint64_t *ret_address)
{
	Elf_Scn *section = NULL;
	size_t found = 0;
	GElf_Shdr head;
	GElf_Sym symbol;

	while ((section = elf_nextscn(binary->elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &head) || head.sh_type != SHT_SYMTAB)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
			const char *name = elf_strptr(binary->elf, head.sh_link,
						      symbol.st_name);

			if (name && symbol.st_shndx != SHN_UNDEF &&
			    !strcmp(name, wanted)) {
				found++;
				*ret_address = symbol.st_value;
			}
		}
	}
	return found;
}

uint64_t binary_symbol(const struct binary *binary, const char *name)
{
	uint64_t address = 0;

	find_symbol(binary, name, &address);
	return address;
}

size_t binary_symbols(const struct binary *binary, const char *name)
{
	uint64_t address;

	return find_symbol(binary, name, &address);
}

/* ---- processes ----------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
	size_t a = strlen(text), b = strlen(end);

	return a >= b && !strcmp(text + a - b, end);
}

uint64_t process_bias(pid_t pid, const struct binary *binary, const char *path)
{
	unsigned long long start, offset;
	char name[64], line[4352];
	uint64_t bias = UINT64_MAX;
	const char *base = strrchr(path, '/');
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	maps = fopen(name, "re");
	if (!maps)
		return bias;
	while (fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%llx-%*x %*s %llx", &start, &offset) != 2 ||
		    offset != 0 || !ends_with(line, base ? base : path))
			continue;
		bias = start - binary->start;
		break;
	}
	fclose(maps);
	return bias;
}

bool process_read(pid_t pid, uint64_t address, void *data, size_t size)
{
	char name[64];
	ssize_t got;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = pread(fd, data, size, (off_t)address);
	close(fd);
	return got == (ssize_t)size;
}

/* ---- probes/hyphae.d -------------------------------------------------------------- */

/* "probe NAME(type name, type name);" */
static bool read_probe(const char *line, struct probe *probe)
{
	const char *at = strstr(line, "probe "), *open;
	size_t length;

	if (!at || !(open = strchr(at, '(')))
		return false;
	at += strlen("probe ");
	length = (size_t)(open - at);
	if (length >= sizeof(probe->name))
		return false;
	memset(probe, 0, sizeof(*probe));
	memcpy(probe->name, at, length);
	for (at = open; at && *at && probe->args < 12; at = strchr(at, ',')) {
		at += 1 + strspn(at + 1, " ");
		probe->is_signed[probe->args] = !strncmp(at, "int64_t", 7);
		probe->is_narrow[probe->args++] = !strncmp(at, "uint32_t", 8);
	}
	return true;
}

size_t probes_defined(const char *path, struct probe *probes, size_t room)
{
	char *text = read_file(path), *save = NULL;
	size_t count = 0;
	char gate = 'p';

	if (!text)
		return 0;
	for (char *line = strtok_r(text, "\n", &save); line && count < room;
	     line = strtok_r(NULL, "\n", &save)) {
		/* The comment in front of a probe says what gates it. */
		if (strstr(line, "/* ["))
			gate = strstr(line, "/* [")[4];
		if (line[0] == '\t' && read_probe(line, &probes[count]))
			probes[count++].gate = gate;
	}
	free(text);
	return count;
}
