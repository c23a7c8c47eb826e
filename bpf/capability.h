/* SPDX-License-Identifier: MIT */
/* What this process may do.  Asked by capability, not by user. */
#ifndef HYPHAE_BPF_CAPABILITY_H
#define HYPHAE_BPF_CAPABILITY_H

#include <stdbool.h>

/* May it look into the processes of other users (CAP_SYS_PTRACE)? */
bool capability_ptrace(void);

/*
 * Which of the capabilities that BPF needs are missing, as text for people
 * ("CAP_BPF and CAP_PERFMON"), or NULL.
 */
const char *capability_missing_for_bpf(void);

#endif
