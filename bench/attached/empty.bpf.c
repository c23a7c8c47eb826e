// SPDX-License-Identifier: MIT
/* The least that can be attached to a probe. */
#include <stdbool.h>

#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("usdt")
int nothing(struct pt_regs *ctx)
{
	(void)ctx;
	return 0;
}
