/* layout.h: which CPUs serve and which generate load. */
#ifndef OBSERVE_LAYOUT_H
#define OBSERVE_LAYOUT_H

#include <sched.h>

struct layout {
    cpu_set_t server, generator;
    int server_count, generator_count;
};

/* Which CPUs are threads of one core: core[cpu] is the same number for those. */
struct layout_cores {
    int core[CPU_SETSIZE];
};

/* Chooses among the CPUs of the mask:
 *   1+1      one CPU serves and another, of another core, generates
 *   sets     half of the cores serve, with all their threads, the others generate
 *   shared   all of them do both
 * Returns NULL, or why there is no such layout (a constant). Pure. */
const char *layout_choose(struct layout *layout, const char *kind, const cpu_set_t *mask, const struct layout_cores *cores);

/* What the machine says; a machine that says nothing has a core for each CPU. */
void layout_read_cores(struct layout_cores *cores);

/* A set as text: 0-3,5. The caller frees it. */
char *layout_text(const cpu_set_t *set) __attribute__((warn_unused_result));

#endif
