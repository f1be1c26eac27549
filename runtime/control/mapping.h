/*
 * mapping.h: the lines of /proc/PID/maps. Pure.
 * Source: proc(5).
 */
#ifndef CONTROL_MAPPING_H
#define CONTROL_MAPPING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct mapping_cursor { /* zeroed but for `rest` at the start */
    struct span rest;
    uintptr_t base;
    uint64_t inode;
};

struct mapping {
    uintptr_t start, end;
    uintptr_t base; /* where the file as a whole begins in memory */
    uint64_t inode;
    bool executable;
    bool deleted;        /* the path names this file no more */
    bool memfd;
    char path[PATH_MAX]; /* without " (deleted)"; "" for anonymous memory */
    const char *name;    /* inside `path`: the last part of it; the whole name of a memfd; [stack] and the like */
};

/* Lines that cannot be understood are left out, and so is the last one without a line end: its path may be cut.
 * Returns false at the end. */
bool mapping_next(struct mapping_cursor *cursor, struct mapping *mapping);

/* Returns false when the address is in no mapping; `mapping` then holds nothing of use. */
bool mapping_find(struct span maps, uintptr_t address, struct mapping *mapping);

#endif
