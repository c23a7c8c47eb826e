/* SPDX-License-Identifier: MIT */
/* Reading /proc; see proc.h. */
#include "proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR_BYTES 512

/* ---- files and lists ------------------------------------------------- */

static int grow_text(struct proc_snapshot *snapshot)
{
	size_t room = snapshot->text_room ? snapshot->text_room * 2 : 16384;
	char *text = realloc(snapshot->text, room);

	if (!text)
		return -ENOMEM;
	snapshot->text = text;
	snapshot->text_room = room;
	return 0;
}

/*
 * Read a whole file into snapshot->text.  A file that cannot be read, or
 * ends in the middle of it because the process is gone, is an empty one.
 */
static int read_text(struct proc_snapshot *snapshot, const char *path)
{
	size_t length = 0;
	ssize_t got = 1;
	int file, err = 0;

	if (!snapshot->text && grow_text(snapshot))
		return -ENOMEM;
	file = open(path, O_RDONLY | O_CLOEXEC);
	while (file >= 0 && got > 0 && !err) {
		got = read(file, snapshot->text + length,
			   snapshot->text_room - length - 1);
		if (got > 0)
			length += (size_t)got;
		else if (got < 0)
			length = 0;
		if (length == snapshot->text_room - 1)
			err = grow_text(snapshot);
	}
	if (file >= 0)
		close(file);
	snapshot->text[length] = '\0';
	return err;
}

/* A new entry at the end of a list, all zero; NULL without memory. */
static struct proc_entry *add_entry(struct proc_list *list)
{
	struct proc_entry *entry;

	if (list->count == list->room) {
		size_t room = list->room ? list->room * 2 : 64;

		entry = reallocarray(list->entries, room, sizeof(*entry));
		if (!entry)
			return NULL;
		list->entries = entry;
		list->room = room;
	}
	entry = &list->entries[list->count++];
	/* The padding too: the library compares structs byte by byte. */
	memset(entry, 0, sizeof(*entry));
	return entry;
}

/*
 * Copy at most size - 1 bytes.  A name may hold any byte; what is not plain
 * ASCII would break the screen and is no valid name for a cell.
 */
static void copy_name(char *to, size_t size, const char *from, size_t length)
{
	size_t i;

	for (i = 0; i < length && i < size - 1; i++)
		to[i] = from[i] > ' ' && from[i] < 127 ? from[i] : '?';
	to[i] = '\0';
}

/* The next line of the text, cut off at its end; NULL after the last. */
static char *next_line(char **rest)
{
	return strsep(rest, "\n");
}

/* ---- one function a file --------------------------------------------- */

static int read_cpus(struct proc_snapshot *snapshot)
{
	struct proc_list *list = &snapshot->lists[PROC_CPU];
	int64_t t[8];
	char *rest, *line;
	int err, skip;

	err = read_text(snapshot, "/proc/stat");
	if (err)
		return err;
	rest = snapshot->text;
	while ((line = next_line(&rest))) {
		struct proc_entry *cpu;

		/* "cpu0 ..."; the line "cpu ..." is the sum of all. */
		if (strncmp(line, "cpu", 3) ||
		    !isdigit((unsigned char)line[3]) ||
		    sscanf(line,
			   "cpu%*u%n %" SCNd64 " %" SCNd64 " %" SCNd64
			   " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
			   " %" SCNd64,
			   &skip, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5],
			   &t[6], &t[7]) != 8)
			continue;
		cpu = add_entry(list);
		if (!cpu)
			return -ENOMEM;
		copy_name(cpu->name, sizeof(cpu->name), line + 3,
			  (size_t)skip - 3);
		cpu->cpu.user = t[0] + t[1];
		cpu->cpu.system = t[2] + t[5] + t[6] + t[7];
		cpu->cpu.idle = t[3] + t[4];
	}
	return 0;
}

static int read_memory(struct proc_snapshot *snapshot)
{
	struct memory *memory = &snapshot->memory;
	const struct {
		const char *label;
		int64_t *value;
	} fields[] = {
		{"MemTotal:", &memory->total},
		{"MemAvailable:", &memory->available},
		{"Cached:", &memory->cached},
		{"SwapTotal:", &memory->swap_total},
		{"SwapFree:", &memory->swap_free},
	};
	char *rest, *line;
	size_t i;
	int err;

	err = read_text(snapshot, "/proc/meminfo");
	if (err)
		return err;
	rest = snapshot->text;
	while ((line = next_line(&rest))) {
		for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
			size_t length = strlen(fields[i].label);

			if (!strncmp(line, fields[i].label, length))
				*fields[i].value = atoll(line + length);
		}
	}
	return 0;
}

/* "NAME: count count ... words", a count for each processor. */
static int read_interrupts(struct proc_snapshot *snapshot, const char *path,
			   enum proc_kind kind)
{
	struct proc_list *list = &snapshot->lists[kind];
	char *rest, *line;
	int err;

