// SPDX-License-Identifier: MIT
/* What this process may do; see capability.h. */
#include "bpf/capability.h"

#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>

static uint64_t effective(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long long set = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %llx", &set) == 1)
			break;
	if (file)
		fclose(file);
	return set;
}

static bool has(uint64_t set, int number)
{
	return set >> number & 1;
}

bool capability_ptrace(void)
{
	return has(effective(), CAP_SYS_PTRACE);
}

const char *capability_missing_for_bpf(void)
{
	uint64_t set = effective();
	bool bpf = has(set, CAP_SYS_ADMIN) || has(set, CAP_BPF);
	bool perfmon = has(set, CAP_SYS_ADMIN) || has(set, CAP_PERFMON);

	if (!bpf && !perfmon)
		return "CAP_BPF and CAP_PERFMON";
	return !bpf ? "CAP_BPF" : !perfmon ? "CAP_PERFMON" : NULL;
}
