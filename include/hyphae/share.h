/* SPDX-License-Identifier: MIT */
/*
 * When upstream works, and for how many: share, cold.
 *
 * Every cell can be followed by many and is computed once for all of them, so
 * what other libraries share() for costs nothing here.  These two are about
 * followers that come and go; see hyphae_cell_set_lazy().
 *
 * They hand on errors of both kinds and the end, and return a new reference,
 * or NULL with errno ESTALE or ENOMEM; a NULL input gives NULL, errno
 * untouched.
 */
#ifndef HYPHAE_SHARE_H
#define HYPHAE_SHARE_H

#include <hyphae/cell.h>
#include <hyphae/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The values of `input`, as a lazy cell (or event): with the first follower it
 * follows `input`, once for all of them; with the last it lets go of it.  Where
 * `input` is lazy or cold in turn, that begins afresh with the next first
 * follower: a sum at its beginning, a sequence at its first value.  A follower
 * that comes later is told what the cell holds and sees the same as the
 * others.  Once `input` has ended, it stays ended.
 */
#define hyphae_share(input) hyphae_share_at(input, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_share_at(struct hyphae_cell *input,
					       const char *site);

/*
 * A cold event: what `input` comes to hold, or emits, while somebody follows
 * the event; what it held before is not told (hyphae_changes()).
 *
 * Cold means that it is lazy and what is made of it is lazy, too, at any
 * distance and in any graph: a scan() over it is idle, and has no value, until
 * it is followed by a subscriber, and begins afresh when that has left.
 */
#define hyphae_cold(input) hyphae_cold_at(input, HYPHAE_HERE)
HYPHAE_API struct hyphae_cell *hyphae_cold_at(struct hyphae_cell *input,
					      const char *site);

#ifdef __cplusplus
}
#endif

#endif
