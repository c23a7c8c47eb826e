/* SPDX-License-Identifier: MIT */
/*
 * The probe sites as functions.  probes/hyphae.d defines them; a test reads
 * the built library and compares.
 *
 * Each is used once, in a function marked HY_FRAME, so that it has one site.
 * The operands are written out: a field is "offset(%base)" of a pointer that
 * a register holds anyway, anything else a register or a constant.  So no
 * instruction is spent on an argument, and every tracer can parse it (no
 * %rip, no %fs, no index register).
 *
 * The site itself is systemtap's one-byte nop.  It must never become a
 * five-byte nop: Linux 6.18 rewrites that into a call, which overwrites the
 * red zone of leaf functions and kills forked children.
 */
#ifndef HY_PROBE_H
#define HY_PROBE_H

#include "core/types.h"

#ifndef HYPHAE_PROBES
#define HYPHAE_PROBES 1
#endif

/*
 * The word that says whether somebody looks.  The kernel counts tracers in
 * the first two; the third is ours.  One load tells all (abi.h).
 */
union hy_gate {
	uint64_t any;
	struct {
		uint16_t records, detail, reports, reserved;
	};
};
extern union hy_gate hy_gate __attribute__((visibility("hidden")));

/* The semaphore of `watch`: not part of the gate, it changes nothing. */
extern uint16_t hyphae_watch_semaphore __attribute__((visibility("hidden")));

/* A plain load is compared in place, which an atomic one is not. */
#ifdef __SANITIZE_THREAD__
#define hy_watched() unlikely(load_relaxed(&hy_gate.any))
#else
#define hy_watched() unlikely(hy_gate.any)
#endif

#if HYPHAE_PROBES

#define _SDT_HAS_SEMAPHORES 1
#define SDT_USE_VARIADIC
#include <sys/sdt.h>

/* The operands are text for the assembler, not C. */
/* clang-format off */
#if defined(__x86_64__)
#define FIELD(base, at) 8@%c[at](%[base])
#define FIELD_4(base, at) 4@%c[at](%[base])
#elif defined(__aarch64__)
#define FIELD(base, at) 8@[%[base], %c[at]]
#define FIELD_4(base, at) 4@[%[base], %c[at]]
#else
#error "write down the memory operand of this machine, or build with HYPHAE_PROBES=0"
#endif

#define AT(type, member) "i"(offsetof(struct type, member))

/*
 * The name behind the code of the function: never executed, but linkers that
 * fold identical functions (--icf=all) then see two different ones.
 */
#define SITE(probe, ...)                                            \
	".subsection 1\n\t.asciz \"" #probe "\"\n\t.subsection 0\n" \
	STAP_PROBE_ASM(hyphae, probe, __VA_ARGS__)

/* The places of the fields that most probes tell. */
#define CELL(cell_) \
	[c] "r"(cell_), [id] AT(hy_cell, id), [name] AT(hy_cell, name)
#define PASS(graph_) [g] "r"(graph_), [pass] AT(hy_graph, pass)

#define hy_probe_notify(g_, c_, kind_)                                         \
	__asm__ volatile(SITE(notify, FIELD(c, id) FIELD(g, pass) 8@%[kind]    \
			      FIELD_4(c, targets) FIELD(c, name))              \
			 :                                                     \
			 : CELL(c_), PASS(g_), [kind] "nr"((uint64_t)(kind_)), \
			   [targets] AT(hy_cell, targets))

#define hy_probe_write_value(g_, c_, type_, changed_)                         \
	__asm__ volatile(SITE(write_value, FIELD(c, id) FIELD(g, pass)        \
			      8@%[changed] FIELD(t, size) FIELD(c, name))     \
			 :                                                    \
			 : CELL(c_), PASS(g_), [t] "r"(type_),                \
			   [size] AT(hyphae_type, size),                      \
			   [changed] "nr"((uint64_t)(changed_)))

#define hy_probe_fanout(g_, c_, type_, height_)                               \
	__asm__ volatile(SITE(fanout, FIELD(c, id) FIELD(g, pass) 8@%[height] \
			      FIELD_4(c, targets) FIELD(c, name)              \
			      FIELD(t, tname))                                \
			 :                                                    \
			 : CELL(c_), PASS(g_), [t] "r"(type_),                \
			   [tname] AT(hyphae_type, name),                     \
			   [targets] AT(hy_cell, targets),                    \
			   [height] "nr"((uint64_t)(height_)))

