/* file.h: whole files: read at once, written at once and completely. */
#ifndef BENCH_FILE_H
#define BENCH_FILE_H

#include <stddef.h>

/* Returns its bytes with a NUL behind them, which the caller frees; NULL with errno. Length may be NULL. */
char *file_read(const char *path, size_t *length) __attribute__((warn_unused_result));

/* Replaces the file: a reader sees the old one or the new one, whole. Returns 0, -1 with errno. */
int file_write(const char *path, const char *bytes, size_t length) __attribute__((warn_unused_result));

/* Removes a folder and everything in it; no error when there is none. Returns 0, -1 with errno. */
int file_remove_tree(const char *path) __attribute__((warn_unused_result));

#endif
