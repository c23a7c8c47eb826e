/* SPDX-License-Identifier: MIT */
/* Why it did not work: an exit status and a sentence for the user. */
#ifndef HYPHAE_BPF_FAULT_H
#define HYPHAE_BPF_FAULT_H

enum exit_status {
	EXIT_OK = 0,
	EXIT_USAGE = 1,	     /* an option or argument that cannot be */
	EXIT_NO_PROCESS = 2, /* no such process, or it ended before */
	EXIT_NO_PROBES = 3,  /* the process carries no probes of hyphae */
	EXIT_PRIVILEGE = 4,  /* a capability is missing */
	EXIT_KERNEL = 5,     /* BPF or another kernel facility refused */
	EXIT_OUTPUT = 6,     /* the output cannot be written */
	EXIT_LOSS = 7,	     /* --fail-on-loss, and something was lost */
};

struct fault {
	enum exit_status status;
	char text[1024];
};

/* Fill in and return -1, so that callers can write `return fault_set(...)`. */
int fault_set(struct fault *fault, enum exit_status status, const char *format,
	      ...) __attribute__((format(printf, 3, 4)));

#endif