	err = read_text(snapshot, path);
	if (err)
		return err;
	rest = snapshot->text;
	next_line(&rest); /* the heading */
	while ((line = next_line(&rest))) {
		char *colon = strchr(line, ':');
		char *at, *end;
		struct proc_entry *entry;

		if (!colon)
			continue;
		entry = add_entry(list);
		if (!entry)
			return -ENOMEM;
		line += strspn(line, " ");
		copy_name(entry->name, sizeof(entry->name), line,
			  (size_t)(colon - line));
		for (at = colon + 1;; at = end) {
			int64_t count = strtoll(at, &end, 10);

			/* A word such as "2-edge" is no count. */
			if (end == at || !strchr(" \n", *end))
				break;
			entry->count += count;
		}
	}
	return 0;
}

static int read_disks(struct proc_snapshot *snapshot)
{
	struct proc_list *list = &snapshot->lists[PROC_DISK];
	char *rest, *line;
	int err;

	err = read_text(snapshot, "/proc/diskstats");
	if (err)
		return err;
	rest = snapshot->text;
	while ((line = next_line(&rest))) {
		char name[PROC_NAME_MAX];
		int64_t in, out;
		struct proc_entry *disk;

		/* Devices that never did anything are mostly loop devices. */
		if (sscanf(line,
			   "%*u %*u %31s %*u %*u %" SCNd64
			   " %*u %*u %*u %" SCNd64,
			   name, &in, &out) != 3 ||
		    (!in && !out))
			continue;
		disk = add_entry(list);
		if (!disk)
			return -ENOMEM;
		copy_name(disk->name, sizeof(disk->name), name, strlen(name));
		disk->traffic.in = in * SECTOR_BYTES;
		disk->traffic.out = out * SECTOR_BYTES;
	}
	return 0;
}

static int read_networks(struct proc_snapshot *snapshot)
{
	struct proc_list *list = &snapshot->lists[PROC_NETWORK];
	char *rest, *line;
	int err;

	err = read_text(snapshot, "/proc/net/dev");
	if (err)
		return err;
	rest = snapshot->text;
	while ((line = next_line(&rest))) {
		char name[PROC_NAME_MAX];
		int64_t in, out;
		struct proc_entry *network;

		if (sscanf(line,
			   " %31[^: ]: %" SCNd64
			   " %*u %*u %*u %*u %*u %*u %*u %" SCNd64,
			   name, &in, &out) != 3)
			continue;
		network = add_entry(list);
		if (!network)
			return -ENOMEM;
		copy_name(network->name, sizeof(network->name), name,
			  strlen(name));
		network->traffic.in = in;
		network->traffic.out = out;
	}
	return 0;
}

/*
 * "pid (name) state ..."; the name may hold spaces and parentheses, so the
 * last one ends it.
 */
static int read_process(struct proc_snapshot *snapshot, const char *pid)
{
	struct proc_list *list = &snapshot->lists[PROC_PROCESS];
	struct proc_entry *entry;
	int64_t user, system, pages;
	uint64_t start;
	char path[64], *open_at, *close_at;
	int err;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	err = read_text(snapshot, path);
	if (err)
		return err;
	open_at = strchr(snapshot->text, '(');
	close_at = strrchr(snapshot->text, ')');
	if (!open_at || !close_at ||
	    sscanf(close_at + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u"
		   " %" SCNd64 " %" SCNd64 " %*d %*d %*d %*d %*d %*d"
		   " %" SCNu64 " %*u %" SCNd64,
		   &user, &system, &start, &pages) != 4)
		return 0; /* it has just ended */
	entry = add_entry(list);
	if (!entry)
		return -ENOMEM;
	copy_name(entry->name, sizeof(entry->name), pid, strlen(pid));
	entry->serial = start;
	copy_name(entry->process.name, sizeof(entry->process.name), open_at + 1,
		  (size_t)(close_at - open_at - 1));
	entry->process.pid = atoll(pid);
	entry->process.ticks = user + system;
	entry->process.resident_kib = pages * (sysconf(_SC_PAGESIZE) / 1024);
	return 0;
}

static int read_processes(struct proc_snapshot *snapshot)
{
	DIR *folder = opendir("/proc");
	struct dirent *file;
	int err = 0;

	while (folder && !err && (file = readdir(folder)))
		if (isdigit((unsigned char)file->d_name[0]))
			err = read_process(snapshot, file->d_name);
	if (folder)
		closedir(folder);
	return err;
}

int proc_read(struct proc_snapshot *snapshot)
{
	size_t i;
	int err;

	for (i = 0; i < PROC_KINDS; i++)
		snapshot->lists[i].count = 0;
	err = read_cpus(snapshot);
	if (!err)
		err = read_memory(snapshot);
	if (!err)
		err = read_interrupts(snapshot, "/proc/interrupts",
				      PROC_INTERRUPT);
	if (!err)
		err = read_interrupts(snapshot, "/proc/softirqs", PROC_SOFTIRQ);
	if (!err)
		err = read_disks(snapshot);
	if (!err)
		err = read_networks(snapshot);
	if (!err)
		err = read_processes(snapshot);
	return err;
}

void proc_free(struct proc_snapshot *snapshot)
{
	size_t i;

	for (i = 0; i < PROC_KINDS; i++)
		free(snapshot->lists[i].entries);
	free(snapshot->text);
	memset(snapshot, 0, sizeof(*snapshot));
}
