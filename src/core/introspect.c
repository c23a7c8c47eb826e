/* SPDX-License-Identifier: MIT */
/*
 * Where a tool finds everything (probes/abi.h), and the word that the kernel
 * raises when a tracer attaches.
 */
#include "core/probe.h"
#include "core/slab.h"
#include "core/watch.h"
#include "probes/abi.h"

/*
 * Kept and hidden, but a symbol that assembly can name: the address of this
 * is stored behind the semaphores.
 */
extern const struct hy_layout hy_layout __attribute__((visibility("hidden")));
__attribute__((used)) const struct hy_layout hy_layout = {
	.magic = HY_LAYOUT_MAGIC,
	.version = HY_ABI_VERSION,
	.bytes = sizeof(struct hy_layout),
	.graphs = (uintptr_t)&hy_graphs,
	.threads = (uintptr_t)&hy_watchers,
	.library = (uintptr_t)HYPHAE_VERSION,

	.graph_next_at = offsetof(struct hy_graph, list_next),
	.graph_id_at = offsetof(struct hy_graph, id),
	.graph_flags_at = offsetof(struct hy_graph, flags),
	.graph_chunks_at = offsetof(struct hy_graph, chunks),
	.graph_cells_at = offsetof(struct hy_graph, ncells),
	.graph_subs_at = offsetof(struct hy_graph, nsubs),

	.chunk_bytes = HY_CHUNK_BYTES,
	.chunk_next_at = offsetof(struct hy_chunk, next),
	.chunk_kind_at = offsetof(struct hy_chunk, kind),
	.chunk_slot_bytes_at = offsetof(struct hy_chunk, slot_bytes),
	.chunk_used_at = offsetof(struct hy_chunk, used),
	.chunk_slots_at = HY_CHUNK_HEADER,

	.cell_id_at = offsetof(struct hy_cell, id),
	.cell_name_at = offsetof(struct hy_cell, name),
	.cell_type_at = offsetof(struct hy_cell, type),
	.cell_targets_at = offsetof(struct hy_cell, targets),
	.cell_height_at = offsetof(struct hy_cell, height),
	.cell_flags_at = offsetof(struct hy_cell, flags),
	.cell_op_at = offsetof(struct hy_derived, op),
	.cell_flag_many = F_NARY,
	.cell_edge_at = offsetof(struct hy_derived, one),
	.cell_fan_in_at = offsetof(struct hy_derived, fan_in),
	.fan_in_count_at = offsetof(struct hy_fan_in, count),
	.fan_in_edges_at = offsetof(struct hy_fan_in, edges),
	.edge_bytes = sizeof(struct hy_edge),
	.edge_input_at = offsetof(struct hy_edge, input),
	.site_before_name =
		sizeof(struct hy_label) - offsetof(struct hy_label, site),
	.cell_flag_dead = F_DEAD,

	.type_name_at = offsetof(struct hyphae_type, name),
	.type_size_at = offsetof(struct hyphae_type, size),
	.op_name_at = offsetof(struct hy_op, name),

	.sub_id_at = offsetof(struct hy_sub, id),
	.sub_cell_at = offsetof(struct hy_sub, cell),
	.sub_fn_at = offsetof(struct hy_sub, fn),

	.thread_next_at = offsetof(struct hy_watcher, next),
	.thread_block_at = offsetof(struct hy_watcher, block),
};

#if HYPHAE_PROBES

/* clang-format off */
/* A probe's own semaphore; only that of `watch` is ever looked at. */
#define PLAIN(name)                                          \
	".globl hyphae_" name "_semaphore\n"                 \
	".hidden hyphae_" name "_semaphore\n"                \
	"hyphae_" name "_semaphore: .2byte 0\n"

#define LABEL(name)                                          \
	".globl hyphae_" name "_semaphore\n"                 \
	".hidden hyphae_" name "_semaphore\n"                \
	"hyphae_" name "_semaphore:\n"

/*
 * In assembly, because their neighbourhood matters (union hy_gate, abi.h) and
 * several probes share one.  The reference to `_.stapsdt.base` keeps linkers
 * that do not know SHF_GNU_RETAIN (gold, lld) from collecting that section,
 * without which tracers would compute wrong addresses.
 */
__asm__(".pushsection .probes, \"aw\", @progbits\n"
	".balign 16\n"
	".globl hy_gate\n"
	".hidden hy_gate\n"
	"hy_gate:\n"
	LABEL("records") "	.2byte 0\n"
	LABEL("pass") LABEL("pass_done") LABEL("fanout_done")
	LABEL("subscriber_done") LABEL("compute_done") LABEL("batch_done")
	LABEL("frame_done")
	"	.2byte 0\n"
	"	.2byte 0\n" /* pass reports */
	"	.2byte 0\n"
	".size hy_gate, 8\n"
	"	.8byte hy_layout\n"
	"	.8byte _.stapsdt.base\n"
	PLAIN("notify") PLAIN("write_value") PLAIN("fanout") PLAIN("compute")
	PLAIN("batch") PLAIN("frame") PLAIN("cell_create") PLAIN("cell_destroy")
	PLAIN("cell_name") PLAIN("error") PLAIN("watch")
	".popsection\n");
/* clang-format on */

#else

union hy_gate hy_gate;
uint16_t hyphae_watch_semaphore;

#endif
