/* SPDX-License-Identifier: MIT */
/* What the files share that make steps; see model_streams.h. */
#ifndef HYPHAE_TESTS_UNIT_MODEL_STREAMS_RUN_H
#define HYPHAE_TESTS_UNIT_MODEL_STREAMS_RUN_H

#include "model_streams.h"

/* Chance: 0 to sides - 1; `from` to `to`. */
uint64_t ms_roll(uint64_t sides);
int ms_between(int from, int to);

/* False: there is no source. */
bool ms_choose_write(struct ms_write *write);
void ms_say_write(const struct ms_write *write);
/* In the library: what that returns, but for HYPHAE_UNCHANGED 0. */
int ms_real_write(const struct ms_write *write);

/* A step that has to do with time; false: the sides differ. */
bool ms_move(void);
uint64_t ms_start_time(void);
bool ms_open_time(void);
bool ms_stop_timers(void);

#endif
