/* family.c: the processes of a group; see family.h. */
#include "observe/family.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"

#define TEXT_BYTES  8192
#define MEMBERS_MAX 4096

struct member {
    pid_t pid;
    bool alive;
    struct family_use use;
};

struct family {
    pid_t roots[FAMILY_ROOTS_MAX];
    size_t root_count;
    struct member *members;
    size_t count, room;
};

/* Reads what fits of a small file of the kernel's. Returns false when there is none. */
static bool read_text(const char *path, char text[TEXT_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, TEXT_BYTES - 1);
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return false;
    text[got] = '\0';
    return true;
}

struct family *family_new(void)
{
    struct family *family = calloc(1, sizeof *family);
    CHECK(family != NULL);
    return family;
}

void family_add_root(struct family *family, pid_t root)
{
    CHECK(family->root_count < FAMILY_ROOTS_MAX);
    family->roots[family->root_count++] = root;
}

void family_free(struct family *family)
{
    free(family->members);
    free(family);
}

static struct member *member_of(struct family *family, pid_t pid)
{
    for (size_t i = 0; i < family->count; i++)
        if (family->members[i].pid == pid && family->members[i].alive)
            return &family->members[i];
    if (family->count == family->room) {
        family->room = family->room == 0 ? 16 : 2 * family->room;
        family->members = realloc(family->members, family->room * sizeof *family->members);
        CHECK(family->members != NULL);
    }
    family->members[family->count] = (struct member){.pid = pid, .alive = true};
    return &family->members[family->count++];
}

/* -- one process ------------------------------------------------------------------------------------------------------
 */

static void look_at_thread(pid_t pid, const char *thread, struct family_use *sum)
{
    char path[96], text[TEXT_BYTES];
    struct procfs_switches switches;
    int64_t run_wait_us;
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/status", (int)pid, thread);
    if (read_text(path, text) && procfs_switches(text, &switches)) {
        sum->voluntary += switches.voluntary;
        sum->involuntary += switches.involuntary;
    }
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/schedstat", (int)pid, thread);
    if (read_text(path, text) && procfs_run_wait_us(text, &run_wait_us))
        sum->run_wait_us += run_wait_us;
}

/* Threads that end take their counts along; a sum never falls because of that. */
static void look_at_threads(struct member *member)
{
    char path[64];
    struct family_use sum = {0};
    snprintf(path, sizeof path, "/proc/%d/task", (int)member->pid);
    DIR *threads = opendir(path);
    if (threads == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;)
        if (entry->d_name[0] != '.')
            look_at_thread(member->pid, entry->d_name, &sum);
    closedir(threads);
    struct family_use *use = &member->use;
    use->voluntary = sum.voluntary > use->voluntary ? sum.voluntary : use->voluntary;
    use->involuntary = sum.involuntary > use->involuntary ? sum.involuntary : use->involuntary;
    use->run_wait_us = sum.run_wait_us > use->run_wait_us ? sum.run_wait_us : use->run_wait_us;
}

/* Returns whether there is such a process. The process's own clock is exact; the split into user and system is not. */
static bool look_at(struct member *member, bool threads)
{
    char path[64], text[TEXT_BYTES];
    clockid_t clock;
    struct timespec used;
    struct procfs_process process;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)member->pid);
    if (!read_text(path, text) || !procfs_process(text, (int)sysconf(_SC_CLK_TCK), &process))
        return false;
    member->use.user_us = process.user_us;
    member->use.system_us = process.system_us;
    if (clock_getcpuclockid(member->pid, &clock) == 0 && clock_gettime(clock, &used) == 0)
        member->use.cpu_us = (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
    if (threads)
        look_at_threads(member);
    return true;
}

/* -- all of them
 * -------------------------------------------------------------------------------------------------------- */

static void visit(struct family *family, pid_t pid, bool threads, bool *seen);

/* A thread's own children: those that it has forked. */
static void visit_children(struct family *family, pid_t pid, const char *thread, bool threads, bool *seen)
{
    char path[96], text[TEXT_BYTES];
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", (int)pid, thread);
    if (!read_text(path, text))
        return;
    char *rest = text, *word;
    while ((word = strsep(&rest, " ")) != NULL)
        if (*word != '\0')
            visit(family, (pid_t)atoi(word), threads, seen);
}

static void visit(struct family *family, pid_t pid, bool threads, bool *seen)
{
    struct member *member = member_of(family, pid);
    size_t index = (size_t)(member - family->members);
    if (index >= MEMBERS_MAX || seen[index])
        return;
    seen[index] = true;
    if (!look_at(member, threads)) {
        member->alive = false;
        return;
    }
    char path[64], first[16];
    if (!threads) { /* few programs fork from another thread than their first; those are found at the next closer look
                     */
        snprintf(first, sizeof first, "%d", (int)pid);
        visit_children(family, pid, first, false, seen);
        return;
    }
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    if (tasks == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;)
        if (entry->d_name[0] != '.')
            visit_children(family, pid, entry->d_name, threads, seen);
    closedir(tasks);
}

void family_look(struct family *family, bool threads)
{
    bool seen[MEMBERS_MAX] = {false};
    for (size_t i = 0; i < family->root_count; i++)
        visit(family, family->roots[i], threads, seen);
    for (size_t i = 0; i < family->count && i < MEMBERS_MAX; i++)
        if (!seen[i])
            family->members[i].alive = false;
}

struct family_use family_use(const struct family *family)
{
    struct family_use sum = {0};
    for (size_t i = 0; i < family->count; i++) {
        const struct family_use *use = &family->members[i].use;
        sum.cpu_us += use->cpu_us;
        sum.user_us += use->user_us;
        sum.system_us += use->system_us;
        sum.voluntary += use->voluntary;
        sum.involuntary += use->involuntary;
        sum.run_wait_us += use->run_wait_us;
        sum.processes += family->members[i].alive;
    }
    return sum;
}

bool family_has(const struct family *family, pid_t pid)
{
    for (size_t i = 0; i < family->count; i++)
        if (family->members[i].pid == pid && family->members[i].alive)
            return true;
    return false;
}

struct procfs_memory family_memory(const struct family *family)
{
    struct procfs_memory sum = {0};
    for (size_t i = 0; i < family->count; i++) {
        char path[64], text[TEXT_BYTES];
        struct procfs_memory memory;
        snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)family->members[i].pid);
        if (family->members[i].alive && read_text(path, text) && procfs_memory(text, &memory)) {
            sum.rss_kib += memory.rss_kib;
            sum.pss_kib += memory.pss_kib;
        }
    }
    return sum;
}
