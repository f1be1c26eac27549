/*
 * crew.c: fork, wait, add.
 *
 * Each process has its own tally in shared memory, so nobody waits for anybody while there is load; a process that does
 * not end as it should makes the whole result worthless, and it is said.
 */
#include "load/crew.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/shared.h"
#include "base/signals.h"

#define SPARE_DESCRIPTORS 64
#define START_US          (10 * CLOCK_MS) /* for the processes to be there */

struct crew {
    const struct load_options *options;
    struct shared memory;
    struct driver_shared *shared;
    struct tally *tallies;
    _Atomic uint8_t *seen;
    size_t seen_count;
    pid_t pids[LOAD_OPTIONS_PROCESSES_MAX];
    int started, running;
    bool has_failed;
};

static int fail(const char *what)
{
    fprintf(stderr, "millbench load: %s: %s\n", what, strerror(errno));
    return 1;
}

/* -- before
 * ------------------------------------------------------------------------------------------------------------- */

/* Takes as many descriptors as a process needs, within the hard limit. */
static int allow_descriptors(const struct load_options *options)
{
    struct rlimit files;
    rlim_t needed = (rlim_t)((options->connections + options->processes - 1) / options->processes) + SPARE_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return fail("getrlimit");
    if (files.rlim_cur >= needed)
        return 0;
    files.rlim_cur = needed;
    if (files.rlim_max >= needed && setrlimit(RLIMIT_NOFILE, &files) == 0)
        return 0;
    fprintf(
        stderr,
        "millbench load: -c %d: takes %ju descriptors in each of %d processes and the limit is %ju: raise it (ulimit "
        "-Hn %ju), or take more processes (-p)\n",
        options->connections, (uintmax_t)needed, options->processes, (uintmax_t)files.rlim_max, (uintmax_t)needed);
    return 1;
}

static int lay_out(struct crew *crew)
{
    const struct load_options *options = crew->options;
    size_t tally_bytes = (size_t)options->processes * sizeof(struct tally), head_bytes = sizeof(struct tally);
    crew->seen_count = options->expected.count > 0 ? options->expected.count : 1;
    if (shared_new(&crew->memory, "millbench-load", head_bytes + tally_bytes + crew->seen_count) < 0)
        return fail("cannot share memory");
    uint8_t *at = crew->memory.at;
    crew->shared = (struct driver_shared *)at;
    crew->tallies = (struct tally *)(at + head_bytes);
    crew->seen = (_Atomic uint8_t *)(at + head_bytes + tally_bytes);
    crew->shared->begin_us = clock_now_us() + START_US;
    crew->shared->window_start_us = crew->shared->begin_us + options->warm_up_us;
    crew->shared->window_end_us =
        options->window_us > 0 ? crew->shared->window_start_us + options->window_us : INT64_MAX;
    return 0;
}

/* -- the processes
 * -------------------------------------------------------------------------------------------------------- */

/* Does not return into the parent's code. */
static void run_child(const struct driver_job *job, pid_t parent) __attribute__((noreturn));

static void run_child(const struct driver_job *job, pid_t parent)
{
    signals_reset_all();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    _exit(driver_run(job));
}

static void tell_all(const struct crew *crew, int number)
{
    for (int i = 0; i < crew->started; i++)
        if (crew->pids[i] > 0)
            kill(crew->pids[i], number);
}

static int start_all(struct crew *crew, const struct driver_job *all)
{
    pid_t parent = getpid();
    for (int i = 0; i < crew->options->processes; i++) {
        struct driver_job job = *all;
        job.number = i;
        job.tally = &crew->tallies[i];
        pid_t pid = fork();
        if (pid < 0) {
            tell_all(crew, SIGKILL);
            return fail("fork");
        }
        if (pid == 0)
            run_child(&job, parent);
        crew->pids[crew->started++] = pid;
        crew->running++;
    }
    return 0;
}

static void note_end(struct crew *crew, pid_t pid, int status)
{
    for (int i = 0; i < crew->started; i++) {
        if (crew->pids[i] != pid)
            continue;
        crew->pids[i] = 0;
        crew->running--;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && crew->tallies[i].is_complete)
            return;
        crew->has_failed = true;
        if (WIFSIGNALED(status))
            fprintf(stderr, "millbench load: a generating process was ended by signal %d (%s): its figures are lost\n",
                    WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
}

/* Returns with all of them gone. */
static void wait_for_all(struct crew *crew, int signals_fd)
{
    while (crew->running > 0) {
        struct pollfd ready = {.fd = signals_fd, .events = POLLIN};
        int number, status;
        pid_t pid;
        poll(&ready, 1, -1);
        while ((number = signals_next()) != 0)
            if (number != SIGCHLD)
                tell_all(crew, SIGTERM);
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
            note_end(crew, pid, status);
    }
}

/* -- after
 * -------------------------------------------------------------------------------------------------------------- */

static void add_up(const struct crew *crew, struct crew_result *result)
{
    const struct driver_shared *shared = crew->shared;
    int64_t end_us = shared->window_start_us;
    result->total = calloc(1, sizeof *result->total);
    CHECK(result->total != NULL);
    for (int i = 0; i < crew->started; i++)
        if (crew->tallies[i].ended_us > end_us)
            end_us = crew->tallies[i].ended_us;
    int64_t slots = (end_us - shared->window_start_us) / (TALLY_SLOT_MS * CLOCK_MS) + 1;
    for (int i = 0; i < crew->started; i++)
        tally_add(result->total, &crew->tallies[i], slots);
    result->window_start_us = shared->window_start_us;
    result->window_end_us = end_us;
    for (size_t i = 0; i < crew->seen_count; i++)
        result->distinct += crew->seen[i];
    result->has_standard = crew->options->expected.count == 0 && shared->standard_hash != 0;
    if (result->has_standard)
        result->standard = (struct body){.length = shared->standard_length - 1, .hash = shared->standard_hash};
}

static int run(struct crew *crew, const struct load_url *url, struct crew_result *result)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGCHLD, 0};
    struct sockaddr_storage address;
    struct driver_job job = {.options = crew->options, .address = (struct sockaddr *)&address};
    const char *why = load_url_resolve(url, &address, &job.address_length);
    if (why != NULL) {
        fprintf(stderr, "millbench load: %s: no address: %s\n", url->host, why);
        return 1;
    }
    if (crew->options->source_count > 0 && address.ss_family != AF_INET) {
        fprintf(stderr, "millbench load: --source: %s has an address of IPv6: only IPv4 has 127.0.0.x\n", url->host);
        return 1;
    }
    int fd = signals_open(numbers);
    if (fd < 0)
        return fail("signals");
    if (lay_out(crew) != 0)
        return 1;
    char *request = load_url_request(url, crew->options);
    job.request = request;
    job.request_length = strlen(request);
    job.shared = crew->shared;
    job.seen = crew->seen;
    int status = start_all(crew, &job);
    wait_for_all(crew, fd);
    free(request);
    if (status == 0 && !crew->has_failed)
        add_up(crew, result);
    shared_fini(&crew->memory);
    return status != 0 || crew->has_failed;
}

int crew_run(const struct load_options *options, const struct load_url *url, struct crew_result *result)
{
    struct crew crew = {.options = options};
    *result = (struct crew_result){0};
    return allow_descriptors(options) != 0 ? 1 : run(&crew, url, result);
}

void crew_result_fini(struct crew_result *result)
{
    free(result->total);
    *result = (struct crew_result){0};
}
