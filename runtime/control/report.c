/*
 * report.c: makes lines about crashes and slow handlers. Runs in the master, and in the children that it forks for
 * this.
 */
#include "control/report.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "control/backtrace.h"
#include "control/server.h"

#define NAME_BYTES 200

/* What a child looks at. */
struct subject {
    const struct generation *generation;
    const struct scoreboard_crash *crash; /* a copy, for the slot is cleared meanwhile; NULL: a thread that runs */
    pid_t process, thread;
    enum log_level level;
    uint64_t request;
};

/* -- the child
 * ---------------------------------------------------------------------------------------------------------------- */

/* The private copies that applications are loaded from. */
static size_t list_objects(const struct config *config, struct backtrace_object *objects, char (*names)[NAME_BYTES])
{
    size_t count = 0;
    for (size_t i = 0; i < config->settings.route_count; i++) {
        char link[64];
        int fd = config->settings.routes[i].object_fd;
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = fd < 0 ? -1 : readlink(link, names[count], NAME_BYTES - 1);
        if (length <= 0)
            continue;
        names[count][length] = '\0';
        char *end = strstr(names[count], " (deleted)");
        if (end != NULL)
            *end = '\0';
        objects[count] = (struct backtrace_object){.name = strchr(names[count], ':') + 1, .fd = fd};
        count++;
    }
    return count;
}

static void find_backtrace(struct backtrace *backtrace, const struct subject *subject)
{
    const struct config *config = &subject->generation->config;
    size_t routes = config->settings.route_count;
    struct backtrace_object *objects = calloc(routes, sizeof *objects);
    char(*names)[NAME_BYTES] = calloc(routes, sizeof *names);
    if (objects == NULL || names == NULL)
        return;
    const struct backtrace_objects all = {.at = objects, .count = list_objects(config, objects, names)};
    const struct scoreboard_crash *crash = subject->crash;
    if (crash != NULL)
        backtrace_of_dead(span_of((const uint8_t *)crash->maps, crash->maps_length), &all, crash->frames,
                          (size_t)crash->frame_count, backtrace);
    else if (backtrace_of_thread(subject->process, subject->thread, &all, backtrace) < 0)
        snprintf(backtrace->text, sizeof backtrace->text, "not to be had: %s", strerror(errno));
}

static _Noreturn void look(struct server *server, const struct subject *subject, const char *line)
{
    static struct backtrace backtrace;
    signals_reset_all();
    server_close_channels(server);
    if (account_become(&subject->generation->config.settings.account) < 0)
        _exit(1);
    find_backtrace(&backtrace, subject);
    log_set_request(subject->request);
    log_write(subject->level, "report", "%s; backtrace: %s", line, backtrace.text);
    _exit(0);
}

/* -- the master
 * --------------------------------------------------------------------------------------------------------------- */

static struct report *free_place(struct server *server)
{
    for (int i = 0; i < REPORTS_MAX; i++)
        if (server->reports.all[i].pid == 0)
            return &server->reports.all[i];
    return NULL;
}

static void tell_traced(struct server *server, pid_t worker)
{
    for (int i = 0; worker != 0 && i < server->generation_count; i++)
        generation_tell_process(server->generations[i], worker, WORKER_TRACED);
}

/* Has a child complete the line; where that cannot be, the line is written as it is. */
static void complete(struct server *server, const struct subject *subject, const char *line)
{
    struct report *report = free_place(server);
    pid_t traced = subject->crash == NULL ? subject->process : 0;
    pid_t pid = report == NULL ? -1 : fork();
    if (pid == 0)
        look(server, subject, line);
    if (pid < 0) {
        log_write(subject->level, "report", "%s", line);
        tell_traced(server, traced);
        return;
    }
    *report = (struct report){
        .pid = pid, .due_us = clock_now_us() + REPORT_LIMIT_US, .level = subject->level, .traced = traced};
    snprintf(report->line, sizeof report->line, "%s", line);
}

static const char *route_of(const struct generation *generation, int route)
{
    size_t count = generation->config.settings.route_count;
    return route < 0 || (size_t)route >= count ? "(none)" : generation->config.settings.routes[route].path;
}

/* The process wrote this while it crashed: nothing of it is trusted. */
static void check_crash(struct scoreboard_crash *crash)
{
    crash->method[sizeof crash->method - 1] = crash->uri[sizeof crash->uri - 1] = '\0';
    if (crash->frame_count < 1 || crash->frame_count > SCOREBOARD_FRAMES)
        crash->frame_count = 1;
    if (crash->maps_length > sizeof crash->maps)
        crash->maps_length = sizeof crash->maps;
}