#define hy_probe_fanout_done(g_, c_, called_, ns_)                             \
	__asm__ volatile(SITE(fanout_done, FIELD(c, id) FIELD(g, pass)         \
			      8@%[called] 8@%[ns] FIELD(c, name))              \
			 :                                                     \
			 : CELL(c_), PASS(g_), [called] "nr"((uint64_t)(called_)),\
			   [ns] "nr"((uint64_t)(ns_)))

#define hy_probe_compute(g_, c_, op_)                                         \
	__asm__ volatile(SITE(compute, FIELD(c, id) FIELD(g, pass)            \
			      FIELD(o, oname))                                \
			 :                                                    \
			 : [c] "r"(c_), [id] AT(hy_cell, id), PASS(g_),       \
			   [o] "r"(op_), [oname] AT(hy_op, name))

#define hy_probe_compute_done(g_, c_, result_, ns_)                            \
	__asm__ volatile(SITE(compute_done, FIELD(c, id) FIELD(g, pass)        \
			      -8@%[result] 8@%[ns])                            \
			 :                                                     \
			 : [c] "r"(c_), [id] AT(hy_cell, id), PASS(g_),        \
			   [result] "nr"((int64_t)(result_)),                  \
			   [ns] "nr"((uint64_t)(ns_)))

#define hy_probe_subscriber_done(g_, c_, id_, ns_, fn_)                        \
	__asm__ volatile(SITE(subscriber_done, FIELD(c, id) FIELD(g, pass)     \
			      8@%[sub] 8@%[ns] 8@%[fn] FIELD(c, name))         \
			 :                                                     \
			 : CELL(c_), PASS(g_), [sub] "nr"((uint64_t)(id_)),    \
			   [ns] "nr"((uint64_t)(ns_)),                         \
			   [fn] "nr"((uint64_t)(uintptr_t)(fn_)))

/* The others are off the hot path: plain arguments in registers. */
#define ARG(x) (uint64_t)(x)
#define TEXT(x) (uint64_t)(uintptr_t)(x)
#define IN(n, x) [a##n] "nr"(x)

#define hy_probe_watch(watched) \
	__asm__ volatile(SITE(watch, 8@%[a1]) : : IN(1, ARG(watched)))
#define hy_probe_2(name, a, b) \
	__asm__ volatile(SITE(name, 8@%[a1] 8@%[a2]) : : IN(1, a), IN(2, b))
#define hy_probe_3(name, a, b, c)                                \
	__asm__ volatile(SITE(name, 8@%[a1] 8@%[a2] 8@%[a3]) : : \
			 IN(1, a), IN(2, b), IN(3, c))
#define hy_probe_4(name, a, b, c, d)                                       \
	__asm__ volatile(SITE(name, 8@%[a1] 8@%[a2] 8@%[a3] 8@%[a4]) : :   \
			 IN(1, a), IN(2, b), IN(3, c), IN(4, d))
#define hy_probe_5(name, a, b, c, d, e)                                        \
	__asm__ volatile(SITE(name, 8@%[a1] 8@%[a2] 8@%[a3] 8@%[a4] 8@%[a5]) : :\
			 IN(1, a), IN(2, b), IN(3, c), IN(4, d), IN(5, e))
#define hy_probe_6(name, a, b, c, d, e, f)                               \
	__asm__ volatile(SITE(name, 8@%[a1] 8@%[a2] 8@%[a3] 8@%[a4]      \
			      8@%[a5] 8@%[a6]) : :                       \
			 IN(1, a), IN(2, b), IN(3, c), IN(4, d), IN(5, e),\
			 IN(6, f))

#define hy_probe_batch(graph, pass) hy_probe_2(batch, ARG(graph), ARG(pass))
#define hy_probe_batch_done(graph, pass, writes, fired, coalesced)    \
	hy_probe_5(batch_done, ARG(graph), ARG(pass), ARG(writes),    \
		   ARG(fired), ARG(coalesced))
#define hy_probe_frame(graph, number, boundary) \
	hy_probe_3(frame, ARG(graph), ARG(number), ARG(boundary))
