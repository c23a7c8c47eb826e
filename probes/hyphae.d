/*
 * The probes of hyphae.  This file is the definition: one test compares the
 * table in README.md with it, another the notes of the built library.  The
 * library fires them through src/core/probe.h, because `dtrace -G` would cost
 * instructions to prepare arguments.
 *
 * Every argument is 8 bytes wide, a uint32_t 4.  `cell`, `graph`, `subscription`: ids.
 * Durations are nanoseconds of CLOCK_MONOTONIC.  Strings are NUL-terminated
 * and never NULL; "" where there is none.
 * kind: 0 value, 1 complete, 2 error.
 *
 * [plain]    costs its nop.
 * [detail]   stands behind a semaphore shared by all detail probes: while
 *            nobody is attached to one of them they cost nothing at all;
 *            attached to one, a fan-out pays for clocks and counting.
 * [records]  stands behind a semaphore of its own; see abi.h.
 * [watch]    its semaphore is what hyphae_watched() tells.  A tool attaches
 *            to it last: the kernel raises a semaphore a moment before the
 *            tracer's program is in place, and a program that waits to be
 *            watched must not start in that moment.
 *
 * Arguments are only ever appended.
 */
provider hyphae {
	/* [plain] A source cell is told a signal. */
	probe notify(uint64_t cell, uint64_t pass, uint64_t kind, uint32_t targets, string name);
	/* [plain] A value was compared and, if changed, stored. */
	probe write_value(uint64_t cell, uint64_t pass, uint64_t changed, uint64_t size, string name);
	/* [plain] A cell that changed tells its direct targets. */
	probe fanout(uint64_t cell, uint64_t pass, uint64_t height, uint32_t targets, string name, string type);
	/* [detail] It has told them all. */
	probe fanout_done(uint64_t cell, uint64_t pass, uint64_t called, uint64_t duration_ns, string name);
	/* [plain] A derived cell is about to be computed. */
	probe compute(uint64_t cell, uint64_t pass, string op);
	/* [detail] It was; result is 0, or a negative errno, or 1 for a filter that kept its value. */
	probe compute_done(uint64_t cell, uint64_t pass, int64_t result, uint64_t duration_ns);
	/* [detail] A subscriber has returned. */
	probe subscriber_done(uint64_t cell, uint64_t pass, uint64_t subscription, uint64_t duration_ns, uintptr_t function, string name);
	/* [plain] An outermost batch begins. */
	probe batch(uint64_t graph, uint64_t pass);
	/* [detail] It has propagated. coalesced: writes that a later one of the same cell replaced. */
	probe batch_done(uint64_t graph, uint64_t pass, uint64_t writes, uint64_t cells_fired, uint64_t coalesced);
	/* [plain] A frame begins; it shall be done by boundary_ns. */
	probe frame(uint64_t graph, uint64_t number, uint64_t boundary_ns);
	/* [detail] It has propagated, distance_ns after its boundary (below 0: before it). */
	probe frame_done(uint64_t graph, uint64_t number, uint64_t cells_fired, int64_t distance_ns);
	/* [detail] A pass begins; graph is 0 for one opened by hyphae_pass_begin(). */
	probe pass(uint64_t graph, uint64_t pass);
	/* [detail] It is over. */
	probe pass_done(uint64_t graph, uint64_t pass, uint64_t fires, uint64_t refires);
	/* [plain] A cell was made. op: "source", "map", ... bytes: what the cell occupies, without names. */
	probe cell_create(uint64_t cell, string op, uint64_t bytes, string type, string site, string name);
	/* [plain] A cell was released. */
	probe cell_destroy(uint64_t cell, string op, uint64_t bytes, string type, string site, string name);
	/* [plain] A cell got a name. */
	probe cell_name(uint64_t cell, string name);
	/* [plain] A stream error arose at a cell, or a problem was reported. */
	probe error(uint64_t cell, int64_t code, string message, string name);
	/* [watch] hyphae_watched() was called and is about to return watched; has a semaphore of its own. */
	probe watch(uint64_t watched);
	/* [records] A thread's block of records is full or old. block: struct hy_block, count: its records. */
	probe records(uint64_t thread, uintptr_t block, uint64_t count);
}
