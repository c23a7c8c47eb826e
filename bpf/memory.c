// SPDX-License-Identifier: MIT
/* Reading the memory of another process; see memory.h. */
#include "bpf/memory.h"

#include <string.h>
#include <sys/uio.h>

#define MOST_AT_ONCE 512 /* the kernel takes up to 1,024 */

/*
 * One call for as many pieces as it takes.  The kernel stops at the first
 * piece it cannot read; that one is left out and it goes on behind it.
 */
static void read_process(const struct memory *memory, struct piece *pieces,
			 size_t n)
{
	struct iovec to[MOST_AT_ONCE], from[MOST_AT_ONCE];
	size_t i, count;
	ssize_t got;

	for (i = 0; i < n; i++)
		pieces[i].ok = false;
	while (n) {
		count = n < MOST_AT_ONCE ? n : MOST_AT_ONCE;
		for (i = 0; i < count; i++) {
			to[i].iov_base = pieces[i].to;
			from[i].iov_base = (void *)(uintptr_t)pieces[i].address;
			to[i].iov_len = from[i].iov_len = pieces[i].size;
		}
		got = process_vm_readv(memory->pid, to, count, from, count, 0);
		for (i = 0; i < count && got >= (ssize_t)pieces[i].size; i++) {
			got -= (ssize_t)pieces[i].size;
			pieces[i].ok = true;
		}
		if (i < count)
			i++;
		pieces += i;
		n -= i;
	}
}

struct memory memory_of_process(pid_t pid)
{
	return (struct memory){.read = read_process, .pid = pid};
}

bool memory_read(const struct memory *memory, uint64_t address, void *to,
		 size_t size)
{
	struct piece piece = {.address = address, .to = to, .size = size};

	memory->read(memory, &piece, 1);
	return piece.ok;
}

int memory_text(const struct memory *memory, uint64_t address, char *to,
		size_t size)
{
	size_t have = 0, part;
	char *nul;

	while (have < size - 1) {
		part = MEMORY_PAGE - (address + have) % MEMORY_PAGE;
		if (part > size - 1 - have)
			part = size - 1 - have;
		if (!memory_read(memory, address + have, to + have, part))
			return -1;
		nul = memchr(to + have, 0, part);
		if (nul)
			return (int)(nul - to);
		have += part;
	}
	to[have] = '\0';
	return (int)have;
}
