/*
 * master.c: hears from workers, other children and signals, and passes on what it hears. Runs as the process that was
 * started, on one thread; never touches a request or opens an application.
 */
#include "control/master.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "control/notify.h"
#include "control/pid_file.h"
#include "control/server.h"

static const int signals[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, 0};

/* -- what the master hears
 * --------------------------------------------------------------------------------------------- */

static void reap_one(struct server *server, pid_t pid, int status)
{
    if (upgrade_reap(server, pid, status) || report_reap(server, pid, status) || status_child_reap(server, pid, status))
        return;
    for (int i = 0; i < server->generation_count; i++)
        if (generation_reap(server->generations[i], pid, status))
            return;
}

static void reap(struct server *server)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        reap_one(server, pid, status);
}

static void stop(struct server *server, const char *line)
{
    log_info("master", "%s", line);
    notify_send("STOPPING=1\nSTATUS=stopping");
    server_stop(server, server_last_draining(server));
    sockets_close(&server->sockets); /* the workers close theirs when they have taken in who has connected by now */
}

/* Whoever has sent the signal and waits for what comes of it is told. */
static void disobey(const struct server *server, const char *name, const char *why)
{
    log_warning("master", "%s is not obeyed: %s", name, why);
    if (server->upgrade.pid == 0 || !server->upgrade.done)
        server_write_outcome(server, "failed %s is not obeyed: %s", name, why);
}

static void on_reload(struct server *server)
{
    if (server->stopping || !server->announced)
        disobey(server, "SIGHUP", "the server starts or stops");
    else if (server->upgrade.pid != 0)
        disobey(server, "SIGHUP", "an upgrade is under way");
    else
        reload_begin(server);
}

static void on_upgrade(struct server *server)
{
    if (server->stopping || !server->announced)
        disobey(server, "SIGUSR2", "the server starts or stops");
    else if (server->upgrade.pid != 0 || reload_is_under_way(server))
        disobey(server, "SIGUSR2", "a reload or an upgrade is under way");
    else
        upgrade_begin(server);
}

static void on_signal(struct server *server, int number)
{
    switch (number) {
    case SIGCHLD:
        reap(server);
        break;
    case SIGTERM:
        stop(server, "SIGTERM: draining");
        break;
    case SIGINT:
    case SIGQUIT:
        log_info("master", "%s: stopping at once", number == SIGINT ? "SIGINT" : "SIGQUIT");
        notify_send("STOPPING=1\nSTATUS=stopping");
        server_kill(server);
        break;
    case SIGHUP:
        on_reload(server);
        break;
    case SIGUSR1:
        server_reopen_logs(server);
        break;
    case SIGUSR2:
        on_upgrade(server);
        break;
    default:
        break;
    }
}

/* -- what follows from it
 * ------------------------------------------------------------------------------------------------ */

static void forget_gone_generations(struct server *server)
{
    int kept = 0;
    for (int i = 0; i < server->generation_count; i++) {
        struct generation *generation = server->generations[i];
        if (generation != server->current && generation != server->reload.next && generation != server->reload.old &&
            generation_is_gone(generation)) {
            log_info("master", "generation %d has left", generation->number);
            generation_free(generation);
        } else {
            server->generations[kept++] = generation;
        }
    }
    server->generation_count = kept;
}

static void announce(struct server *server, struct inheritance *inheritance)
{
    if (server->announced || !generation_is_ready(server->current))
        return;
    server->announced = true;
    log_info("master", "ready: generation %d, %d workers", server->current->number,
             server->current->config.settings.workers);
    if (pid_file_write(server->pid_file) < 0) {
        log_error("master", "cannot write pid_file %s: %s", server->pid_file, strerror(errno));
        server->failed = true;
        server_stop(server, server_last_draining(server));
        return;
    }
    status_child_start(server);
    if (inheritance == NULL) {
        notify_send("READY=1\nSTATUS=serving");
        return;
    }
    ledger_count(server_ledger(server), LEDGER_UPGRADES);
    upgrade_tell_ready(inheritance->channel, server->current->number);
    close(inheritance->channel);
    server->old_master = -1;
    sockets_own(&server->sockets);
    sockets_own(&server->current->sockets);
    sockets_drop(&inheritance->sockets, &server->sockets); /* those that the new configuration has no more */
}

