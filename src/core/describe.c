/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <hyphae/describe.h>

#include "core/label.h"
#include "core/node.h"
#include "core/portrait.h"
#include "core/utf8.h"
#include "core/value.h"

/* ---- see ----------------------------------------------------------------- */

/* Of text that was cut, not half a character. */
static size_t whole_characters(const char *text, size_t length)
{
	size_t at = length;

	while (at > 0 && length - at < 3 && (text[at - 1] & 0xc0) == 0x80)
		at--;
	if (at > 0 && text[at - 1] & 0x80 &&
	    !hy_utf8_character((const unsigned char *)text + at - 1,
			       length - at + 1))
		return at - 1;
	return length;
}

/* `length` is that of the whole; as much as has room lies in p->state. */
static void state_is(struct hy_portrait *p, size_t length)
{
	p->cut = length >= sizeof(p->state);
	p->state_length =
		p->cut ? whole_characters(p->state, sizeof(p->state) - 1)
		       : length;
}

/* The value as text; the lock is let go of. */
static void print_value(struct hy_graph *g, const struct hyphae_type *type,
			uint64_t word, struct hy_portrait *p)
{
	bool boxed = hy_type_boxed(type);
	const void *value = boxed ? hy_box_of(word)->payload : (void *)&word;
	struct hy_unlocked saved;
	int length;

	if (boxed)
		hy_box_ref(hy_box_of(word));
	hy_unlock(g);
	saved = hy_unlocked_begin(g);
	if (type->print)
		length = type->print(value, p->state, sizeof(p->state));
	else
		length = snprintf(p->state, sizeof(p->state), "(%zu byte%s)",
				  type->size, type->size == 1 ? "" : "s");
	hy_unlocked_end(g, saved);
	hy_lock(g);
	if (boxed)
		hy_box_put(g, type, hy_box_of(word));
	state_is(p, length > 0 ? (size_t)length : 0);
}

static void portray(struct hy_graph *g, struct hy_cell *c, bool value,
		    struct hy_portrait *p)
{

	*p = (struct hy_portrait){
		.id = c->id,
		.flags = c->flags,
		.height = c->height,
		.inputs =
			c->flags & F_DERIVED ? hy_inputs(hy_derived_of(c)) : 0,
		.targets = c->targets,
		.op = hy_op_name(c),
		.type = c->type->name,
		.site = hy_site_of(c),
		.name_length = strlen(c->name),
		.quiet = !value,
	};
	memcpy(p->name, c->name, p->name_length);
	if (c->flags & F_ERROR) {
		const struct hy_error *error = hy_error_of(c);
		size_t length = strlen(error->message);

		p->code = error->code;
		strncpy(p->state, error->message, sizeof(p->state) - 1);
		state_is(p, length);
	} else if (value && !(c->flags & F_NONE)) {
		print_value(g, c->type, c->word, p);
	}
}

int hy_portray(const struct hyphae_cell *handle, bool value,
	       struct hy_portrait *ret)
{
	int r;
	struct hy_cell *c = hy_cell_lock(handle, &r);
	struct hy_graph *g;

	if (!c)
		return r;
	g = hy_graph_of(c);
	portray(g, c, value, ret);
	hy_unlock(g);
	return 0;
}

/* ---- tell ------------------------------------------------------------------ */

static void add_state(const struct hy_portrait *p, struct hy_text *text,
		      enum hy_quoting quoting)
{
	hy_text_quote(text, p->state, p->state_length, quoting);
	if (p->cut)
		hy_text_add(text, "...");
}

/* Of a cell that holds no error; did it say anything? */
static bool add_value(const struct hy_portrait *p, struct hy_text *text,
		      enum hy_quoting quoting)
{
	bool event = p->flags & F_EVENT, none = p->flags & F_NONE;

	if (event)
		hy_text_add(text, "event");
	else if (none)
		hy_text_add(text, "no value");
	if (none || p->quiet)
		return event || none;
	hy_text_add(text, event ? ", last " : "value ");
	add_state(p, text, quoting);
	return true;
}

void hy_portray_state(const struct hy_portrait *p, struct hy_text *text,
		      enum hy_quoting quoting)
{
	const char *quote = quoting == HY_QUOTE_DOT ? "\\\"" : "\"";
	bool said = true;

	if (p->flags & F_ERROR) {
		hy_text_add(text, "%s %d",
			    p->flags & F_FAILED ? "failed" : "error", p->code);
		if (p->state_length) {
			hy_text_add(text, " %s", quote);
			add_state(p, text, quoting);
			hy_text_add(text, "%s", quote);
		}
	} else {
		said = add_value(p, text, quoting);
	}
	if (p->flags & F_COMPLETE)
		hy_text_add(text, said ? ", completed" : "completed");
}

/* As snprintf() does it. */
struct buffer {
	struct hy_text text;
	char *at;
	size_t size, length;
};

static void put(struct hy_text *text, const char *bytes, size_t count)
{
	struct buffer *buffer = container_of(text, struct buffer, text);
	size_t room = 0;

	if (buffer->size && buffer->length < buffer->size - 1)
		room = buffer->size - 1 - buffer->length;
	if (room)
		memcpy(buffer->at + buffer->length, bytes,
		       count < room ? count : room);
	buffer->length += count;
}

static void add_count(struct hy_text *text, size_t count, const char *what)
{
	hy_text_add(text, ", %zu %s%s", count, what, count == 1 ? "" : "s");
}

int hyphae_describe(const struct hyphae_cell *cell, char *text, size_t size)
{
	struct buffer buffer = {{put}, text, size, 0};
	struct hy_text *out = &buffer.text;
	struct hy_portrait p;
	int r;

	if (!text && size)
		return -EINVAL;
	r = hy_portray(cell, true, &p);
	if (r)
		return r;
	hy_text_add(out, "#%llu", (unsigned long long)p.id);
	if (p.name_length) {
		hy_text_add(out, " \"");
		hy_text_quote(out, p.name, p.name_length, HY_QUOTE_C);
		hy_text_add(out, "\"");
	}
	hy_text_add(out, " %s ", p.op);
	hy_text_quote(out, p.type, strlen(p.type), HY_QUOTE_C);
	hy_text_add(out, ", height %u", p.height);
	add_count(out, p.inputs, "input");
	add_count(out, p.targets, "target");
	hy_text_add(out, ", ");
	hy_portray_state(&p, out, HY_QUOTE_C);
	if (*p.site) {
		hy_text_add(out, ", at ");
		hy_text_quote(out, p.site, strlen(p.site), HY_QUOTE_C);
	}
	if (size)
		text[buffer.length < size ? buffer.length : size - 1] = '\0';
	return (int)buffer.length;
}
