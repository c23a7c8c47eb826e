/* SPDX-License-Identifier: MIT */
/* How much memory cells and subscriptions take. */
#ifndef BENCH_SPEED_BYTES_H
#define BENCH_SPEED_BYTES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes `count` sources, derived cells and subscriptions in a child, whose
 * memory nobody else has used, and tells what its resident memory grew by.
 */
void speed_tell_bytes(size_t count, bool json);

#endif
