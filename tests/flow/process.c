/* process.c: what /proc says about a process. */
#include "process.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deadline.h"

/* Parent and state of a process; false when there is none. The name in between may hold anything, blanks too. */
static bool process_stat(pid_t pid, pid_t *parent, char *state)
{
    char path[64], line[512];
    const char *after_name;
    FILE *file;
    bool got;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    got = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    after_name = got ? strrchr(line, ')') : NULL;
    return after_name && sscanf(after_name + 1, " %c %d", state, parent) == 2;
}

static int process_compare(const void *one, const void *other)
{
    return *(const pid_t *)one - *(const pid_t *)other;
}

static struct process_children process_collect(pid_t parent, bool zombies)
{
    struct process_children children = {.count = 0};
    DIR *all = opendir("/proc");
    struct dirent *entry;

    while (all && (entry = readdir(all))) {
        pid_t pid = (pid_t)atoi(entry->d_name), its_parent;
        char state;

        if (!isdigit((unsigned char)entry->d_name[0]) || !process_stat(pid, &its_parent, &state))
            continue;
        if (its_parent == parent && (state == 'Z') == zombies && children.count < PROCESS_CHILDREN_MAX) {
            children.pids[children.count++] = pid;
        }
    }
    if (all)
        closedir(all);
    qsort(children.pids, children.count, sizeof children.pids[0], process_compare);
    return children;
}

struct process_children process_children(pid_t parent)
{
    return process_collect(parent, false);
}

size_t process_zombie_count(pid_t parent)
{
    return process_collect(parent, true).count;
}

bool process_runs(pid_t pid)
{
    pid_t parent;
    char state;

    return process_stat(pid, &parent, &state) && state != 'Z' && state != 'X';
}

static long process_count_entries(pid_t pid, const char *folder)
{
    char path[64];
    struct dirent *entry;
    long count = 0;
    DIR *all;

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, folder);
    all = opendir(path);
    if (!all)
        return -1;
    while ((entry = readdir(all)))
        count += entry->d_name[0] != '.';
    closedir(all);
    return count;
}

long process_descriptor_count(pid_t pid)
{
    return process_count_entries(pid, "fd");
}

static int process_compare_names(const void *one, const void *other)
{
    return strcmp(one, other);
}

long process_socket_count(pid_t pid)
{
    enum { NAMES = 4096, LENGTH = 64 };
    char path[64], (*names)[LENGTH] = calloc(NAMES, LENGTH);
    long all = process_descriptor_count(pid), count = 0, again = 0;

    for (int fd = 0; names && fd < 65536 && count < NAMES && count < all; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
        if (readlink(path, names[count], LENGTH - 1) > 0)
            count++;
    }
    if (names)
        qsort(names, (size_t)count, LENGTH, process_compare_names);
    for (long i = 1; i < count; i++)
        again += strncmp(names[i], "socket:", 7) == 0 && strcmp(names[i], names[i - 1]) == 0;
    free(names);
    return all < 0 ? -1 : all - again;
}

long process_thread_count(pid_t pid)
{
    return process_count_entries(pid, "task");
}

long process_shared_count(pid_t pid)
{
    char path[64], line[512];
    long count = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, " /memfd:") || strstr(line, " /dev/shm/");
    if (file)
        fclose(file);
    return count;
}

static int process_count_lines(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    int count = 0;
    char line[256];

    while (file && fgets(line, sizeof line, file))
        count += strncmp(line, key, strlen(key)) == 0;
    if (file)
        fclose(file);
    return count;
}

size_t process_epoll_counts(pid_t pid, int *counts, size_t max)
{
    char path[300];
    struct dirent *entry;
    size_t sets = 0;
    DIR *all;

    snprintf(path, sizeof path, "/proc/%d/fdinfo", (int)pid);
    all = opendir(path);
    while (all && (entry = readdir(all)) && sets < max) {
        snprintf(path, sizeof path, "/proc/%d/fdinfo/%.20s", (int)pid, entry->d_name);
        counts[sets] = process_count_lines(path, "tfd:");
        sets += counts[sets] > 0;
    }
    if (all)
        closedir(all);
    return sets;
}

/* The number behind `key` in a file of /proc, -1 when it is not there. */
static long process_figure(const char *path, const char *key)
{
    size_t length = strlen(key);
    long figure = -1;
    char line[256];
    FILE *file = fopen(path, "re");

    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, length) == 0)
            figure = strtol(line + length, NULL, 10);
    }
    if (file)
        fclose(file);
    return figure;
}

long process_resident_kb(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    return process_figure(path, "VmRSS:");
}

long process_cpu_ms(pid_t pid)
{
    unsigned long user = 0, kernel = 0;
    char path[64];
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel) != 2)
        user = kernel = 0;
    fclose(file);
    return (long)(user + kernel) * 1000 / sysconf(_SC_CLK_TCK);
}

long process_switches(pid_t pid)
{
    char path[300];
    struct dirent *entry;
    long sum = 0;
    DIR *all;

    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    all = opendir(path);
    while (all && (entry = readdir(all))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/status", (int)pid, entry->d_name);
        sum += process_figure(path, "voluntary_ctxt_switches:") + process_figure(path, "nonvoluntary_ctxt_switches:");
    }
    if (all)
        closedir(all);
    return sum;
}

static bool process_has_left(void *pid)
{
    return !process_runs(*(pid_t *)pid);
}

bool process_leaves(pid_t pid, int limit_ms)
{
    return deadline_wait(limit_ms, process_has_left, &pid);
}
