/* sampler.c: what the machine and the processes of a measurement do meanwhile; see sampler.h. */
#include "observe/sampler.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "file.h"
#include "observe/family.h"
#include "observe/procfs.h"
#include "words.h"

#define CLOSE_LOOK_EVERY 5                  /* samples: how often the threads are looked at one by one */
#define FIRST_NAMESPACE  "pid:[4026531836]" /* the kernel's number for the one that all others are in */
#define TEXT_BYTES       65536              /* /proc/stat of a large machine, /proc/net/netstat */

struct sampler {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopping;
    bool stop;
    int interval_ms;
    char *file;
    cpu_set_t server_cpus, generator_cpus;
    size_t group_count;
    char *names[SAMPLER_GROUPS_MAX];
    struct family *families[SAMPLER_GROUPS_MAX];
    int count;              /* samples so far */
    int64_t clock_start_us; /* the wall clock's lead over the monotonic one at the first sample */
    json_t *samples, *first_memory;
};

/* -- reading
 * ----------------------------------------------------------------------------------------------------------- */

static char *read_proc(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t got = file == NULL ? 0 : fread(text, 1, size - 1, file);
    if (file != NULL)
        fclose(file);
    text[got] = '\0';
    return text;
}

static int64_t wall_clock_lead_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * CLOCK_SECOND + now.tv_nsec / 1000 - clock_now_us();
}

static const char *role_of(const struct sampler *sampler, int cpu)
{
    bool serves = CPU_ISSET(cpu, &sampler->server_cpus), generates = CPU_ISSET(cpu, &sampler->generator_cpus);
    return serves && generates ? "shared" : serves ? "server" : generates ? "generator" : NULL;
}

static json_t *cpus_json(const struct sampler *sampler)
{
    static _Thread_local char text[TEXT_BYTES];
    json_t *cpus = json_array();
    read_proc("/proc/stat", text, sizeof text);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        struct procfs_cpu read;
        if (role_of(sampler, cpu) != NULL && procfs_cpu(text, cpu, (int)sysconf(_SC_CLK_TCK), &read))
            json_array_append_new(cpus,
                                  json_pack("{s:I, s:I, s:I, s:I}", "busy_us", (json_int_t)read.busy_us, "idle_us",
                                            (json_int_t)read.idle_us, "steal_us", (json_int_t)read.steal_us,
                                            "softirq_us", (json_int_t)read.softirq_us));
    }
    return cpus;
}

static json_t *net_json(void)
{
    static _Thread_local char text[TEXT_BYTES];
    struct procfs_net net = {0};
    int64_t time_wait = 0;
    size_t length = strlen(read_proc("/proc/net/netstat", text, TEXT_BYTES));
    read_proc("/proc/net/snmp", text + length, TEXT_BYTES - length);
    bool there = procfs_net(text, &net);
    read_proc("/proc/net/sockstat", text, TEXT_BYTES);
    if (!there || !procfs_time_wait(text, &time_wait))
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:I}", "listen_overflows", (json_int_t)net.listen_overflows, "listen_drops",
                     (json_int_t)net.listen_drops, "retransmits", (json_int_t)net.retransmits, "time_wait",
                     (json_int_t)time_wait);
}

static json_t *group_json(struct family *family, bool threads)
{
    family_look(family, threads);
    struct family_use use = family_use(family);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "cpu_us", (json_int_t)use.cpu_us, "user_us",
                     (json_int_t)use.user_us, "system_us", (json_int_t)use.system_us, "voluntary",
                     (json_int_t)use.voluntary, "involuntary", (json_int_t)use.involuntary, "run_wait_us",
                     (json_int_t)use.run_wait_us, "processes", (json_int_t)use.processes);
}

static bool is_in_a_group(const struct sampler *sampler, pid_t pid)
{
    for (size_t i = 0; i < sampler->group_count; i++)
        if (family_has(sampler->families[i], pid))
            return true;
    return false;
}

/* What all other processes have used so far, with their children that have ended: of a process that ends, nothing is
 * lost. The kernel's own threads work for everyone, and are left out. */
static json_t *others_json(const struct sampler *sampler)
{
    char path[64], text[4096];
    int64_t sum_us = 0;
    int ticks = (int)sysconf(_SC_CLK_TCK);
    DIR *all = opendir("/proc");
    for (struct dirent *entry; all != NULL && (entry = readdir(all)) != NULL;) {
        struct procfs_process process;
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid <= 0 || is_in_a_group(sampler, pid))
            continue;
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        if (procfs_process(read_proc(path, text, sizeof text), ticks, &process) && !process.is_kernel)
            sum_us += process.user_us + process.system_us + process.children_us;
    }
    if (all != NULL)
        closedir(all);
    return json_pack("{s:I}", "cpu_us", (json_int_t)sum_us);
}

/* In a container only its own processes are seen, not those beside it. */
static bool sees_all_processes(void)
{
    char name[64];
    ssize_t length = readlink("/proc/self/ns/pid", name, sizeof name - 1);
    name[length > 0 ? length : 0] = '\0';
    return strcmp(name, FIRST_NAMESPACE) == 0;
}

