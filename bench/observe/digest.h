/* digest.h: SHA-256 of files and bytes, as 64 hexadecimal digits. */
#ifndef OBSERVE_DIGEST_H
#define OBSERVE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_BYTES 65 /* the digits and the final NUL */

void digest_of_bytes(char digest[DIGEST_BYTES], const void *bytes, size_t length);

/* Blocks while it reads; size may be NULL. Returns 0, -1 with errno. */
int digest_of_file(char digest[DIGEST_BYTES], const char *path, int64_t *size) __attribute__((warn_unused_result));

#endif
