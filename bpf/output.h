/* SPDX-License-Identifier: MIT */
/*
 * Where reports go: a file, a pipe, a terminal.  One whose reader does not
 * read blocks, but not for ever: once hyphae-top was told to end it waits for
 * OUTPUT_PATIENCE_MS more, then writing fails with EINTR.
 */
#ifndef HYPHAE_BPF_OUTPUT_H
#define HYPHAE_BPF_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#define OUTPUT_PATIENCE_MS 1000

/* `name` NULL: standard output.  NULL with errno set if it cannot be. */
FILE *output_open(const char *name, int *ret_fd);

/* Would a write be taken at once? */
bool output_is_ready(int fd);

/* The columns of the terminal behind it, or as COLUMNS says, or 120. */
int output_columns(int fd);

/* The rows of the terminal behind it; 0: it is none. */
int output_rows(int fd);

#endif
