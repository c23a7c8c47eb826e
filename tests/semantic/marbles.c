/* SPDX-License-Identifier: MIT */
/* See marbles.h. */
#include "marbles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 200
#define TEXT_MAX 64
#define QUIET 100

struct course {
	struct world *world;
	struct hyphae_clock *clock;
	const struct hyphae_type *type;
	bool event;
	struct hyphae_cell *source;
	struct hyphae_cell *input; /* source, with '!' as an error */
	struct hyphae_cell *out;
	char told[FRAMES_MAX][TEXT_MAX];
	unsigned int items[FRAMES_MAX];
	int code;
	bool lost; /* there was no room to write it down */
};

/* ---- the clock -------------------------------------------------------------- */

struct hyphae_clock *marble_clock(struct world *world)
{
	struct hyphae_clock *clock = hyphae_clock_new_virtual(0);

	assert_non_null(clock);
	assert_int_equal(hyphae_graph_set_clock(world->graph, clock), 0);
	return clock;
}

void marble_clock_done(struct hyphae_clock *clock)
{
	assert_int_equal(hyphae_clock_unref(clock), 0);
}

void pass(struct hyphae_clock *clock, uint64_t frames)
{
	assert_int_equal(hyphae_clock_advance(clock, frames * FRAME), 0);
}

size_t armed(const struct world *world)
{
	struct hyphae_graph_counts counts;

	assert_int_equal(hyphae_graph_counts(world->graph, &counts), 0);
	return counts.timers;
}

/* ---- what comes out ----------------------------------------------------------- */

static void write_down(struct course *c, const char *text)
{
	uint64_t now = 0;
	size_t frame, length;

	hyphae_clock_now(c->clock, &now);
	frame = now / FRAME;
	if (frame >= FRAMES_MAX || now % FRAME) {
		c->lost = true;
		return;
	}
	length = strlen(c->told[frame]);
	if (length + strlen(text) >= TEXT_MAX) {
		c->lost = true;
		return;
	}
	strcpy(c->told[frame] + length, text);
	c->items[frame]++;
}

static int on_signal(const struct hyphae_signal *signal, void *ctx)
{
	struct course *c = ctx;
	char text[TEXT_MAX];

	if (signal->kind == HYPHAE_COMPLETE) {
		strcpy(text, "|");
	} else if (signal->kind == HYPHAE_ERROR) {
		strcpy(text, signal->terminal ? "#" : "!");
		c->code = signal->code;
	} else if (signal->type == &hyphae_int64) {
		snprintf(text, sizeof(text), "%c",
			 (char)hyphae_int64_of(signal));
	} else {
		const char *value = hyphae_string_of(signal);

		snprintf(text, sizeof(text), strlen(value) == 1 ? "%s" : "[%s]",
			 value);
	}
	write_down(c, text);
	return 0;
}

/* Trailing frames in which nothing is told are left out. */
static void render(const struct course *c, char *text)
{
	size_t end = FRAMES_MAX;

	while (end && !c->items[end - 1])
		end--;
	*text = 0;
	for (size_t i = 0; i < end; i++)
		sprintf(text + strlen(text),
			c->items[i] == 0   ? "-"
			: c->items[i] == 1 ? "%s"
					   : "(%s)",
			c->told[i]);
}

/* ---- what goes in ------------------------------------------------------------- */

static int check_int64(void *ret, const void *input, void *ctx)
{
	(void)ctx;
	if (*(const int64_t *)input == '!')
		return -EBADMSG;
	*(int64_t *)ret = *(const int64_t *)input;
	return 0;
}

static int check_string(void *ret, const void *input, void *ctx)
{
	const char *text = *(const char *const *)input;

	(void)ctx;
	if (*text == '!')
		return -EBADMSG;
	*(char **)ret = strdup(text);
	return *(char **)ret ? 0 : -ENOMEM;
}

static int write_sign(const struct course *c, char sign)
{
	char text[2] = {sign, 0};

	if (sign == '|')
		return hyphae_cell_complete(c->source);
	if (sign == '#')
		return hyphae_cell_fail(c->source, -EIO, NULL);
	if (c->type == &hyphae_int64)
		return hyphae_int64_set(c->source, sign);
	return hyphae_string_set(c->source, text);
}

