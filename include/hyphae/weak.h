/* SPDX-License-Identifier: MIT */
/*
 * Weak handles: they know a cell without keeping it, and are never mistaken.
 *
 * A handle carries 16 bits of the cell's id; a weak one all 64, which no other
 * object of the process had or will have.  It owns nothing: copy it, store it,
 * forget it.
 */
#ifndef HYPHAE_WEAK_H
#define HYPHAE_WEAK_H

#include <stdbool.h>
#include <stdint.h>

#include <hyphae/cell.h>
#include <hyphae/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zeroed, it is of no cell. */
struct hyphae_weak {
	struct hyphae_cell *cell;
	uint64_t id;
};

/* Of a cell; of no cell if that is NULL or gone. */
HYPHAE_API struct hyphae_weak hyphae_weak(struct hyphae_cell *cell);

/*
 * A new reference to the cell, or NULL with errno ESTALE (it is gone, or its
 * last reference is) or EINVAL (a weak handle of no cell).
 */
HYPHAE_API struct hyphae_cell *hyphae_weak_lock(struct hyphae_weak weak);

/* Would hyphae_weak_lock() give it, at this moment? */
HYPHAE_API bool hyphae_weak_alive(struct hyphae_weak weak);

#ifdef __cplusplus
}
#endif

#endif
