/* SPDX-License-Identifier: MIT */
/* state_transition: a table of what happens from one state to the next. */
#include "hyphae/transition.h"

#include <errno.h>

#include "op/one.h"

struct machine {
	const struct hyphae_machine *table;
	void *ctx;
	const struct hyphae_type *type; /* of the input */
	const struct hyphae_type *out_type;
	uint64_t word; /* the value of the state it is in */
	uint64_t initial;
	bool has, has_initial;
};

/* One step, as the functions of the table see it; without the lock. */
struct step {
	const struct hyphae_machine *table;
	void *ctx;
	const void *from_value, *to_value;
	int64_t from, to;
};

static int64_t state_of(const struct machine *m, const void *value)
{
	return m->table->state_of ? m->table->state_of(value, m->ctx)
				  : *(const int64_t *)value;
}

static bool fits(int64_t pattern, int64_t state)
{
	return pattern == state || pattern == HYPHAE_ANY_STATE;
}

static const struct hyphae_transition *find(const struct step *s)
{
	for (size_t i = 0; i < s->table->transition_count; i++) {
		const struct hyphae_transition *t = &s->table->transitions[i];

		if (fits(t->from, s->from) && fits(t->to, s->to))
			return t;
	}
	return NULL;
}

static void leave(const struct step *s)
{
	for (size_t i = 0; i < s->table->state_count; i++) {
		const struct hyphae_state *state = &s->table->states[i];

		if (fits(state->state, s->from) && state->on_exit)
			state->on_exit(s->from_value, s->ctx);
	}
}

static void enter(const struct step *s)
{
	for (size_t i = 0; i < s->table->state_count; i++) {
		const struct hyphae_state *state = &s->table->states[i];

		if (fits(state->state, s->to) && state->on_enter)
			state->on_enter(s->to_value, s->ctx);
	}
}

/* HY_VALUE and the output was made, HY_KEEP, or a negative errno. */
static int take(const struct step *s, void *out)
{
	const struct hyphae_transition *t = find(s);
	int r;

	if (!t) {
		if (s->from != s->to && s->table->on_invalid)
			s->table->on_invalid(s->from_value, s->to_value,
					     s->ctx);
		return HY_KEEP;
	}
	if (t->guard) {
		r = t->guard(s->from_value, s->to_value, s->ctx);
		if (r <= 0)
			return r ? r : HY_KEEP;
	}
	leave(s);
	r = t->handler ? hy_ran(t->handler(out, s->from_value, s->to_value,
					   s->ctx))
		       : HY_KEEP;
	if (r >= 0)
		enter(s);
	return r;
}

static void forget(struct hy_graph *g, struct hy_derived *d)
{
	struct machine *m = d->ctx;
	bool had = m->has;

	m->has = false;
	if (had)
		hy_word_put(g, m->type, m->word);
}

/* The first value is the state to begin with. */
static int begin(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct machine *m = d->ctx;
	int r;

	m->word = hy_word_ref(m->type, hy_input_word(d, 0));
	m->has = true;
	if (!m->has_initial || d->cell.flags & F_EVENT)
		return hy_nothing(d);
	hy_call_begin(g);
	r = hy_word_copy(g, m->out_type, m->initial, out);
	hy_call_end(g);
	return r;
}

static int run_transition(struct hy_graph *g, struct hy_derived *d, void *out)
{
	struct machine *m = d->ctx;
	struct step s = {.table = m->table, .ctx = m->ctx};
	uint64_t from;
	int r;

	if (!m->has)
		return begin(g, d, out);
	from = m->word;
	m->word = hy_word_ref(m->type, hy_input_word(d, 0));
	s.from_value = hy_word_value(m->type, &from);
	s.to_value = hy_word_value(m->type, &m->word);
	hy_call_begin(g);
	s.from = state_of(m, s.from_value);
	s.to = state_of(m, s.to_value);
	r = take(&s, out);
	hy_call_end(g);
	hy_word_put(g, m->type, from);
	return r == HY_KEEP ? hy_nothing(d) : r;
}

static void free_machine(struct hy_graph *g, struct hy_derived *d)
{
	struct machine *m = d->ctx;

	forget(g, d);
	if (m->has_initial)
		hy_word_put(g, m->out_type, m->initial);
	hy_free(m);
}

static const struct hy_op op_transition = {.name = "state_transition",
					   .run = run_transition,
					   .free = free_machine,
					   .reset = forget,
					   .flags = OP_STREAM};

static int check(const struct hyphae_machine *table,
		 const struct hyphae_type *input)
{
	if (!table || (table->transition_count && !table->transitions) ||
	    (table->state_count && !table->states))
		return -EINVAL;
	return table->state_of || input == &hyphae_int64 ? 0 : -EINVAL;
}

struct hyphae_cell *
hyphae_state_transition_at(struct hyphae_cell *input,
			   const struct hyphae_type *type,
			   const struct hyphae_machine *table,
			   const void *initial, void *ctx, const char *site)
{
	const struct hy_cell *c = hy_cell(input);
	struct hy_order order;
	struct machine *m;
	int error;

	if (!hy_one_begin(&order, &op_transition, &input, site))
		return NULL;
	order.type = type;
	order.ctx = m = hy_one_state(&order, sizeof(*m));
	error = hy_type_check(type);
	if (!error)
		error = check(table, load_relaxed(&c->type));
	if (m && !error) {
		m->table = table;
		m->ctx = ctx;
		m->type = load_relaxed(&c->type);
		m->out_type = type;
	}
	if (m && !error && initial) {
		error = hy_word_make(order.graph, type, initial, NULL,
				     &m->initial);
		m->has_initial = !error;
	}
	return hy_one(&order, error);
}
