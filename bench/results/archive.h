/* archive.h: the files that a run's results are computed from: their names, lengths and SHA-256; as a folder, or packed. */
#ifndef RESULTS_ARCHIVE_H
#define RESULTS_ARCHIVE_H

#include <jansson.h>

/* plan.conf, run.json and everything below raw, in the order of their names: [{path, bytes, sha256}]. Returns NULL after a line
 * on standard error that begins with `who`. The caller frees it. */
json_t *archive_list(const char *folder, const char *who) __attribute__((warn_unused_result));

/* A JSON file of the folder. Returns NULL with why in `error` (sized ARCHIVE_WHY_BYTES). The caller frees it. */
#define ARCHIVE_WHY_BYTES 200
json_t *archive_json(const char *folder, const char *path, char error[ARCHIVE_WHY_BYTES]) __attribute__((warn_unused_result));

/* Where the raw files of a report lie: its folder, or, where that has run.tar.xz in place of them, a temporary folder that they are
 * unpacked into. Returns the path, for archive_close, or NULL after a line on standard error that begins with `who`. Blocks. */
char *archive_open(const char *folder, const char *who) __attribute__((warn_unused_result));

/* Removes what archive_open has made, and frees the path. */
void archive_close(char *raw, const char *folder);

#endif
