/* family.h: the processes of a group: one root or several and their descendants, and what they have used so far.
 *
 * A process that ends keeps what it was last seen with; its number, used again by somebody else, is another process when its
 * parent is no member.
 */
#ifndef OBSERVE_FAMILY_H
#define OBSERVE_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "observe/procfs.h"

struct family_use {
    int64_t cpu_us, user_us, system_us;
    int64_t voluntary, involuntary, run_wait_us; /* as of the last look at the threads */
    int64_t processes;                           /* that live */
};

struct family;

#define FAMILY_ROOTS_MAX 16

struct family *family_new(void);
void family_add_root(struct family *family, pid_t root);
void family_free(struct family *family);

/* Looks at its processes anew. With `threads`, at each thread's switches and waiting as well, which costs more. */
void family_look(struct family *family, bool threads);

struct family_use family_use(const struct family *family);

/* Whether a process was among the living at the last look. */
bool family_has(const struct family *family, pid_t pid);

/* What its living processes have in memory now. Costs the kernel a walk through their page tables. */
struct procfs_memory family_memory(const struct family *family);

#endif