/* One frame of the input; returns where the next begins. */
static const char *feed(struct course *c, const char *in)
{
	bool group = *in == '(';

	in += group;
	do {
		if (*in != '-')
			assert_true(write_sign(c, *in) >= 0);
		in++;
	} while (group && *in != ')');
	return in + group;
}

static struct hyphae_cell *make_source(const struct course *c, char first)
{
	char text[2] = {first, 0};

	if (c->event)
		return hyphae_event_new(c->world->graph, c->type);
	if (c->type == &hyphae_int64)
		return hyphae_int64_new(c->world->graph, first);
	return hyphae_string_new(c->world->graph, text);
}

static void plant(struct course *c, marble_op op, char first, bool lazy)
{
	bool text = c->type == &hyphae_string;

	c->clock = marble_clock(c->world);
	c->source = make_source(c, first);
	assert_non_null(c->source);
	c->input = hyphae_map(c->source, c->type,
			      text ? check_string : check_int64, NULL);
	assert_non_null(c->input);
	c->out = op(c->input);
	assert_non_null(c->out);
	if (lazy) {
		assert_int_equal(hyphae_cell_set_lazy(c->out), 0);
		assert_int_equal(armed(c->world), 0);
	}
}

static void uproot(struct course *c)
{
	assert_int_equal(hyphae_cell_unref(c->out), 0);
	assert_int_equal(armed(c->world), 0);
	assert_int_equal(hyphae_cell_unref(c->input), 0);
	assert_int_equal(hyphae_cell_unref(c->source), 0);
	marble_clock_done(c->clock);
}

static void run(struct course *c, const char *in)
{
	for (unsigned int quiet = 0; quiet < QUIET; quiet += !*in) {
		if (*in)
			in = feed(c, in);
		pass(c->clock, 1);
	}
}

static int course(struct world *world, marble_op op, const char *in,
		  const char *expected, unsigned int form)
{
	char text[FRAMES_MAX * 4];
	struct hyphae_subscription *sub;
	struct course *c = calloc(1, sizeof(*c));
	int code;

	assert_non_null(c);
	c->world = world;
	c->type = form & 1 ? &hyphae_string : &hyphae_int64;
	c->event = form & 4;
	plant(c, op, *in, form & 2);
	sub = hyphae_subscribe(c->out, on_signal, c);
	if (!c->event) { /* the first frame is there already */
		in++;
		pass(c->clock, 1);
	}
	run(c, in);
	hyphae_unsubscribe(sub); /* which may have ended by itself */
	if (form & 2)
		assert_int_equal(armed(world), 0);
	uproot(c);
	assert_false(c->lost);
	render(c, text);
	if (strcmp(text, expected) != 0)
		fail_msg("%s, %s%s: told %s, expected %s", c->type->name,
			 c->event ? "event" : "value", form & 2 ? ", lazy" : "",
			 text, expected);
	code = c->code;
	free(c);
	return code;
}

static int courses(struct world *world, marble_op op, const char *in,
		   const char *expected, unsigned int event)
{
	size_t length = strlen(expected);
	char trimmed[FRAMES_MAX * 4];
	int code = 0;

	while (length && expected[length - 1] == '-')
		length--;
	memcpy(trimmed, expected, length);
	trimmed[length] = 0;
	for (unsigned int form = 0; form < 4; form++)
		code = course(world, op, in, trimmed, form | event);
	return code;
}

int marble_events(struct world *world, marble_op op, const char *in,
		  const char *expected)
{
	return courses(world, op, in, expected, 4);
}

int marble_values(struct world *world, marble_op op, const char *in,
		  const char *expected)
{
	return courses(world, op, in, expected, 0);
}

int marble(struct world *world, marble_op op, const char *in,
	   const char *expected)
{
	marble_events(world, op, in, expected);
	return marble_values(world, op, in, expected);
}

/* ---- joining -------------------------------------------------------------------- */

const struct hyphae_type *marble_type(const struct hyphae_cell *input)
{
	struct hyphae_cell_info info;

	assert_int_equal(hyphae_cell_info(input, &info), 0);
	return info.type;
}

int marble_join(void *ret, const void *const *values, size_t count, void *ctx)
{
	char *text = malloc(count + 1);

	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		text[i] = ctx == &hyphae_string
				  ? **(const char *const *)values[i]
				  : (char)*(const int64_t *)values[i];
	text[count] = 0;
	*(char **)ret = text;
	return 0;
}
