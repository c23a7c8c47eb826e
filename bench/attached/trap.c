/* SPDX-License-Identifier: MIT */
/* An empty BPF program on a probe of this process; see watcher.h. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "empty.skel.h"
#include "load.h"
#include "watcher.h"

struct trap {
	struct empty_bpf *bpf;
	struct bpf_link *link;
};

struct trap *trap_open(void)
{
	struct trap *trap = calloc(1, sizeof(*trap));

	if (!trap)
		give_up("cannot find memory", errno);
	trap->bpf = empty_bpf__open_and_load();
	if (!trap->bpf)
		give_up("cannot load a BPF program", errno);
	trap->link = bpf_program__attach_usdt(trap->bpf->progs.nothing,
					      getpid(), "/proc/self/exe",
					      "hyphae", "fanout", NULL);
	if (!trap->link)
		give_up("cannot attach to fanout", errno);
	return trap;
}

void trap_close(struct trap *trap)
{
	bpf_link__destroy(trap->link);
	empty_bpf__destroy(trap->bpf);
	free(trap);
}
