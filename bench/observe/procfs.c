/* procfs.c: reads the texts of /proc; see procfs.h. The formats are those of proc(5). */
#include "observe/procfs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_THREAD 0x00200000U /* in the flags: PF_KTHREAD */

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end == NULL ? NULL : end + 1;
}

static const char *find_line(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = text; line != NULL && *line != '\0'; line = next_line(line))
        if (strncmp(line, name, length) == 0 && strchr(" \t:", line[length]) != NULL && line[length] != '\0')
            return line + length;
    return NULL;
}

bool procfs_field(const char *text, const char *name, int64_t *number)
{
    const char *at = find_line(text, name);
    return at != NULL && sscanf(at, " %" SCNd64, number) == 1 ? true
                                                              : at != NULL && sscanf(at, ": %" SCNd64, number) == 1;
}

static int64_t of_ticks(int64_t count, int ticks)
{
    return count * 1000000 / ticks;
}

bool procfs_cpu(const char *text, int cpu, int ticks, struct procfs_cpu *read)
{
    char name[16];
    int64_t user, nice, system, idle, waiting, irq, softirq, steal;
    snprintf(name, sizeof name, "cpu%d", cpu);
    const char *at = find_line(text, name);
    if (at == NULL ||
        sscanf(at, "%" SCNd64 "%" SCNd64 "%" SCNd64 "%" SCNd64 "%" SCNd64 "%" SCNd64 "%" SCNd64 "%" SCNd64, &user,
               &nice, &system, &idle, &waiting, &irq, &softirq, &steal) != 8)
        return false;
    read->busy_us = of_ticks(user + nice + system + irq + softirq, ticks);
    read->idle_us = of_ticks(idle + waiting, ticks);
    read->steal_us = of_ticks(steal, ticks);
    read->softirq_us = of_ticks(softirq, ticks);
    return true;
}

bool procfs_process(const char *text, int ticks, struct procfs_process *read)
{
    const char *behind = strrchr(text, ')');
    int parent;
    unsigned flags;
    int64_t user, system, children_user, children_system;
    if (behind == NULL ||
        sscanf(behind, ") %*c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64,
               &parent, &flags, &user, &system, &children_user, &children_system) != 6)
        return false;
    *read = (struct procfs_process){.parent = parent,
                                    .is_kernel = (flags & KERNEL_THREAD) != 0,
                                    .user_us = of_ticks(user, ticks),
                                    .system_us = of_ticks(system, ticks),
                                    .children_us = of_ticks(children_user + children_system, ticks)};
    return true;
}

bool procfs_switches(const char *text, struct procfs_switches *read)
{
    struct procfs_switches found;
    if (!procfs_field(text, "voluntary_ctxt_switches", &found.voluntary) ||
        !procfs_field(text, "nonvoluntary_ctxt_switches", &found.involuntary))
        return false;
    *read = found;
    return true;
}

bool procfs_run_wait_us(const char *text, int64_t *run_wait_us)
{
    int64_t ran_ns, waited_ns;
    if (sscanf(text, "%" SCNd64 " %" SCNd64, &ran_ns, &waited_ns) != 2)
        return false;
    *run_wait_us = waited_ns / 1000;
    return true;
}

bool procfs_memory(const char *text, struct procfs_memory *read)
{
    struct procfs_memory found;
    if (!procfs_field(text, "Rss", &found.rss_kib) || !procfs_field(text, "Pss", &found.pss_kib))
        return false;
    *read = found;
    return true;
}

/* The number under a name of a table that is written as two lines: `Table: name name`, `Table: number number`. */
static bool find_in_table(const char *text, const char *table, const char *name, int64_t *number)
{
    const char *names = find_line(text, table);
    const char *numbers = names == NULL ? NULL : next_line(names);
    if (numbers == NULL || strncmp(numbers, table, strlen(table)) != 0)
        return false;
    numbers += strlen(table);
    size_t length = strlen(name);
    for (;;) {
        names += strcspn(names, " \n");
        numbers += strcspn(numbers, " \n");
        if (*names != ' ' || *numbers != ' ')
            return false;
        names++;
        numbers++;
        if (strncmp(names, name, length) == 0 && (names[length] == ' ' || names[length] == '\n'))
            return sscanf(numbers, "%" SCNd64, number) == 1;
    }
}

bool procfs_net(const char *text, struct procfs_net *read)
{
    struct procfs_net found;
    if (!find_in_table(text, "TcpExt", "ListenOverflows", &found.listen_overflows) ||
        !find_in_table(text, "TcpExt", "ListenDrops", &found.listen_drops) ||
        !find_in_table(text, "Tcp", "RetransSegs", &found.retransmits))
        return false;
    *read = found;
    return true;
}

bool procfs_time_wait(const char *text, int64_t *count)
{
    const char *line = find_line(text, "TCP");
    const char *at = line == NULL ? NULL : strstr(line, " tw ");
    return at != NULL && sscanf(at, " tw %" SCNd64, count) == 1;
}
