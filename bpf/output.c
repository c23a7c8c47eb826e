// SPDX-License-Identifier: MIT
/* Where reports go; see output.h. */
#include "bpf/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bpf/interrupt.h"

/* A pipe that polls as ready takes so much without blocking. */
#define PART 4096
#define POLL_MS 100
/* Fits into a mail, a page, a log. */
#define FILE_COLUMNS 120

static bool is_ready(int fd, int ms)
{
	struct pollfd ready = {.fd = fd, .events = POLLOUT};

	return poll(&ready, 1, ms) > 0;
}

bool output_is_ready(int fd)
{
	return is_ready(fd, 0);
}

static ssize_t write_part(int fd, const char *bytes, size_t size)
{
	while (!is_ready(fd, POLL_MS)) {
		if (interrupt_is_due(OUTPUT_PATIENCE_MS)) {
			errno = EINTR;
			return -1;
		}
	}
	return write(fd, bytes, size < PART ? size : PART);
}

/* Like fwrite(): what is missing in the result tells of an error. */
static ssize_t write_all(void *cookie, const char *bytes, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = write_part((int)(intptr_t)cookie, bytes + done,
			       size - done);
		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || (errno != EINTR && errno != EAGAIN) ||
			 interrupt_is_due(OUTPUT_PATIENCE_MS))
			break;
	}
	return (ssize_t)done;
}

static int close_it(void *cookie)
{
	int fd = (int)(intptr_t)cookie;

	return fd == STDOUT_FILENO ? 0 : close(fd);
}

FILE *output_open(const char *name, int *ret_fd)
{
	static const cookie_io_functions_t functions = {.write = write_all,
							.close = close_it};
	FILE *file;
	int fd = STDOUT_FILENO;

	if (name)
		fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return NULL;
	file = fopencookie((void *)(intptr_t)fd, "w", functions);
	if (!file && name)
		close(fd);
	if (file)
		setvbuf(file, NULL, _IOFBF, 1 << 16);
	*ret_fd = fd;
	return file;
}

int output_columns(int fd)
{
	const char *said = getenv("COLUMNS");
	struct winsize size;
	long columns;

	if (!ioctl(fd, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	columns = said ? strtol(said, NULL, 10) : 0;
	return columns > 0 && columns < 10000 ? (int)columns : FILE_COLUMNS;
}

int output_rows(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_row;
}
