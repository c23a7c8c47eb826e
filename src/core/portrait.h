/* SPDX-License-Identifier: MIT */
/* What a cell is at a moment, to be told when it may be no more. */
#ifndef HY_PORTRAIT_H
#define HY_PORTRAIT_H

#include "core/text.h"
#include "core/types.h"

#define HY_VALUE_TEXT 256

struct hy_portrait {
	uint64_t id;
	uint32_t flags;
	uint32_t height;
	size_t inputs, targets;
	const char *op, *type, *site;
	int code; /* F_ERROR */
	size_t name_length, state_length;
	char name[HYPHAE_NAME_MAX + 1];
	char state[HY_VALUE_TEXT]; /* the value, or the message of the error */
	bool cut;		   /* that was longer */
	bool quiet;		   /* the value was not asked for */
};

/* 0, -EINVAL or -ESTALE.  Calls type->print, if the value is asked for. */
int hy_portray(const struct hyphae_cell *cell, bool value,
	       struct hy_portrait *ret);

/*
 * "value 5", "no value", "event, last 5", "failed -5 \"text\", ..."; if the
 * value was not asked for, what there is to tell without it, perhaps nothing.
 */
void hy_portray_state(const struct hy_portrait *portrait, struct hy_text *text,
		      enum hy_quoting quoting);

#endif