static size_t put_what_ran(char *to, size_t room, const struct generation *generation,
                           const struct scoreboard_crash *crash)
{
    int length = 0;
    if (crash->has_address)
        length = snprintf(to, room, ", address 0x%llx", (unsigned long long)crash->address);
    if (crash->route >= 0)
        length += snprintf(to + length, room - (size_t)length, ", in request %llu: %s %s, route %s, thread %d",
                           (unsigned long long)crash->request, crash->method, crash->uri,
                           route_of(generation, crash->route), crash->thread);
    else
        length += snprintf(to + length, room - (size_t)length, ", in no request, thread %d", crash->thread);
    return (size_t)length;
}

bool report_is_crash(const struct generation *generation, int place, int status)
{
    return WIFSIGNALED(status) || atomic_load(&scoreboard_slot(generation->board.at, place)->crash.signal) != 0;
}

/* The first words of the line. Returns their length. */
static size_t put_end(char *to, size_t room, const struct generation *generation, int place, int status)
{
    struct worker_start start = generation_worker_start(generation, place, -1);
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : atomic_load(&scoreboard_slot(start.board, place)->crash.signal);
    return (size_t)snprintf(to, room, "worker %d (process %d) was ended by signal %d (%s)%s", start.number,
                            (int)generation->children[place].pid, number, strsignal(number),
                            WIFSIGNALED(status) && WCOREDUMP(status) ? ", core dumped" : "");
}

void report_crash(struct server *server, struct generation *generation, int place, int status)
{
    const struct scoreboard_slot *slot = scoreboard_slot(generation->board.at, place);
    struct scoreboard_crash *crash = malloc(sizeof *crash);
    char line[REPORT_LINE_BYTES];
    size_t length = put_end(line, sizeof line, generation, place, status);
    if (crash == NULL || atomic_load(&slot->crash.signal) == 0) {
        log_error("report", "%s", line);
    } else {
        memcpy(crash, &slot->crash, sizeof *crash);
        check_crash(crash);
        put_what_ran(line + length, sizeof line - length, generation, crash);
        struct subject subject = {
            .generation = generation, .crash = crash, .level = LOG_ERROR, .request = crash->request};
        complete(server, &subject, line);
    }
    free(crash);
}

void report_slow(struct server *server, struct generation *generation, int place, int thread)
{
    struct worker_start start = generation_worker_start(generation, place, -1);
    pid_t process = generation->children[place].pid;
    struct scoreboard_activity activity;
    char line[REPORT_LINE_BYTES];
    if (thread < 0 || thread >= settings_pool_room(start.settings))
        return;
    const struct scoreboard_thread *of = scoreboard_thread(start.board, place, thread);
    if (!scoreboard_activity(of, &activity)) { /* it has ended meanwhile */
        tell_traced(server, process);
        return;
    }
    snprintf(line, sizeof line, "slow: %s %s, route %s, has run for %.1f s on thread %d of worker %d (process %d)",
             activity.method, activity.uri, route_of(generation, activity.route),
             (double)(clock_now_us() - activity.started_us) / CLOCK_SECOND, thread + 1, start.number, (int)process);
    struct subject subject = {.generation = generation,
                              .process = process,
                              .thread = atomic_load_explicit(&of->id, memory_order_relaxed),
                              .level = LOG_WARNING,
                              .request = activity.request};
    complete(server, &subject, line);
}

bool report_reap(struct server *server, pid_t pid, int status)
{
    for (int i = 0; i < REPORTS_MAX; i++) {
        struct report *report = &server->reports.all[i];
        if (report->pid != pid)
            continue;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            log_write(report->level, "report", "%s; backtrace: not to be had: the process that looks for it has failed",
                      report->line);
        tell_traced(server, report->traced);
        *report = (struct report){0};
        return true;
    }
    return false;
}

int64_t report_due_us(const struct server *server)
{
    int64_t first_us = INT64_MAX;
    for (int i = 0; i < REPORTS_MAX; i++)
        if (server->reports.all[i].pid != 0 && server->reports.all[i].due_us < first_us)
            first_us = server->reports.all[i].due_us;
    return first_us;
}

void report_fire_due(struct server *server, int64_t now_us)
{
    for (int i = 0; i < REPORTS_MAX; i++) {
        struct report *report = &server->reports.all[i];
        if (report->pid == 0 || report->due_us > now_us)
            continue;
        kill(report->pid, SIGKILL);
        report->due_us = now_us + REPORT_LIMIT_US;
    }
}