/* The groups' clocks are read last and at once: what is divided by the time is as of t_us. */
static void sample(struct sampler *sampler, bool last)
{
    bool threads = last || sampler->count % CLOSE_LOOK_EVERY == 0;
    json_t *cpus = cpus_json(sampler), *net = net_json(), *groups = json_object();
    int64_t now_us = clock_now_us();
    for (size_t i = 0; i < sampler->group_count; i++)
        json_object_set_new(groups, sampler->names[i], group_json(sampler->families[i], threads));
    json_t *one = json_pack("{s:I, s:o, s:o, s:o, s:b, s:I}", "t_us", (json_int_t)now_us, "cpu", cpus, "net", net,
                            "groups", groups, "threads", threads, "clock_step_us",
                            (json_int_t)(wall_clock_lead_us() - sampler->clock_start_us));
    if (threads)
        json_object_set_new(one, "others", others_json(sampler));
    json_array_append_new(sampler->samples, one);
    sampler->count++;
}

static json_t *memory_json(const struct sampler *sampler)
{
    json_t *memory = json_object();
    for (size_t i = 0; i < sampler->group_count; i++) {
        struct procfs_memory read = family_memory(sampler->families[i]);
        json_object_set_new(
            memory, sampler->names[i],
            json_pack("{s:I, s:I}", "rss_kib", (json_int_t)read.rss_kib, "pss_kib", (json_int_t)read.pss_kib));
    }
    return memory;
}

/* -- the thread
 * -------------------------------------------------------------------------------------------------------------- */

/* Samples at even steps of the monotonic clock until it is told to stop. */
static void *run(void *of)
{
    struct sampler *sampler = of;
    int64_t next_us = clock_now_us();
    pthread_mutex_lock(&sampler->lock);
    while (!sampler->stop) {
        next_us += sampler->interval_ms * CLOCK_MS;
        const struct timespec until = {.tv_sec = next_us / CLOCK_SECOND, .tv_nsec = next_us % CLOCK_SECOND * 1000};
        int woken = 0;
        while (!sampler->stop && woken != ETIMEDOUT)
            woken = pthread_cond_timedwait(&sampler->stopping, &sampler->lock, &until);
        if (sampler->stop)
            break;
        pthread_mutex_unlock(&sampler->lock);
        sample(sampler, false);
        pthread_mutex_lock(&sampler->lock);
    }
    pthread_mutex_unlock(&sampler->lock);
    return NULL;
}

static void begin_thread(struct sampler *sampler)
{
    pthread_condattr_t monotonic;
    sigset_t all, before;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&sampler->stopping, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&sampler->lock, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    CHECK(pthread_create(&sampler->thread, NULL, run, sampler) == 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void add_root(struct sampler *sampler, const struct sampler_group *group)
{
    size_t i = 0;
    while (i < sampler->group_count && strcmp(sampler->names[i], group->name) != 0)
        i++;
    if (i == sampler->group_count) {
        CHECK(i < SAMPLER_GROUPS_MAX);
        sampler->names[i] = words("%s", group->name);
        sampler->families[i] = family_new();
        sampler->group_count++;
    }
    family_add_root(sampler->families[i], group->root);
}

struct sampler *sampler_start(const struct sampler_plan *plan)
{
    struct sampler *sampler = calloc(1, sizeof *sampler);
    CHECK(sampler != NULL);
    sampler->interval_ms = plan->interval_ms;
    sampler->file = words("%s", plan->file);
    sampler->server_cpus = *plan->server_cpus;
    sampler->generator_cpus = *plan->generator_cpus;
    for (size_t i = 0; i < plan->group_count; i++)
        add_root(sampler, &plan->groups[i]);
    sampler->samples = json_array();
    sampler->clock_start_us = wall_clock_lead_us();
    sample(sampler, false);
    sampler->first_memory = memory_json(sampler);
    begin_thread(sampler);
    return sampler;
}

/* -- the file
 * ------------------------------------------------------------------------------------------------------------------ */

static json_t *roles_json(const struct sampler *sampler)
{
    json_t *roles = json_array();
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (role_of(sampler, cpu) != NULL)
            json_array_append_new(roles, json_pack("{s:i, s:s}", "cpu", cpu, "role", role_of(sampler, cpu)));
    return roles;
}

static int write_file(struct sampler *sampler)
{
    json_t *names = json_array();
    for (size_t i = 0; i < sampler->group_count; i++)
        json_array_append_new(names, json_string(sampler->names[i]));
    json_t *all = json_pack("{s:s, s:b, s:i, s:s, s:o, s:o, s:O, s:{s:O, s:o}}", "schema", "millbench-samples/1",
                            "sees_all", sees_all_processes(), "interval_ms", sampler->interval_ms, "clock",
                            "monotonic_us", "cpus", roles_json(sampler), "groups", names, "samples", sampler->samples,
                            "memory", "first", sampler->first_memory, "last", memory_json(sampler));
    char *text = json_dumps(all, JSON_SORT_KEYS | JSON_COMPACT);
    CHECK(text != NULL);
    char *line = words("%s\n", text);
    int result = file_write(sampler->file, line, strlen(line));
    free(line);
    free(text);
    json_decref(all);
    return result;
}

int sampler_stop(struct sampler *sampler)
{
    pthread_mutex_lock(&sampler->lock);
    sampler->stop = true;
    pthread_cond_signal(&sampler->stopping);
    pthread_mutex_unlock(&sampler->lock);
    pthread_join(sampler->thread, NULL);
    sample(sampler, true);
    int result = write_file(sampler), error = errno;
    for (size_t i = 0; i < sampler->group_count; i++) {
        family_free(sampler->families[i]);
        free(sampler->names[i]);
    }
    json_decref(sampler->samples);
    json_decref(sampler->first_memory);
    pthread_cond_destroy(&sampler->stopping);
    pthread_mutex_destroy(&sampler->lock);
    free(sampler->file);
    free(sampler);
    errno = error;
    return result;
}
