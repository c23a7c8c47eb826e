// SPDX-License-Identifier: MIT
/* The files that a process has mapped as code; see maps.h. */
#include "bpf/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

bool mapping_parse(char *line, struct mapping *ret_mapping)
{
	unsigned long start, end, offset, inode;
	unsigned int major_id, minor_id;
	char flags[5];
	int at = 0;

	if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &start, &end, flags,
		   &offset, &major_id, &minor_id, &inode, &at) < 7 ||
	    !at || end <= start)
		return false;
	line[strcspn(line, "\n")] = '\0';
	*ret_mapping = (struct mapping){
		.start = start,
		.end = end,
		.offset = offset,
		.inode = inode,
		.device = makedev(major_id, minor_id),
		.executable = flags[2] == 'x',
		.path = line + at,
	};
	return true;
}

void maps_cache_done(struct maps_cache *cache)
{
	free(cache->files);
	memset(cache, 0, sizeof(*cache));
}

static bool same_file(int fd, const struct mapping *mapping)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_ino == mapping->inode &&
	       st.st_dev == mapping->device && S_ISREG(st.st_mode);
}

/*
 * Open the file of a mapping, and say by which path that worked.
 * /proc/PID/exe and /proc/PID/root need the right to trace the process;
 * map_files reaches also what is deleted, for CAP_CHECKPOINT_RESTORE.
 */
static int open_mapping(pid_t pid, const struct mapping *mapping, char *path,
			size_t size)
{
	int fd, way;

	for (way = 0; way < 3; way++) {
		if (way == 0)
			snprintf(path, size, "/proc/%d/exe", pid);
		else if (way == 1)
			snprintf(path, size, "/proc/%d/root%s", pid,
				 mapping->path);
		else
			snprintf(path, size, "/proc/%d/map_files/%lx-%lx", pid,
				 (unsigned long)mapping->start,
				 (unsigned long)mapping->end);
		/* Opening a device or a pipe could do something or wait. */
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			continue;
		if (way == 2 || same_file(fd, mapping))
			return fd;
		close(fd);
	}
	return -1;
}

static const struct elf_notes *cached(const struct maps_cache *cache,
				      const struct mapping *mapping)
{
	size_t i;

	for (i = 0; cache && i < cache->count; i++)
		if (cache->files[i].inode == mapping->inode &&
		    cache->files[i].device == mapping->device)
			return &cache->files[i].notes;
	return NULL;
}

static void remember(struct maps_cache *cache, const struct mapping *mapping,
		     const struct elf_notes *notes)
{
	struct maps_file *files;

	if (!cache)
		return;
	if (cache->count == cache->room) {
		files = realloc(cache->files,
				(cache->room * 2 + 64) * sizeof(*files));
		if (!files)
			return;
		cache->files = files;
		cache->room = cache->room * 2 + 64;
	}
	cache->files[cache->count++] =
		(struct maps_file){mapping->device, mapping->inode, *notes};
}

/* Does this mapping hold the code of the probes?  Then all is known. */
static bool holds_probes(const struct mapping *mapping,
			 const struct elf_notes *notes,
			 struct maps_found *found)
{
	uint64_t at =
		notes->location - notes->segment_vaddr + notes->segment_offset;

	if (!notes->records || !mapping->executable || at < mapping->offset ||
	    at - mapping->offset >= mapping->end - mapping->start)
		return false;
	found->shift = mapping->start - mapping->offset +
		       notes->segment_offset - notes->segment_vaddr;
	found->notes = *notes;
	found->probes = true;
	return true;
}

static bool look_at(pid_t pid, const struct mapping *mapping,
		    struct maps_cache *cache, struct maps_found *found)
{
	const struct elf_notes *known = cached(cache, mapping);
	struct elf_notes notes = {0};
	const char *name;
	int fd;

	if (known && !known->records)
		return false;
	fd = open_mapping(pid, mapping, found->path, sizeof(found->path));
	if (fd < 0) {
		found->closed++;
		return false;
	}
	found->files++;
	if (known)
		notes = *known;
	else
		(void)elf_notes_read(fd, &notes);
	close(fd);
	if (!known)
		remember(cache, mapping, &notes);
	snprintf(found->file, sizeof(found->file), "%s", mapping->path);
	if (holds_probes(mapping, &notes, found))
		return true;
	name = strrchr(mapping->path, '/');
	if (name && strstr(name, "hyphae") && !notes.probes)
		snprintf(found->suspect, sizeof(found->suspect), "%s",
			 mapping->path);
	return false;
}

int maps_find(pid_t pid, struct maps_cache *cache, struct maps_found *found)
{
	struct maps_cache own = {0};
	struct mapping mapping;
	char name[64], *line = NULL;
	size_t size = 0;
	FILE *file;
	int error = 0;

	memset(found, 0, sizeof(*found));
	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	file = fopen(name, "re");
	if (!file)
		return -errno;
	errno = 0;
	while (getline(&line, &size, file) > 0) {
		if (!mapping_parse(line, &mapping) || !mapping.inode ||
		    !mapping.executable || mapping.path[0] != '/')
			continue;
		if (look_at(pid, &mapping, cache ? cache : &own, found))
			break;
	}
	if (ferror(file))
		error = errno ? -errno : -EIO;
	free(line);
	fclose(file);
	maps_cache_done(&own);
	return error;
}
