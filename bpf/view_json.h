/* SPDX-License-Identifier: MIT */
/*
 * A report as one line of JSON.  A contract: fields are appended, never
 * changed or removed.  Pure: a report in, a line out.
 */
#ifndef HYPHAE_BPF_VIEW_JSON_H
#define HYPHAE_BPF_VIEW_JSON_H

#include <stdio.h>

#include "bpf/report.h"

/* 0, or a negative errno when it could not be written or made. */
int view_json(const struct report *report, FILE *file);

#endif
