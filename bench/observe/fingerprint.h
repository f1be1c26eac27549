/* fingerprint.h: what a result depends on besides what was measured: the machine, its kernel and limits, the versions of all
 * programs, the compiler, and what exactly was built.
 */
#ifndef OBSERVE_FINGERPRINT_H
#define OBSERVE_FINGERPRINT_H

#include <jansson.h>

/* Blocks while it asks the system, some programs among it (dpkg-query, git, gcc). Two parts: "comparable", which two runs must
 * share to be compared, and "build", the commit and the hashes of what was measured. The caller frees it. */
json_t *fingerprint_take(const char *build) __attribute__((warn_unused_result));

/* SHA-256 of the comparable part, 64 digits and NUL. */
void fingerprint_hash(const json_t *fingerprint, char hash[65]);

/* How the comparable parts differ: sentences "NAME: one, other". The caller frees the array, which is empty when they do not. */
json_t *fingerprint_differences(const json_t *one, const json_t *other) __attribute__((warn_unused_result));

#endif
