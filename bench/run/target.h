/* target.h: one server that a plan names: started and stopped by its script, which tells its processes and its pages.
 *
 * bench/targets/common.sh says what a script prints. One thread; starting and stopping block until the script has ended.
 */
#ifndef RUN_TARGET_H
#define RUN_TARGET_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TARGET_PAGES_MAX  64
#define TARGET_GROUPS_MAX 8
#define TARGET_FACTS_MAX  32

struct target_page {
    char *path, *workload, *url;
    char *expected; /* a file, or a folder of files: the right bodies */
};

struct target_group {
    char *name;
    pid_t pid;
};

struct target_fact {
    char *name, *value;
};

/* Where a target lives while it runs; the same for all of a run. */
struct target_place {
    const char *state;     /* a folder below which each target gets its own */
    const char *pages;     /* a folder with the bodies that another target gave; for servers that only repeat them */
    int port;              /* the first of eight */
    const cpu_set_t *cpus; /* where everything runs that serves */
};

struct target {
    char *server, *configuration;
    bool running;
    struct target_group groups[TARGET_GROUPS_MAX];
    size_t group_count;
    struct target_page pages[TARGET_PAGES_MAX];
    size_t page_count;
    struct target_fact facts[TARGET_FACTS_MAX];
    size_t fact_count;
};

void target_init(struct target *target, const char *server, const char *configuration);
void target_fini(struct target *target);

/* Whether there is such a server. */
bool target_exists(const char *server);

/* Starts it. Returns NULL, or why it does not run (the script's own words), which the caller frees; then nothing of it runs.
 * After an interrupt the answer is a reason as well. */
char *target_start(struct target *target, const struct target_place *place) __attribute__((warn_unused_result));

/* Stops it, whether it has started or not. Returns NULL, or what went wrong, which the caller frees. */
char *target_stop(struct target *target, const struct target_place *place) __attribute__((warn_unused_result));

/* The first group whose process is gone, NULL while all of them live. */
const char *target_dead(const struct target *target);

/* NULL when it has no such page. Borrowed until the next start. */
const struct target_page *target_page(const struct target *target, const char *path, const char *workload);

/* What a script printed, line by line. Returns NULL, or what is wrong with it, which the caller frees. For tests as well. */
char *target_read(struct target *target, const char *text) __attribute__((warn_unused_result));

#endif