/* A worker of the generation that serves cannot live. */
static void look_for_failure(struct server *server)
{
    if (!server->current->failed || server->failed)
        return;
    log_error("master", "stopping: generation %d cannot serve", server->current->number);
    server->failed = true;
    server_stop(server, server_last_draining(server));
}

static bool is_over(const struct server *server)
{
    for (int i = 0; i < server->generation_count; i++)
        if (!generation_is_gone(server->generations[i]))
            return false;
    return server->stopping;
}

/* -- the loop
 * ------------------------------------------------------------------------------------------------------------ */

static int wait_ms(const struct server *server)
{
    int64_t first_us = report_due_us(server);
    for (int i = 0; i < server->generation_count; i++) {
        int64_t due_us = generation_due_us(server->generations[i]);
        first_us = due_us < first_us ? due_us : first_us;
    }
    if (server->reload.verify.due_us != 0 && server->reload.verify.due_us < first_us)
        first_us = server->reload.verify.due_us;
    if (server->upgrade.due_us != 0 && server->upgrade.due_us < first_us)
        first_us = server->upgrade.due_us;
    if (server->status.due_us != 0 && server->status.due_us < first_us)
        first_us = server->status.due_us;
    return first_us == INT64_MAX ? -1 : clock_ms_of(first_us - clock_now_us());
}

static void fire_due(struct server *server)
{
    int64_t now_us = clock_now_us();
    for (int i = 0; i < server->generation_count; i++)
        generation_fire_due(server->generations[i], now_us);
    reload_fire_due(server, now_us);
    upgrade_fire_due(server, now_us);
    status_child_fire_due(server, now_us);
    report_fire_due(server, now_us);
}

/* What is watched: signals, the checking child, the new master, then the places of each generation. */
enum { WATCH_SIGNALS, WATCH_VERIFY, WATCH_UPGRADE, WATCH_GENERATIONS };

static size_t watch(const struct server *server, int signal_fd, struct pollfd **watched)
{
    size_t count = WATCH_GENERATIONS;
    for (int i = 0; i < server->generation_count; i++)
        count += (size_t)server->generations[i]->place_count;
    *watched = calloc(count, sizeof **watched);
    CHECK(*watched != NULL);
    (*watched)[WATCH_SIGNALS] = (struct pollfd){.fd = signal_fd, .events = POLLIN};
    (*watched)[WATCH_VERIFY] =
        (struct pollfd){.fd = server->reload.verify.pid != 0 ? server->reload.verify.channel : -1, .events = POLLIN};
    (*watched)[WATCH_UPGRADE] = (struct pollfd){.fd = server->upgrade.channel, .events = POLLIN};
    size_t at = WATCH_GENERATIONS;
    for (int i = 0; i < server->generation_count; i++) {
        generation_watch(server->generations[i], *watched + at);
        at += (size_t)server->generations[i]->place_count;
    }
    return count;
}

static void wait_and_hear(struct server *server, int signal_fd)
{
    struct pollfd *watched;
    size_t count = watch(server, signal_fd, &watched), at = WATCH_GENERATIONS;
    int generations = server->generation_count, number;
    if (poll(watched, (nfds_t)count, wait_ms(server)) < 0)
        CHECK(errno == EINTR);
    for (int i = 0; i < generations; i++) {
        generation_hear(server->generations[i], watched + at);
        at += (size_t)server->generations[i]->place_count;
    }
    if (watched[WATCH_VERIFY].revents != 0 && server->reload.verify.pid != 0)
        reload_hear(server);
    if (watched[WATCH_UPGRADE].revents != 0 && server->upgrade.channel == watched[WATCH_UPGRADE].fd)
        (void)upgrade_hear(server);
    free(watched);
    while ((number = signals_next()) != 0)
        on_signal(server, number);
    fire_due(server);
}

