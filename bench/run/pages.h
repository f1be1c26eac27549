/* pages.h: the right bodies of a run, kept in its folder: for each path and workload a list of LEN:HASH, for each workload a
 * body as a file.
 *
 * The first server that has a page sets it; whoever comes later must give the same, in this round and in the last.
 */
#ifndef RUN_PAGES_H
#define RUN_PAGES_H

#include <jansson.h>

#include "run/target.h"

/* Compares what the target says its right bodies are with those in the folder, and adds those that are not there.
 * Returns NULL, or what differs, which the caller frees. */
char *pages_check(const char *folder, const struct target *target) __attribute__((warn_unused_result));

/* The list's file of a page, for `millbench load --expect-list`. The caller frees it. */
char *pages_list(const char *folder, const char *path, const char *workload) __attribute__((warn_unused_result));

/* The body's length when the page has one body or all have the same length, else -1. */
long pages_length(const char *folder, const char *path, const char *workload);

/* All lists, for run.json. */
json_t *pages_json(const char *folder) __attribute__((warn_unused_result));

#endif