/* distance is signed, as code below. */
#define hy_probe_frame_done(graph, number, fired, distance)                  \
	__asm__ volatile(SITE(frame_done, 8@%[a1] 8@%[a2] 8@%[a3] -8@%[a4])  \
			 : : IN(1, ARG(graph)), IN(2, ARG(number)),          \
			 IN(3, ARG(fired)), IN(4, (int64_t)(distance)))
#define hy_probe_pass(graph, pass) hy_probe_2(pass, ARG(graph), ARG(pass))
#define hy_probe_pass_done(graph, pass, fires, refires) \
	hy_probe_4(pass_done, ARG(graph), ARG(pass), ARG(fires), ARG(refires))
/* `text` is the name, in front of which lies the site. */
#define hy_probe_of_cell(probe, c_, op_, bytes_, t_, text_)                    \
	__asm__ volatile(SITE(probe, FIELD(c, id) 8@%[op] 8@%[bytes]           \
			      FIELD(t, tname) FIELD(text, site)                \
			      FIELD(c, name))                                  \
			 :                                                     \
			 : CELL(c_), [op] "r"(op_),                            \
			   [bytes] "nr"((uint64_t)(bytes_)), [t] "r"(t_),      \
			   [tname] AT(hyphae_type, name), [text] "r"(text_),   \
			   [site] "i"((long)offsetof(struct hy_label, site) -  \
				      (long)sizeof(struct hy_label)))
#define hy_probe_cell_create(...) hy_probe_of_cell(cell_create, __VA_ARGS__)
#define hy_probe_cell_destroy(...) hy_probe_of_cell(cell_destroy, __VA_ARGS__)
#define hy_probe_cell_name(cell, name) \
	hy_probe_2(cell_name, ARG(cell), TEXT(name))
/* code is signed. */
#define hy_probe_error(cell, code, message, name)                            \
	__asm__ volatile(SITE(error, 8@%[a1] -8@%[a2] 8@%[a3] 8@%[a4]) : :   \
			 IN(1, ARG(cell)), IN(2, (int64_t)(code)),           \
			 IN(3, TEXT(message)), IN(4, TEXT(name)))
#define hy_probe_records(thread, block, count) \
	hy_probe_3(records, ARG(thread), TEXT(block), ARG(count))

/* clang-format on */

#else

/* Nothing, but the arguments count as used. */
static inline void hy_no_probe(int first, ...)
{
	(void)first;
}
#define NO_PROBE(...) ((void)sizeof((hy_no_probe(0, __VA_ARGS__), 0)))
/*
 * The four of the hot path keep the frame that they promise to profilers, so
 * that the two builds differ by the nops.
 */
#define HOT(a, b, c, d)                                                        \
	__asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "nr"((uint64_t)(d)))
#define hy_probe_notify(g, c, kind) HOT(g, c, c, kind)
#define hy_probe_write_value(g, c, type, changed) HOT(g, c, type, changed)
#define hy_probe_fanout(g, c, type, height) HOT(g, c, type, height)
#define hy_probe_compute(g, c, op) HOT(g, c, op, 0)
#define hy_probe_fanout_done(...) NO_PROBE(__VA_ARGS__)
#define hy_probe_compute_done(...) NO_PROBE(__VA_ARGS__)
#define hy_probe_subscriber_done(...) NO_PROBE(__VA_ARGS__)
#define hy_probe_batch(...) NO_PROBE(__VA_ARGS__)
#define hy_probe_batch_done(...) NO_PROBE(__VA_ARGS__)
#define hy_probe_frame(...) NO_PROBE(__VA_ARGS__)
#define hy_probe_frame_done(...) NO_PROBE(__VA_ARGS__)
#define hy_probe_pass(...) NO_PROBE(__VA_ARGS__)
#define hy_probe_pass_done(...) NO_PROBE(__VA_ARGS__)
#define hy_probe_cell_create(...) NO_PROBE(__VA_ARGS__)
#define hy_probe_cell_destroy(...) NO_PROBE(__VA_ARGS__)
#define hy_probe_cell_name(...) NO_PROBE(__VA_ARGS__)
#define hy_probe_error(...) NO_PROBE(__VA_ARGS__)
#define hy_probe_watch(...) NO_PROBE(__VA_ARGS__)
#define hy_probe_records(...) NO_PROBE(__VA_ARGS__)

#endif

#endif
