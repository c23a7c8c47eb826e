/* SPDX-License-Identifier: MIT */
/* Watch a process, interval by interval, until something ends it. */
#ifndef HYPHAE_BPF_LOOP_H
#define HYPHAE_BPF_LOOP_H

#include "bpf/fault.h"
#include "bpf/options.h"

/* 0, or -1 with a fault. */
int loop_run(const struct options *options, struct fault *fault);

#endif
