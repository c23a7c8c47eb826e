/* SPDX-License-Identifier: MIT */
/*
 * Being told to end: SIGINT, SIGTERM and SIGHUP.  Whatever may take long asks
 * from time to time, so that no process that is looked at, and no reader of
 * the output, can keep hyphae-top from ending.
 */
#ifndef HYPHAE_BPF_INTERRUPT_H
#define HYPHAE_BPF_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

/* From now on these signals are noted instead of ending the process. */
void interrupt_open(void);

bool interrupt_came(void);

/* Did one come at least that long ago?  In milliseconds. */
bool interrupt_is_due(unsigned int ms);

/* CLOCK_MONOTONIC. */
uint64_t interrupt_clock_ns(void);

#endif
