/* verify.h: `millbench verify`: whether a report says what its raw files say. */
#ifndef REPORT_VERIFY_H
#define REPORT_VERIFY_H

#include <jansson.h>
#include <stddef.h>

int verify_main(int argc, char **argv);

/* Whether the folder's raw files are those of the list (results.json's raw). Returns NULL, or the first that is changed, missing
 * or not in the list, in words that the caller frees. */
char *verify_raw(const char *folder, const json_t *listed) __attribute__((warn_unused_result));

/* The same for one entry of the list. */
char *verify_raw_file(const char *folder, const json_t *entry) __attribute__((warn_unused_result));

/* Whether a file of the folder, or of where its raw files are unpacked when it has none of that name, has exactly these bytes.
 * Returns NULL, or where it differs, which the caller frees. */
char *verify_bytes(const char *folder, const char *raw, const char *file, const char *expected, size_t length)
    __attribute__((warn_unused_result));

#endif