/* -- life
 * ---------------------------------------------------------------------------------------------------------------- */

/* The ledger of the master before this one, when it has the same layout; else counting begins anew. */
static int take_ledger(struct server *server, struct inheritance *inheritance)
{
    if (inheritance != NULL && inheritance->ledger_fd >= 0 &&
        ledger_adopt(&server->ledger, inheritance->ledger_fd) == 0)
        return 0;
    if (inheritance != NULL)
        log_warning("master", "the old program's counts are of another layout: counting begins anew");
    return ledger_new(&server->ledger);
}

/* Returns 0, −1 with errno. */
static int make_server(struct server *server, const struct master_start *start)
{
    *server = (struct server){.program = start->program,
                              .configuration = start->configuration,
                              .pid_file = start->config->pid_file,
                              .access_fd = start->access_fd,
                              .sockets = *start->sockets,
                              .old_master = start->inheritance != NULL ? start->inheritance->channel : -1,
                              .upgrade.channel = -1,
                              .status.channel = -1};
    if (take_ledger(server, start->inheritance) < 0)
        return -1;
    if (start->inheritance != NULL)
        server->handover = start->inheritance->handover;
    else if (inbox_init(&server->handover) < 0)
        return -1;
    if (server->pid_file != NULL && (server->pid_file = strdup(server->pid_file)) == NULL)
        return -1;
    server->current = generation_new(server, start->config, &server->sockets, server_next_number(server));
    if (server->current == NULL)
        return -1;
    server->generations[server->generation_count++] = server->current;
    return 0;
}

static void free_server(struct server *server)
{
    for (int i = 0; i < server->generation_count; i++)
        generation_free(server->generations[i]);
    inbox_fini(&server->handover);
    shared_fini(&server->ledger);
    free((char *)(uintptr_t)server->pid_file);
}

int master_run(const struct master_start *start)
{
    static struct server server;
    int signal_fd = signals_open(signals);
    if (signal_fd < 0 || make_server(&server, start) < 0) {
        fprintf(stderr, "millrace: cannot start: %s\n", strerror(errno));
        sockets_close(start->sockets);
        return MASTER_EXIT_CANNOT_START;
    }
    log_info("master", "millrace %s starts", MR_VERSION);
    sockets_log(&server.sockets, server.current->config.socket_rules.backlog);
    generation_start(server.current);
    while (!is_over(&server)) {
        wait_and_hear(&server, signal_fd);
        announce(&server, start->inheritance);
        reload_look(&server);
        upgrade_look(&server);
        look_for_failure(&server);
        forget_gone_generations(&server);
    }
    status_child_end(&server);
    sockets_close(&server.sockets);
    pid_file_remove(server.pid_file);
    log_info("master", "stopped");
    bool failed = server.failed;
    free_server(&server);
    return failed ? MASTER_EXIT_CANNOT_START : MASTER_EXIT_STOPPED;
}

/* -- debugging
 * --------------------------------------------------------------------------------------------------------- */

static struct server debugged;

static void clean_up_debugged(void)
{
    sockets_close(&debugged.sockets);
    pid_file_remove(debugged.pid_file);
}

_Noreturn void master_debug(const struct master_start *start)
{
    static const int ends[] = {SIGTERM, SIGINT, 0};
    struct settings *settings = &start->config->settings;
    settings->debug = true;
    settings->account.change = false; /* who gives up root's rights cannot remove the socket and the pid file again */
    settings->workers = settings->lanes = settings->threads = 1;
    int signal_fd = signals_open(ends); /* each byte on it is word to drain, like a master's */
    CHECK(signal_fd >= 0 && make_server(&debugged, start) == 0);
    atexit(clean_up_debugged); /* worker_main ends with exit() */
    sockets_log(&debugged.sockets, debugged.current->config.socket_rules.backlog);
    if (pid_file_write(debugged.pid_file) < 0)
        log_error("master", "cannot write pid_file %s: %s", debugged.pid_file, strerror(errno));
    struct worker_start worker = generation_worker_start(debugged.current, 0, signal_fd);
    worker_main(&worker);
}
